"""Fair turns: lanes serve one workspace after another, and no one waits for another's burst.

Whatever wakes a lane, its worker serves the workspace that has waited longest since its last turn,
with one group of documents. A turn that has lasted its seconds ends as soon as another workspace
waits: between two stages, or in the middle of a stage that skips what it has done before. The rest
waits for the workspace's next turn.

Calls are rows that are only added and deleted, so that uploads never wait for each other. They are
deleted before the turn's work is looked up: a call for work that the turn cannot see is not lost.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final

from django.conf import settings
from django.db import transaction

from ingestion.pipeline import sql
from kb_project.ports import Ports
from kb_project.sql import run_sql, run_sql_count

GIVING_WAY: Final = frozenset(
    {"situate", "embed", "extract", "reembed", "reports", "tree", "cells"}
)
"""Stages that skip what they have done before, batch by batch: a turn may end in the middle."""
WITHOUT_CHAT: Final = frozenset({"embed", "reembed"})
TIMES_WITH_CHAT: Final = 10
"""How much longer a turn lasts if its stage calls a chat model: calls under way are lost at its
end."""
_MOST_REMEMBERED: Final = 10_000


class TurnOverError(Exception):
    """The turn is over in the middle of a stage: its stage runs wait for the next one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One workspace's turn in a lane."""

    lane: str
    workspace_id: uuid.UUID
    started: float = field(default_factory=time.monotonic)

    def is_over(self, times: int = 1) -> bool:
        lasted = time.monotonic() - self.started
        return lasted >= times * settings.TURN_SECONDS and self._others_wait()

    def _others_wait(self) -> bool:
        values = {"lane": self.lane, "party": self.workspace_id}
        [(wait,)] = run_sql(sql.OTHERS_CALL, values)
        return bool(wait)


_turn: ContextVar[Turn | None] = ContextVar("_turn", default=None)
# When this process last served each workspace in each lane. Another process has its own order.
_served: dict[tuple[str, uuid.UUID], int] = {}
_number = count(1)
# How often threads of this process have called a lane, for another one that serves it.
_called: dict[str, threading.Semaphore] = {}


def call(lane: str, workspace_id: uuid.UUID) -> None:
    """Have the lane serve the workspace in its turn. Commits with the caller's changes."""
    run_sql(sql.ADD_CALL, {"lane": lane, "party": workspace_id})
    transaction.on_commit(partial(rouse, lane))


def await_call(lane: str, seconds: float) -> bool:
    """Wait until a thread of this process calls the lane, once for each of its calls.

    Returns whether it did. Calls of other processes go unnoticed.
    """
    return _called.setdefault(lane, threading.Semaphore(0)).acquire(timeout=seconds)


def rouse(lane: str) -> None:
    """End another thread's wait for a call."""
    _called.setdefault(lane, threading.Semaphore(0)).release()


def forget(lane: str) -> None:
    """Delete all calls to the lane, before a starting worker makes new ones."""
    run_sql(sql.FORGET_LANE, {"lane": lane})


@contextmanager
def turn(lane: str, caller: uuid.UUID) -> Iterator[Turn]:
    """Begin the turn of the workspace that is next; of the caller if no call is left."""
    this = Turn(lane, _next(lane) or caller)
    token = _turn.set(this)
    try:
        yield this
    finally:
        _turn.reset(token)


def _next(lane: str) -> uuid.UUID | None:
    while callers := run_sql(sql.CALLERS, {"lane": lane}):
        party, _ = min(callers, key=lambda row: (_served.get((lane, row[0]), 0), row[1]))
        if run_sql_count(sql.TAKE_CALLS, {"lane": lane, "party": party}):
            _remember(lane, party)
            return uuid.UUID(str(party))
        # Another worker was quicker.
    return None


def _remember(lane: str, party: uuid.UUID) -> None:
    if len(_served) >= _MOST_REMEMBERED:
        _served.clear()
    _served[lane, party] = next(_number)


def is_over(times: int = 1) -> bool:
    """Whether another workspace waits and this one has had its time; never outside a turn."""
    this = _turn.get()
    return this is not None and this.is_over(times)


def of_stage(stage: str, ports: Ports) -> int:
    """After how many turns' time the stage gives way in its middle; 0 if it never does."""
    if stage not in GIVING_WAY:
        return 0
    return TIMES_WITH_CHAT if ports.chat and stage not in WITHOUT_CHAT else 1
