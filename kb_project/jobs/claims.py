"""Claims on rows of work: a compare-and-set that takes a lease, renewed while the worker lives.

A row waits in one state, runs under a worker's name, and is free again when its lease expires or
its worker is dead. Every kind of work has a table of its own, with these columns under its own
names. Statements take many rows at once and lock them in the order of their ids, so that two
workers never deadlock.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import LiteralString, NamedTuple, Protocol
from uuid import UUID

from django.utils.functional import cached_property
from psycopg import sql

from kb_project.sql import run_sql, run_sql_count

# --- who a worker is, and whether it lives --------------------------------------------------------
_seat: ContextVar[str] = ContextVar("_seat", default="")


@contextmanager
def seated(seat: str) -> Iterator[None]:
    """Work under a separate name in this process: two threads of one lane must not share a name."""
    token = _seat.set(f"~{seat}")
    try:
        yield
    finally:
        _seat.reset(token)


def worker_name() -> str:
    """Return ``host:pid:start``: the start time distinguishes a recycled pid from the former
    worker's.

    A further worker in the same process has ``~`` and its seat appended.
    """
    return f"{_name_of(os.getpid())}{_seat.get()}"


@cache
def _name_of(pid: int) -> str:
    return f"{socket.gethostname()[:40]}:{pid}:{_started(pid)}"


def is_dead(name: str) -> bool:
    """Whether the named worker ran on this host and has ended."""
    name = name.partition("~")[0]
    host, _, rest = name.rpartition(":")[0].partition(":")
    if host != socket.gethostname()[:40] or not rest.isdigit():
        return False
    return _started(int(rest)) != name.rpartition(":")[2]


def _started(pid: int) -> str:
    """Return the kernel's start time of a process, '' if there is none (or it is a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


# --- the claims -----------------------------------------------------------------------------------
# Ids come as an array: a join compares them with all rows, if the planner thinks there are none.
CLAIM = sql.SQL("""
UPDATE {table} AS r
   SET state = 'running', {worker} = %(worker)s,
       {lease} = now() + make_interval(secs => %(seconds)s::float8) {also}
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY (ARRAY(
       SELECT id FROM {table}
        WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s::uuid[])
          AND (state = %(waiting)s
               OR (%(retakes)s AND state = 'running'
                   AND ({lease} < now() OR {worker} = %(worker)s)))
        ORDER BY id FOR NO KEY UPDATE))
RETURNING r.id, {wants_stop}, {attempts}
""")

RENEW = sql.SQL("""
UPDATE {table} AS r SET {lease} = now() + make_interval(secs => %(seconds)s::float8)
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(ids)s::uuid[])
   AND r.state = 'running' AND r.{worker} = %(worker)s
RETURNING r.id, {wants_stop}
""")

HOLDERS = sql.SQL("""
SELECT DISTINCT {worker} FROM {table} WHERE workspace_id = %(workspace)s AND state = 'running'
""")

FREE = sql.SQL("""
UPDATE {table} SET state = %(waiting)s, {lease} = NULL, {worker} = ''
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT id FROM {table}
        WHERE workspace_id = %(workspace)s AND state = 'running'
          AND ({lease} < now() OR {worker} = ANY(%(dead)s))
        ORDER BY id FOR NO KEY UPDATE))
""")


class Access(Protocol):
    """How work enters a workspace. ``workspaces.access`` is one; this package may not know it."""

    def in_workspace(self, workspace_id: UUID, /) -> AbstractContextManager[None]: ...

    def repeatable_work(self) -> AbstractContextManager[None]: ...


class Claimed(NamedTuple):
    """A row now claimed, and how often it has been."""

    id: UUID
    wants_stop: bool
    attempts: int


@dataclass(frozen=True, kw_only=True)
class LeasedRows:
    """The claims on one table, whose leases last ``seconds``.

    ``waiting`` is the state of rows that no worker has; with ``retakes``, rows whose lease has
    expired, and those that the worker has already, are free to claim too. ``worker`` and ``lease``
    are columns. The other three are SQL, with the row as ``r``: whether someone asked to stop it,
    what a claim sets besides, and how often it was claimed.
    """

    table: LiteralString
    access: Access
    seconds: float
    waiting: str = "queued"
    retakes: bool = False
    worker: LiteralString = "worker"
    lease: LiteralString = "lease_until"
    wants_stop: LiteralString = "r.wants_stop"
    also: LiteralString = ""
    attempts: LiteralString = "1"

    def claim(self, workspace_id: UUID, ids: Collection[UUID], worker: str) -> list[Claimed]:
        """Claim those rows that are free, and return them."""
        values = {**self._values(workspace_id, ids, worker), "retakes": self.retakes}
        with self.access.in_workspace(workspace_id):
            return [Claimed(*row) for row in run_sql(self._statements["claim"], values)]

    def renew(self, workspace_id: UUID, ids: Collection[UUID], worker: str) -> dict[UUID, bool]:
        """Renew the worker's leases; return whether each row should stop. Lost rows are missing."""
        values = self._values(workspace_id, ids, worker)
        with self.access.in_workspace(workspace_id):
            return dict(run_sql(self._statements["renew"], values))

    def free(self, workspace_id: UUID) -> int:
        """Have the rows of dead workers, and those whose lease expired, wait again; return how
        many."""
        values = {"workspace": workspace_id, "waiting": self.waiting}
        with self.access.in_workspace(workspace_id):
            holders = run_sql(self._statements["holders"], values)
            dead = [name for (name,) in holders if is_dead(name)]
            return run_sql_count(self._statements["free"], {**values, "dead": dead})

    def _values(self, workspace_id: UUID, ids: Collection[UUID], worker: str) -> dict[str, object]:
        return {
            "workspace": workspace_id,
            "ids": list(ids),
            "worker": worker,
            "waiting": self.waiting,
            "seconds": self.seconds,
        }

    @cached_property
    def _statements(self) -> dict[str, sql.Composed]:
        names = {
            "table": sql.Identifier(self.table),
            "worker": sql.Identifier(self.worker),
            "lease": sql.Identifier(self.lease),
            "wants_stop": sql.SQL(self.wants_stop),
            "also": sql.SQL(self.also),
            "attempts": sql.SQL(self.attempts),
        }
        statements = {"claim": CLAIM, "renew": RENEW, "holders": HOLDERS, "free": FREE}
        return {name: statement.format(**names) for name, statement in statements.items()}
