"""Limits how many calls an endpoint gets at once, and orders waiting calls by priority."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, LiteralString, Protocol
from weakref import WeakSet

import psycopg
from django.db import OperationalError, connection

from kb_project.errors import EndpointError
from kb_project.llm import halting

LONGEST_WAIT: Final = 600.0
"""Seconds before work pauses because others hold every slot."""


class Gate(Protocol):
    """The slots one caller holds. Closed with the context it came from."""

    def adjust(self, *, running: int, wanted: int) -> int:
        """Return how many slots are held now: more than before, up to ``wanted``, if some are free.

        Waits while none is held and none is free. Slots beyond ``running`` are released while a
        caller of higher priority waits. Raises EndpointError after ``LONGEST_WAIT``.
        """


class Slots(Protocol):
    """The slots of one endpoint, shared by all its callers."""

    def enter(self, priority: int) -> AbstractContextManager[Gate]:
        """Return a context that releases all its slots at the end; 0 is the highest priority."""


def no_slot() -> EndpointError:
    return EndpointError(
        "All calls allowed at once to the model's endpoint were in use for ten minutes.",
        code="endpoint_busy",
        kept="Everything done so far is kept.",
        next_step="Work continues automatically. Allow more calls at once if the endpoint can"
        " handle them.",
    )


@contextmanager
def _entered(gate: _LocalGate | _SharedGate) -> Iterator[Gate]:
    try:
        yield gate
    finally:
        gate.give_back(0)


class LocalSlots:
    """The slots of one process, for tests and for calls without a database."""

    def __init__(self, count: int, *, longest_wait: float = LONGEST_WAIT) -> None:
        self.free = count
        self.waiting: Counter[int] = Counter()
        self.changed = threading.Condition(threading.RLock())
        self.longest_wait = longest_wait

    def enter(self, priority: int) -> AbstractContextManager[Gate]:
        return _entered(_LocalGate(self, priority))


class _LocalGate:
    def __init__(self, slots: LocalSlots, priority: int) -> None:
        self._slots = slots
        self._priority = priority
        self._held = 0

    def adjust(self, *, running: int, wanted: int) -> int:
        slots = self._slots
        with slots.changed:
            if self._is_outranked():
                self.give_back(running)
            if not self._held and not self._may_take():
                self._wait()
            if self._may_take():
                taken = max(0, min(slots.free, wanted - self._held))
                slots.free -= taken
                self._held += taken
        return self._held

    def give_back(self, kept: int) -> None:
        with self._slots.changed:
            self._slots.free += max(0, self._held - kept)
            self._held = min(self._held, kept)
            self._slots.changed.notify_all()

    def _wait(self) -> None:
        waiting = self._slots.waiting
        waiting[self._priority] += 1
        try:
            if not self._slots.changed.wait_for(self._may_take, self._slots.longest_wait):
                raise no_slot()
        finally:
            waiting[self._priority] -= 1
            self._slots.changed.notify_all()

    def _may_take(self) -> bool:
        return self._slots.free > 0 and not self._is_outranked()

    def _is_outranked(self) -> bool:
        return any(count and rank < self._priority for rank, count in self._slots.waiting.items())


# CASE fixes the evaluation order: the lock function must not be called for a slot already held,
# since a session can take its own lock twice. The one-time filter and LIMIT prevent taking a lock
# too many.
TAKE_SLOTS: Final[LiteralString] = """
select slot
  from generate_series(0, %(count)s::int - 1) as slot
 where not exists (
        select from pg_locks
         where locktype = 'advisory' and granted and classid = %(line)s::bigint::oid
           and objid between 1000000 and %(flag)s::bigint - 1
           and objsubid = 2
           and database = (select oid from pg_database where datname = current_database()))
   and case when slot = any(%(mine)s::int[]) then false
            else pg_try_advisory_lock(%(line)s::int, slot) end
 limit %(wanted)s::int
"""

IS_OUTRANKED: Final[LiteralString] = """
select exists (
        select from pg_locks
         where locktype = 'advisory' and granted and classid = %(line)s::bigint::oid
           and objid between 1000000 and %(flag)s::bigint - 1
           and objsubid = 2
           and database = (select oid from pg_database where datname = current_database()))
