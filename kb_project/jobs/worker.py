"""A worker that runs the jobs of some queues side by side, in threads of one process.

It is called through the database (``notify``), without the poll of a queue: people wait for these
jobs to start. The tables remain the record: a call only wakes the worker, and a check every few
seconds finds jobs without a call and those a dead worker left.

Workspaces take turns in its line, and in each workspace its people: a burst of one person's jobs
makes another person wait for one of them, not for all.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final
from uuid import UUID

from django.db import connections

from kb_project.database.outages import DATABASE_AWAY, Listener, through_outages
from kb_project.errors import KBError
from kb_project.jobs import claims, notify
from kb_project.jobs.claims import LeasedRows
from kb_project.jobs.notify import Call, Party
from kb_project.llm.halting import Halt, halted_by
from kb_project.sql import Row

# --- the line of waiting jobs ---------------------------------------------------------------------
SECONDS_BETWEEN_LOOKS: Final = 0.05
"""Between two looks at whether a party may start now."""
_MOST_REMEMBERED: Final = 10_000

MayStart = Callable[[Party], bool]


def _any(_party: Party) -> bool:
    return True


class FairQueue:
    """Calls that wait, for the threads of one process.

    The next one is the oldest of the party served least recently, in the workspace served least
    recently. None, which ends a thread, comes before all calls.
    """

    def __init__(self) -> None:
        self._lines: dict[Party, deque[Call]] = {}
        self._ends = 0
        self._served: dict[UUID | Party, int] = {}
        self._number = count(1)
        self._changed = threading.Condition(threading.RLock())

    def put(self, call: Call | None) -> None:
        with self._changed:
            if call is None:
                self._ends += 1
            else:
                self._lines.setdefault(call.party, deque()).append(call)
            self._changed.notify_all()

    def get(self, may_start: MayStart = _any) -> Call | None:
        """Wait for a call of a party that may start; return None if the thread should end."""
        with self._changed:
            while True:
                if self._ends:
                    self._ends -= 1
                    return None
                if (party := self._next(may_start)) is not None:
                    return self._taken(party)
                # Who may start changes without a word to this queue.
                self._changed.wait(SECONDS_BETWEEN_LOOKS if self._lines else None)

    def empty(self) -> bool:
        return not self._lines

    def qsize(self) -> int:
        return sum(self.waiting().values())

    def waiting(self) -> Counter[Party]:
        """How many calls of each party wait."""
        with self._changed:
            return Counter({party: len(line) for party, line in self._lines.items()})

    def others_wait(self, workspace_id: UUID) -> bool:
        """Whether calls of another workspace wait."""
        return any(party.workspace_id != workspace_id for party in self.waiting())

    def _next(self, may_start: MayStart) -> Party | None:
        """The first in turn; those never served come first, in the order they called."""
        turns = sorted(
            self._lines, key=lambda party: (self._turn(party.workspace_id), self._turn(party))
        )
        return next(filter(may_start, turns), None)

    def _turn(self, served: UUID | Party) -> int:
        return self._served.get(served, 0)

    def _taken(self, party: Party) -> Call:
        line = self._lines[party]
        call = line.popleft()
        if not line:
            del self._lines[party]
        if len(self._served) >= _MOST_REMEMBERED:
            self._served.clear()
        self._served[party.workspace_id] = self._served[party] = next(self._number)
        return call


# --- the worker -----------------------------------------------------------------------------------
logger = logging.getLogger(__name__)

SECONDS_BETWEEN_RENEWALS: Final = 1.0
LOOK_EVERY: Final = 5
"""Renewals between two checks for jobs without a call."""
SECONDS_TO_FINISH: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQueue:
    """One kind of jobs: what a worker needs to know of it.

    ``run`` gets a claimed job's workspace and id, and a function to call once the claim should be
    committed, with whatever was done before. ``fail`` ends a job that the named worker holds, for
    an error; ``interrupt`` ends it, or has it wait again, because that worker stopped. Both do
    nothing if it has ended meanwhile. ``turn`` is entered before a thread takes its next job,
    ``may_start`` says whether a party's job may be that one, and ``begin`` is called with it.
    """

    kind: str
    rows: LeasedRows
    run: Callable[[UUID, UUID, Callable[[], None]], None]
    fail: Callable[[Call, str, Exception], None]
    interrupt: Callable[[Call, str], None]
    threads: int
    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    may_start: MayStart = _any
    begin: Callable[[Call], None] = lambda _call: None

    def claim(self, call: Call, worker: str) -> bool:
        """Claim a job; return whether it is now the worker's."""
        return bool(self.rows.claim(call.workspace_id, [call.id], worker))


