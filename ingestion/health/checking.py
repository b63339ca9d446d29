"""Checks a whole workspace, and repairs what can be repaired."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence

from ingestion.health import repairs
from ingestion.health.checks import CHECKS, Check
from ingestion.health.report import Drift, Report, Waiting
from ingestion.health.scope import Scope, looking_at
from kb_project.text.counting import counted

logger = logging.getLogger(__name__)

BY_NAME = {one.name: one for one in CHECKS}


def check(workspace_id: uuid.UUID, *, is_deep: bool = False) -> Report:
    """Compare a workspace's data with the data it is derived from.

    All statements see one snapshot, so that work in progress is no drift. ``is_deep`` also resolves
    every document again from its extractions, and checks every passage's index terms.
    """
    started = time.monotonic()
    drifts: list[Drift] = []
    with looking_at(workspace_id) as scope:
        waiting = list(_under_way(scope))
        for one in CHECKS:
            if is_deep or not one.is_deep:
                _look(one, scope, drifts, waiting)
    report = Report(
        workspace_id, tuple(drifts), tuple(waiting), is_deep, time.monotonic() - started
    )
    if drifts:
        names = [one.check for one in drifts]
        logger.warning("drift found workspace=%s checks=%s", workspace_id, ",".join(names))
    return report


def _look(one: Check, scope: Scope, drifts: list[Drift], waiting: list[Waiting]) -> None:
    found = one.find(scope)
    if not found:
        return
    if one.stage and scope.is_ahead(one.stage):
        waiting.append(Waiting(one.name, one.sentence(found.count), found.count))
    else:
        drifts.append(one.drift(found))


def _under_way(scope: Scope) -> list[Waiting]:
    said = []
    if scope.unfinished:
        sentence = counted(scope.unfinished, "job is", "jobs are")
        said.append(Waiting("work", f"{sentence} in progress.", scope.unfinished))
    if scope.marks and scope.is_ahead("describe"):
        sentence = counted(scope.marks.count, "change is waiting", "changes are waiting")
        said.append(Waiting("marks", f"{sentence} for the next refresh.", scope.marks.count))
    return said


def repair(report: Report) -> list[str]:
    """Repair drifts, or queue their repair; returns sentences on what was done.

    Work that documents and the workspace have to repeat is left to the workers: until it is done it
    counts as waiting, not as drift.
    """
    done = []
    for drift in by_weight(report.drifts):
        remedy = BY_NAME[drift.check].remedy
        if remedy is not None:
            repairs.apply(remedy, report.workspace_id, drift.found)
            done.append(f"{drift.sentence} {remedy.sentence}")
            logger.info("drift repaired workspace=%s check=%s", report.workspace_id, drift.check)
    return done


def by_weight(drifts: Sequence[Drift]) -> list[Drift]:
    """Order drifts so that remedies that reread most come first: others skip documents
    being read.
    """
    return sorted(drifts, key=lambda one: _place(BY_NAME[one.check].remedy))


def _place(remedy: repairs.Remedy | None) -> int:
    return list(repairs.Remedy).index(remedy) if remedy else 0
