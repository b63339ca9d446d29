"""The worker that answers: called through the database, a few jobs side by side in threads.

Its own loop instead of django-q2's, whose poll of a fifth of a second is most of what a reader
would wait for the first passages. The tables are the record here too: a call only wakes, and a
look every few seconds finds what nobody was called to and what a dead worker left behind.
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
from types import FrameType
from typing import Final

from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string

from ingestion import leases
from kb_project.database.listening import Listener
from kb_project.database.outages import DATABASE_AWAY, through_outages
from kb_project.errors import KBError
from kb_project.llm.halting import halted_by
from kb_project.ports import build_ports
from retrieval.answering import claims, keeping, turns, wake
from retrieval.answering.taking import Running, Taking
from retrieval.answering.turns import Turns
from retrieval.answering.wake import Call
from workspaces import access

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_RENEWALS: Final = 1.0
LOOK_EVERY: Final = 5
"""Renewals between two looks at what nobody was called to."""
ADMITTED: Final = 64
"""Answers begun at a time; all but a few of them have shown their passages, and wait."""
EVALUATIONS: Final = 1
"""Side by side, beside the answers: they take minutes, and nobody waits for them."""
SECONDS_TO_FINISH: Final = 2.0
RUN: Final = {
    wake.ANSWER: "retrieval.answering.jobs.run_answer",
    wake.EVALUATION: "retrieval.evaluation.runs.run_evaluation",
}
"""What to do with a job of each kind, by workspace and id, once it is claimed."""


@dataclass(slots=True)
class Desk:
    """What one worker process has to do, is doing, and is told."""

    name: str = field(default_factory=leases.worker_name)
    todo: dict[str, queue.SimpleQueue[Call | None]] = field(
        default_factory=lambda: {kind: queue.SimpleQueue() for kind in RUN}
    )
    running: Running = field(default_factory=Running)
    stopping: threading.Event = field(default_factory=threading.Event)
    turns: Turns = field(init=False)

    def __post_init__(self) -> None:
        seats, waiting = settings.ANSWERERS, self.todo[wake.ANSWER]
        self.turns = Turns(finding=seats, writing=seats, is_called=lambda: not waiting.empty())

    def hear(self, message: str) -> None:
        """A call that came in through the database."""
        call = wake.call_in(message)
        if call is None:
            return
        if call.kind == wake.STOP:
            self.running.halt(call)
        elif call.kind in RUN:
            self.todo[call.kind].put(call)

    def add_missed(self, calls: Sequence[Call]) -> None:
        """What nobody was called to; not beside calls that wait, since it may be the same."""
        idle = {kind for kind, waiting in self.todo.items() if waiting.empty()}
        known = {call.id for call in self.running.calls()}
        for call in calls:
            if call.kind in idle and call.id not in known:
                self.todo[call.kind].put(call)


def work(*, say: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT."""
    desk = Desk()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(_on_signal, desk))
    with_model = build_ports().embedder
    through_outages(claims.take_stock)
    # The first question does not wait for the model to be loaded.
    with_model.embed_question("ready")
    threads = [
        threading.Thread(target=_serve, args=[desk, kind], name=f"{kind} {number}", daemon=True)
        for kind, seats in ((wake.ANSWER, ADMITTED), (wake.EVALUATION, EVALUATIONS))
        for number in range(seats)
    ]
    listener = Listener(wake.WORK, hear=desk.hear, connected=partial(_look, desk))
    listener.start()
    for thread in threads:
        thread.start()
    say(f"Waiting for questions; {settings.ANSWERERS} can be answered at a time.")
    _tend(desk)
    listener.stop()
    _wind_up(desk, threads)


def _on_signal(desk: Desk, _number: int, _frame: FrameType | None) -> None:
    desk.stopping.set()


def _tend(desk: Desk) -> None:
    """Until told to stop: keep the leases of what is running, hear of stops, look around."""
    rounds = 0
    while not desk.stopping.wait(SECONDS_BETWEEN_RENEWALS):
        rounds += 1
        try:
            _renew(desk)
            if rounds % LOOK_EVERY == 0:
                _look(desk)
        except DATABASE_AWAY as error:
            logger.warning("database failed error=%s", type(error).__name__)
            connections.close_all()


def _renew(desk: Desk) -> None:
    busy = desk.running.calls()
    for call in claims.renew(busy, desk.name) if busy else ():
        desk.running.halt(call)


def _look(desk: Desk) -> None:
    """Take up what is queued; end what a dead worker left behind."""
    try:
        desk.add_missed(claims.take_stock())
    finally:
        if threading.current_thread() is not threading.main_thread():
            connections.close_all()


def _serve(desk: Desk, kind: str) -> None:
    takes_turns = kind == wake.ANSWER
    while True:
        with desk.turns.one() if takes_turns else nullcontext():
            call = desk.todo[kind].get()
            if call is None or desk.stopping.is_set():
                return
            turns.begin()
            _do_through_outages(desk, call)


def _do_through_outages(desk: Desk, call: Call) -> None:
    try:
        through_outages(partial(_do, desk, call))
    except DATABASE_AWAY as error:
        # For longer than it was waited for. The seat stays: a look around finds the job again.
        logger.warning("job put off id=%s error=%s", call.id, type(error).__name__)
    finally:
        # Back into the pool: there are more threads than connections.
        connections.close_all()


def _do(desk: Desk, call: Call) -> None:
    """Nothing where another worker was quicker."""
    taking = Taking(call, desk.name, desk.running)
    try:
        with halted_by(taking.halt), access.repeatable_work(), taking:
            if taking.claim():
                _run(taking)
    except DATABASE_AWAY:
        if not taking.is_settled:
            raise
        # Not begun anew when the database is back: half an answer has been shown.
        connections.close_all()
        through_outages(partial(claims.interrupt, call, desk.name))
    except KBError as error:
        taking.fail(keeping.problem_of(error))
    # The edge of every job: whatever it was, whoever waits must be told, and the others go on.
    except Exception as error:
        logger.exception("job failed unexpectedly id=%s", call.id, exc_info=_unspoken(error))
        taking.fail(keeping.UNEXPECTED)
    finally:
        taking.leave()


def _run(taking: Taking) -> None:
    """An answer says itself when it has begun; what takes minutes has no beginning to wait for."""
    call = taking.call
    work = partial(import_string(RUN[call.kind]), call.workspace_id, call.id)
    if call.kind == wake.ANSWER:
        work(begun=taking.settle)
    else:
        taking.settle()
        work()


def _unspoken(error: Exception) -> Exception:
    """The error with its kind and place, without its words, which may be a document's."""
    return RuntimeError(type(error).__name__).with_traceback(error.__traceback__)


def _wind_up(desk: Desk, threads: list[threading.Thread]) -> None:
    """What is running is broken off and says so; a few seconds for that, no more."""
    for waiting in desk.todo.values():
        for _ in threads:
            waiting.put(None)
    for call in desk.running.calls():
        claims.interrupt(call, desk.name)
        desk.running.halt(call)
    for thread in threads:
        thread.join(SECONDS_TO_FINISH / len(threads))
