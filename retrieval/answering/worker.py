"""The answering worker: called through the database, it runs a few jobs side by side in threads.

It has a loop of its own rather than django-q2's, whose poll every fifth of a second is most of what
a reader would wait for the first passages. The tables remain the record: a call only wakes the
worker, and a check every few seconds finds jobs without a call and those a dead worker left.
"""

from __future__ import annotations

import logging
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string

from kb_project.database.listening import Listener
from kb_project.database.outages import DATABASE_AWAY, through_outages
from kb_project.errors import KBError
from kb_project.jobs import workers
from kb_project.llm.halting import halted_by
from kb_project.ports import build_ports
from retrieval.answering import claims, notify, persistence, scheduler
from retrieval.answering.claiming import Running, Taking
from retrieval.answering.notify import Call
from retrieval.answering.scheduler import Turns
from workspaces import access

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_RENEWALS: Final = 1.0
LOOK_EVERY: Final = 5
"""Renewals between two checks for jobs without a call."""
ADMITTED: Final = 64
"""Answers in progress at a time; all but a few of them have shown their passages, and wait."""
EVALUATIONS: Final = 1
"""Run at a time, besides the answers: they take minutes, and no one waits for them."""
SECONDS_TO_FINISH: Final = 2.0
RUN: Final = {
    notify.ANSWER: "retrieval.answering.jobs.run_answer",
    notify.EVALUATION: "retrieval.evaluation.runs.run_evaluation",
}
"""Function that runs a claimed job of each kind, given its workspace and id."""


@dataclass(slots=True)
class Desk:
    """The jobs one worker process has queued and running, and its signals."""

    name: str = field(default_factory=workers.worker_name)
    todo: dict[str, queue.SimpleQueue[Call | None]] = field(
        default_factory=lambda: {kind: queue.SimpleQueue() for kind in RUN}
    )
    running: Running = field(default_factory=Running)
    stopping: threading.Event = field(default_factory=threading.Event)
    turns: Turns = field(init=False)

    def __post_init__(self) -> None:
        seats, waiting = settings.ANSWERERS, self.todo[notify.ANSWER]
        self.turns = Turns(finding=seats, writing=seats, is_called=lambda: not waiting.empty())

    def hear(self, message: str) -> None:
        """Handle a call from the database."""
        call = notify.call_in(message)
        if call is None:
            return
        if call.kind == notify.STOP:
            self.running.halt(call)
        elif call.kind in RUN:
            self.todo[call.kind].put(call)

    def add_missed(self, calls: Sequence[Call]) -> None:
        """Queue jobs without a call; not if calls of the kind are waiting, which may be for the
        same jobs."""
        idle = {kind for kind, waiting in self.todo.items() if waiting.empty()}
        known = {call.id for call in self.running.calls()}
        for call in calls:
            if call.kind in idle and call.id not in known:
                self.todo[call.kind].put(call)


def work(_lane: str, *, say: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT."""
    desk = Desk()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: desk.stopping.set())
    with_model = build_ports().embedder
    through_outages(claims.take_stock)
    # Load the model now, so that the first question need not wait for it.
    with_model.embed_question("ready")
    threads = [
        threading.Thread(target=_serve, args=[desk, kind], name=f"{kind} {number}", daemon=True)
        for kind, seats in ((notify.ANSWER, ADMITTED), (notify.EVALUATION, EVALUATIONS))
        for number in range(seats)
    ]
    listener = Listener(notify.WORK, hear=desk.hear, connected=partial(_look, desk))
    listener.start()
    for thread in threads:
        thread.start()
    say(f"Waiting for questions; up to {settings.ANSWERERS} are answered at a time.")
    _tend(desk)
    listener.stop()
    _wind_up(desk, threads)


def _tend(desk: Desk) -> None:
    """Until told to stop: renew leases, notice stopped jobs, check the tables."""
    rounds = 0
    while not desk.stopping.wait(SECONDS_BETWEEN_RENEWALS):
        rounds += 1
        try:
            busy = desk.running.calls()
            for call in claims.renew(busy, desk.name) if busy else ():
                desk.running.halt(call)
            if rounds % LOOK_EVERY == 0:
                _look(desk)
        except DATABASE_AWAY as error:
            logger.warning("database failed error=%s", type(error).__name__)
            connections.close_all()


def _look(desk: Desk) -> None:
    """Take up queued jobs; end those a dead worker left."""
    try:
        desk.add_missed(claims.take_stock())
    finally:
        if threading.current_thread() is not threading.main_thread():
            connections.close_all()


def _serve(desk: Desk, kind: str) -> None:
    takes_turns = kind == notify.ANSWER
    while True:
        with desk.turns.one() if takes_turns else nullcontext():
            call = desk.todo[kind].get()
            if call is None or desk.stopping.is_set():
                return
            scheduler.begin()
            _do_through_outages(desk, call)


def _do_through_outages(desk: Desk, call: Call) -> None:
    try:
        through_outages(partial(_do, desk, call))
    except DATABASE_AWAY as error:
        # The outage outlasted the retries. The thread stays, and a later check finds the job again.
        logger.warning("job put off id=%s error=%s", call.id, type(error).__name__)
    finally:
        # Return to the pool: there are more threads than connections.
        connections.close_all()


def _do(desk: Desk, call: Call) -> None:
    """Do the job, unless another worker was quicker."""
    taking = Taking(call, desk.name, desk.running)
    try:
        with halted_by(taking.halt), access.repeatable_work(), taking:
            if taking.claim():
                _run(taking)
    except DATABASE_AWAY:
        if not taking.is_settled:
            raise
        # Not restarted when the database is back: half an answer has been shown.
        connections.close_all()
        through_outages(partial(claims.interrupt, call, desk.name))
    except KBError as error:
        taking.fail(persistence.problem_of(error))
    # The boundary of every job: whatever happened, tell those who wait, and let other jobs go on.
    except Exception as error:
        logger.exception("job failed unexpectedly id=%s", call.id, exc_info=_unspoken(error))
        taking.fail(persistence.UNEXPECTED)
    finally:
        taking.leave()


def _run(taking: Taking) -> None:
    """Run the job. An answer settles its own claim; a job of minutes settles at once."""
    call = taking.call
    work = partial(import_string(RUN[call.kind]), call.workspace_id, call.id)
    if call.kind == notify.ANSWER:
        work(begun=taking.settle)
    else:
        taking.settle()
        work()


def _unspoken(error: Exception) -> Exception:
    """Keep the error's type and traceback but not its message, which may quote a document."""
    return RuntimeError(type(error).__name__).with_traceback(error.__traceback__)


def _wind_up(desk: Desk, threads: list[threading.Thread]) -> None:
    """Interrupt the running jobs and record it, waiting a few seconds at most."""
    for waiting in desk.todo.values():
        for _ in threads:
            waiting.put(None)
    for call in desk.running.calls():
        claims.interrupt(call, desk.name)
        desk.running.halt(call)
    for thread in threads:
        thread.join(SECONDS_TO_FINISH / len(threads))
