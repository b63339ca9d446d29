"""Looking at a whole workspace, and mending what can be mended."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence

from ingestion.consistency import remedies
from ingestion.consistency.checks import CHECKS, Check
from ingestion.consistency.report import Drift, Report, Waiting
from ingestion.consistency.scope import Scope, looking_at
from kb_project.text.counting import counted

logger = logging.getLogger(__name__)

BY_NAME = {one.name: one for one in CHECKS}


def check(workspace_id: uuid.UUID, *, is_deep: bool = False) -> Report:
    """Compare everything the workspace holds with everything it follows from.

    All statements see one state, so that work under way is no drift. ``is_deep`` also reads every
    document once more from what was extracted of it, and every passage's words.
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
        sentence = counted(scope.unfinished, "piece of work is", "pieces of work are")
        said.append(Waiting("work", f"{sentence} under way.", scope.unfinished))
    if scope.marks and scope.is_ahead("describe"):
        sentence = counted(scope.marks.count, "change waits", "changes wait")
        said.append(Waiting("marks", f"{sentence} for the next refresh.", scope.marks.count))
    return said


def repair(report: Report) -> list[str]:
    """Mend what was found, or have it mended; returns what was done, in sentences.

    What documents and the workspace have to go through again is left to the workers: until they
    are through it waits, and is no drift.
    """
    done = []
    for drift in by_weight(report.drifts):
        remedy = BY_NAME[drift.check].remedy
        if remedy is not None:
            remedies.apply(remedy, report.workspace_id, drift.found)
            done.append(f"{drift.sentence} {remedy.sentence}")
            logger.info("drift repaired workspace=%s check=%s", report.workspace_id, drift.check)
    return done


def by_weight(drifts: Sequence[Drift]) -> list[Drift]:
    """What reads the most anew comes first: a document that is being read is left to it."""
    return sorted(drifts, key=lambda one: _place(BY_NAME[one.check].remedy))


def _place(remedy: remedies.Remedy | None) -> int:
    return list(remedies.Remedy).index(remedy) if remedy else 0