"""

FREE_SLOTS: Final[LiteralString] = """
select pg_advisory_unlock(%(line)s::int, slot) from unnest(%(slots)s::int[]) as slot
"""

RAISE_FLAG: Final[LiteralString] = "select pg_advisory_lock_shared(%(line)s::int, %(flag)s::int)"
LOWER_FLAG: Final[LiteralString] = "select pg_advisory_unlock_shared(%(line)s::int, %(flag)s::int)"


FLAGS: Final = 1_000_000
"""The flag number of priority 0: slot numbers are below it."""
_POLL: Final = 0.05
_LOOK: Final = 0.2
"""Seconds between checks whether others are waiting or have left a slot."""


_sessions: Final[WeakSet[LockSession]] = WeakSet()
_parents: Final[list[psycopg.Connection[tuple[Any, ...]] | None]] = []
"""Connections of the parent process of a fork: kept, so that nothing closes them."""


class LockSession:
    """A dedicated connection for locks: outside every transaction, never used to wait.

    Shared by a process's threads, whose gates track their own slots. A lost connection has lost its
    locks: it is reopened, and for a moment the endpoint may get more calls.

    A forked process opens its own connection and leaves its parent's alone: closing it would
    disconnect the parent.
    """

    def __init__(self) -> None:
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._lock = threading.Lock()
        self.mine: set[tuple[int, int]] = set()
        _sessions.add(self)

    def rows(self, query: LiteralString, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._rows(query, values)

    def take(self, line: int, values: Mapping[str, Any]) -> list[int]:
        """Lock free slots and return their numbers. Atomic, so that no thread takes another's."""
        with self._lock:
            mine = [slot for of, slot in self.mine if of == line]
            found = self._rows(TAKE_SLOTS, {**values, "line": line, "mine": mine})
            taken = [int(slot) for (slot,) in found]
            self.mine |= {(line, slot) for slot in taken}
            return taken

    def free(self, line: int, slots: Sequence[int]) -> None:
        """Release slots. Never fails: if the database is away, the locks are gone with the
        connection.
        """
        with self._lock:
            with suppress(OperationalError):
                self._rows(FREE_SLOTS, {"line": line, "slots": list(slots)})
            self.mine -= {(line, slot) for slot in slots}

    def close(self) -> None:
        with self._lock:
            self._hang_up()
            self.mine.clear()

    def leave_to_parent(self) -> None:
        """Reset in a forked child. Another thread of the parent may have held the lock."""
        _parents.append(self._connection)
        self._connection = None
        self._lock = threading.Lock()
        self.mine = set()

    def _rows(self, query: LiteralString, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        try:
            return self._connected().execute(query, values).fetchall()
        except psycopg.OperationalError:
            self._hang_up()
        try:
            return self._connected().execute(query, values).fetchall()
        except psycopg.OperationalError as error:
            self._hang_up()
            raise OperationalError(*error.args) from error

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = _connect()
        return self._connection


@dataclass(frozen=True, slots=True)
class SharedSlots:
    """An endpoint's slots: ``line`` is its 31-bit number; ``count`` how many calls it takes."""

    line: int
    count: int
    session: LockSession
    longest_wait: float = LONGEST_WAIT

    def enter(self, priority: int) -> AbstractContextManager[Gate]:
        return _entered(_SharedGate(self, priority))


@dataclass(slots=True)
class _SharedGate:
    slots: SharedSlots
    priority: int
    held: list[int] = field(default_factory=list)
    next_look: float = 0.0

    def adjust(self, *, running: int, wanted: int) -> int:
        if not self.held:
            self._take(wanted)
            if not self.held:
                self._wait()
        elif time.monotonic() >= self.next_look:
            self.next_look = time.monotonic() + _LOOK
            if len(self.held) > running and self._is_outranked():
                self.give_back(running)
            elif wanted > len(self.held):
                self._take(wanted - len(self.held))
        return len(self.held)

    def give_back(self, kept: int) -> None:
        given = self.held[kept:]
        if given:
            self.slots.session.free(self.slots.line, given)
            self.held = self.held[:kept]

    def _take(self, wanted: int) -> None:
        values = {"count": self.slots.count, "wanted": wanted, "flag": self._flag}
        self.held += self.slots.session.take(self.slots.line, values)
        self.next_look = time.monotonic() + _LOOK

    def _wait(self) -> None:
        deadline = time.monotonic() + self.slots.longest_wait
        values = {"line": self.slots.line, "flag": self._flag}
        self.slots.session.rows(RAISE_FLAG, values)
        try:
            while not self.held:
                if time.monotonic() > deadline:
                    raise no_slot()
                halting.check()
                time.sleep(_POLL)
                self._take(1)
        finally:
            self.slots.session.rows(LOWER_FLAG, values)

    def _is_outranked(self) -> bool:
        if self.priority == 0:
            return False
        values = {"line": self.slots.line, "flag": self._flag}
        return bool(self.slots.session.rows(IS_OUTRANKED, values)[0][0])

    @property
    def _flag(self) -> int:
        return FLAGS + self.priority


def shared_slots(line: int, count: int) -> SharedSlots:
    """Return the slots in this installation's database."""
    return SharedSlots(line, count, _session_of(os.getpid()))


@cache
def _session_of(process: int) -> LockSession:
    """One per process: a connection does not survive a fork."""
    return LockSession()


def close_sessions() -> None:
    """Release what this process holds; the next call reconnects."""
    for session in tuple(_sessions):
        session.close()


def _leave_all_to_parent() -> None:
    for session in tuple(_sessions):
        session.leave_to_parent()


atexit.register(close_sessions)
os.register_at_fork(after_in_child=_leave_all_to_parent)


def _connect() -> psycopg.Connection[tuple[Any, ...]]:
    """Connect with Django's address and account, but without its query settings."""
    found = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port", "options", "passfile")
    address = {name: found[name] for name in names if found.get(name)}
    address |= {name: value for name, value in found.items() if name.startswith("ssl")}
    return psycopg.connect(**address, autocommit=True, prepare_threshold=1)