@dataclass(slots=True)
class Attempt:
    """A job in the thread that runs it.

    The claim and the job's first work share one transaction: a separate one for the claim would
    double the wait for every job to start.
    """

    queue: JobQueue
    call: Call
    worker: Worker
    halt: Halt = field(default_factory=Halt)
    has_begun: bool = False
    _beginning: ExitStack = field(default_factory=ExitStack)

    def run(self) -> None:
        """Run the job, unless another worker was quicker."""
        access = self.queue.rows.access
        with halted_by(self.halt), access.repeatable_work(), self._beginning as beginning:
            beginning.enter_context(access.in_workspace(self.call.workspace_id))
            if self.queue.claim(self.call, self.worker.name):
                self.queue.run(self.call.workspace_id, self.call.id, self._begin)

    def _begin(self) -> None:
        """Commit the claim. From now on the lease is renewed, and the job can be stopped."""
        self._beginning.close()
        self.worker.running[self.call] = self.halt
        self.has_begun = True

    def fail(self, error: Exception) -> None:
        """Fail the job, even if the claim was rolled back with its first work: otherwise it would
        be taken up forever."""
        if not self.has_begun:
            self.queue.claim(self.call, self.worker.name)
        self.queue.fail(self.call, self.worker.name, error)


class Worker:
    """One process's jobs, waiting and running.

    ``find`` returns the unfinished jobs of all workspaces: kind, workspace, id, state, worker,
    whether the lease has expired, and who asked.
    """

    def __init__(
        self, queues: Sequence[JobQueue], find: Callable[[], Sequence[Row]], *, name: str = ""
    ) -> None:
        self.name = name or claims.worker_name()
        self.queues = {one.kind: one for one in queues}
        self.todo = {kind: FairQueue() for kind in self.queues}
        self.running: dict[Call, Halt] = {}
        self.stopping = threading.Event()
        self._find = find

    def has_waiting(self, kind: str) -> bool:
        """Whether jobs of the kind wait to be started."""
        return not self.todo[kind].empty()

    def work(self, *, prepare: Callable[[], object], say_ready: Callable[[], None]) -> None:
        """Serve until SIGTERM or SIGINT; end what dead workers left before anything else."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopping.set())
        through_outages(self.take_stock)
        prepare()
        threads = [
            threading.Thread(
                target=self.serve, args=[one], name=f"{one.kind} {number}", daemon=True
            )
            for one in self.queues.values()
            for number in range(one.threads)
        ]
        listener = Listener(notify.WORK, hear=self.hear, connected=self._look_once)
        listener.start()
        for thread in threads:
            thread.start()
        say_ready()
        self.tend()
        listener.stop()
        self._wind_up(threads)

    def hear(self, message: str) -> None:
        """Handle a call from the database."""
        call = notify.call_in(message)
        if call is None:
            return
        if call.kind == notify.STOP:
            self._halt(call.id)
        elif call.kind in self.todo:
            self.todo[call.kind].put(call)

    def take_stock(self) -> list[Call]:
        """Return the queued jobs of every workspace, after ending those of dead workers."""
        queued = []
        for kind, workspace_id, id_, state, worker, is_overdue, person in self._find():
            call, one = Call(kind, workspace_id, id_, person), self.queues[kind]
            if state == one.rows.waiting:
                queued.append(call)
            elif is_overdue or claims.is_dead(worker):
                one.interrupt(call, worker)
        return queued

    def look(self) -> None:
        """Take up queued jobs without a call.

        Not if calls of the kind are waiting, which may be for the same jobs.
        """
        missed = self.take_stock()
        idle = {kind for kind in self.queues if not self.has_waiting(kind)}
        running = {call.id for call in self.running.copy()}
        for call in missed:
            if call.kind in idle and call.id not in running:
                self.todo[call.kind].put(call)

    def _look_once(self) -> None:
        try:
            self.look()
        finally:
            connections.close_all()

    def tend(self) -> None:
        """Until told to stop: renew leases, notice stopped jobs, check the tables."""
        rounds = 0
        while not self.stopping.wait(SECONDS_BETWEEN_RENEWALS):
            rounds += 1
            try:
                self._renew()
                if rounds % LOOK_EVERY == 0:
                    self.look()
            except DATABASE_AWAY as error:
                logger.warning("database failed error=%s", type(error).__name__)
                connections.close_all()

    def _renew(self) -> None:
        """Renew the leases, and halt what someone stopped and what is no longer ours."""
        groups: dict[tuple[str, UUID], list[UUID]] = defaultdict(list)
        for call in self.running.copy():
            groups[call.kind, call.workspace_id].append(call.id)
        for (kind, workspace_id), ids in groups.items():
            rows = self.queues[kind].rows
            with rows.access.repeatable_work():
                held = rows.renew(workspace_id, ids, self.name)
            for id_ in ids:
                if held.get(id_, True):
                    self._halt(id_)

    def _halt(self, id_: UUID) -> None:
        for call, halt in self.running.copy().items():
            if call.id == id_:
                halt.set()

    def serve(self, one: JobQueue) -> None:
        """Run one job after another."""
        while True:
            with one.turn():
                call = self.todo[one.kind].get(one.may_start)
                if call is None or self.stopping.is_set():
                    return
                one.begin(call)
                try:
                    through_outages(partial(self.do, call))
                except DATABASE_AWAY as error:
                    # The outage outlasted the retries. A later check finds the job again.
                    logger.warning("job put off id=%s error=%s", call.id, type(error).__name__)
                finally:
                    # Return to the pool: there are more threads than connections.
                    connections.close_all()

    def do(self, call: Call) -> None:
        """Run a job, and have its row record how it ended."""
        one = self.queues[call.kind]
        attempt = Attempt(one, call, self)
        try:
            attempt.run()
        except DATABASE_AWAY:
            if not attempt.has_begun:
                raise
            # Not restarted when the database is back: half of it has been shown.
            connections.close_all()
            through_outages(partial(one.interrupt, call, self.name))
        except KBError as error:
            attempt.fail(error)
        # The boundary of every job: whatever happened, tell those who wait, and let others go on.
        except Exception as error:
            logger.exception("job failed unexpectedly id=%s", call.id, exc_info=_unspoken(error))
            attempt.fail(error)
        finally:
            self.running.pop(call, None)

    def interrupt_all(self) -> None:
        for call, halt in self.running.copy().items():
            self.queues[call.kind].interrupt(call, self.name)
            halt.set()

    def _wind_up(self, threads: Sequence[threading.Thread]) -> None:
        """Interrupt the running jobs and record it, waiting a few seconds at most."""
        for waiting in self.todo.values():
            for _ in threads:
                waiting.put(None)
        self.interrupt_all()
        for thread in threads:
            thread.join(SECONDS_TO_FINISH / len(threads))


def _unspoken(error: Exception) -> Exception:
    """Keep the error's type and traceback but not its message, which may quote a document."""
    return RuntimeError(type(error).__name__).with_traceback(error.__traceback__)
