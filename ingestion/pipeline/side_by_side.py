"""Run the stages of a long refresh two at a time, as far as none needs what another makes.

One waits for the database while the other works in this process, and each has statements of its
own: on two cores, the refresh of a large workspace takes little more than half the time. The same
rows are written in any order, since a stage begins only after those that it ``NEEDS``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from threading import Condition
from typing import Final

from django.db import connection

from ingestion.models import IngestionJob, JobKind, StageRun
from ingestion.pipeline import sql, turns
from ingestion.stage import LONG
from kb_project.jobs.gc import give_back
from kb_project.sql import run_sql
from workspaces import access

NEEDS: Final[Mapping[str, frozenset[str]]] = {
    "describe": frozenset(),
    "conflicts": frozenset({"describe"}),
    "graph": frozenset({"describe", "conflicts"}),
    "communities": frozenset({"graph"}),
    "reports": frozenset({"communities"}),
    "tree": frozenset(),
    "cells": frozenset(),
    "snapshot": frozenset({"describe"}),
    "suggest": frozenset({"graph"}),
    "structure": frozenset({"communities"}),
    "layout": frozenset({"communities"}),
    "questions": frozenset({"reports"}),
}
"""What each stage reads the work of; of those that may begin, the first here does, so that the
longest chain never waits."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Of a group: the jobs begun, and those at the lane's end; whether the rest wait for a turn."""

    begun: int = 0
    through: int = 0
    gave_way: bool = False


def is_worthwhile(job: IngestionJob) -> bool:
    """Whether this is a refresh of a workspace whose last one took long, and there are cores."""
    if job.kind != JobKind.WORKSPACE or (os.cpu_count() or 1) < 2:
        return False
    with access.in_workspace(job.workspace_id):
        [(seconds,)] = run_sql(sql.SECONDS_OF_LAST_REFRESH, {"workspace": job.workspace_id})
    return bool(seconds >= LONG)


def run(runs: Sequence[StageRun], run_one: Callable[[StageRun], Tally]) -> Tally:
    """Run the remaining stages of a refresh, each by ``run_one``; after one that does not get
    through, none begins. Call outside of transactions.
    """
    plan = _Plan(runs)

    def work() -> None:
        while one := plan.next():
            tally = None
            try:
                tally = run_one(one)
            finally:
                plan.end(one, tally)
                # With it go buffers as large as the largest rows.
                connection.close()
                give_back()

    with ThreadPoolExecutor(1, "beside") as thread:
        beside = thread.submit(copy_context().run, work)
        work()
        beside.result()
    return plan.tally()


class _Plan:
    """Which stages are left, and which may begin."""

    def __init__(self, runs: Sequence[StageRun]) -> None:
        order = [*NEEDS]
        self._left = sorted(runs, key=lambda run: order.index(run.stage))
        self._under_way = set[str]()
        self._tallies: list[Tally] = []
        self._is_over = False
        self._has_moved = Condition()

    def next(self) -> StageRun | None:
        """The stage to run now, once there is one; None if no more is to begin."""
        with self._has_moved:
            while self._left and not self._is_over:
                missing = {one.stage for one in self._left} | self._under_way
                for one in self._left:
                    if NEEDS[one.stage].isdisjoint(missing):
                        self._left.remove(one)
                        self._under_way.add(one.stage)
                        return one
                self._has_moved.wait()
            return None

    def end(self, run: StageRun, tally: Tally | None) -> None:
        """Note how a stage ended: without a tally if by an error."""
        is_over = tally is None or not tally.through or turns.is_over()
        with self._has_moved:
            self._under_way.remove(run.stage)
            self._tallies += [tally] if tally else []
            self._is_over = self._is_over or is_over
            self._has_moved.notify_all()

    def tally(self) -> Tally:
        are_through = all(one.through for one in self._tallies)
        return Tally(
            begun=max((one.begun for one in self._tallies), default=0),
            through=int(are_through and not self._left),
            gave_way=any(one.gave_way for one in self._tallies)
            or (are_through and bool(self._left)),
        )
