"""Check a workspace, repair what can be repaired, and do both in the background.

Checks run in the main lane, nightly or on request. The row is the record, as with documents; a
queue entry only wakes a worker. The sweep, once a minute, requeues checks whose worker died or that
no worker was woken for.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.utils import timezone
from django_q.tasks import async_task

from ingestion.health.checks import CHECKS
from ingestion.health.state import Findings, WorkspaceState, workspace_state
from ingestion.models import CheckState, ConsistencyCheck
from ingestion.pipeline import recovery, runner
from ingestion.stages import cells
from kb_project.database.outages import through_outages
from kb_project.jobs import claims
from kb_project.text.words import counted
from workspaces import access
from workspaces.models import User, Workspace
from workspaces.ports import ports_for

logger = logging.getLogger(__name__)

RUN_CHECK: Final = "ingestion.tasks.check_graph"
KEPT: Final = 30
"""Checks kept for each workspace: a month of nights."""
PATIENCE: Final = timedelta(hours=2)
"""A worker on another host that has not finished a check by then is presumed dead."""
CHECK_STEPS, REPAIR_STEPS = 1, 3
"""Steps of a check: one check, or a check, the repair and another check."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One way in which a workspace differs from the data it is derived from.

    ``next_step`` says what the repair does about it or, if not ``is_repairable``, what a person
    should do.
    """

    check: str
    sentence: str
    found: Findings
    next_step: str = ""
    is_repairable: bool = False

    @property
    def count(self) -> int:
        return self.found.count

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "sentence": self.sentence,
            "count": self.count,
            "samples": list(self.found.samples),
            "next_step": self.next_step,
            "is_repairable": self.is_repairable,
        }


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something in progress, or that work in progress will repair."""

    check: str
    sentence: str
    count: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The result of one workspace check. ``seconds`` is its duration."""

    workspace_id: uuid.UUID
    drifts: tuple[Drift, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    is_deep: bool = False
    seconds: float = field(default=0, compare=False)

    @property
    def is_sound(self) -> bool:
        """Whether there is no drift; work in progress may still be waiting."""
        return not self.drifts

    @property
    def is_settled(self) -> bool:
        """Whether there is no drift and nothing is waiting."""
        return not self.drifts and not self.waiting

    def __str__(self) -> str:
        lines = [f"{one.check}: {one.sentence} {list(one.found.samples)}" for one in self.drifts]
        return "\n".join(lines) or "No drift was found."


BROKEN: Final = Drift(
    "check",
    "The check could not be completed.",
    Findings(1),
    "Look at the worker's log, or run 'checkgraph' on the server.",
)


# --- checking and repairing -----------------------------------------------------------------------
def check(workspace_id: uuid.UUID, *, is_deep: bool = False) -> HealthReport:
    """Compare a workspace's data with the data it is derived from.

    All statements see one state of the database. What work in progress will repair is waiting, not
    drift. ``is_deep`` also resolves every document again from its extractions, and checks every
    passage's index terms.
    """
    started = time.monotonic()
    drifts: list[Drift] = []
    with workspace_state(workspace_id, is_deep=is_deep) as state:
        waiting = _in_progress(state)
        for one in CHECKS:
            found = one.find(state)
            sentence = one.sentence(found.count)
            if found.count and one.stage and state.is_ahead(one.stage):
                waiting.append(Waiting(one.name, sentence, found.count))
            elif found.count:
                is_repairable = one.repair is not None
                drifts.append(Drift(one.name, sentence, found, one.next_step, is_repairable))
    if drifts:
        names = ",".join(one.check for one in drifts)
        logger.warning("drift found workspace=%s checks=%s", workspace_id, names)
    seconds = time.monotonic() - started
    return HealthReport(workspace_id, tuple(drifts), tuple(waiting), is_deep, seconds)


def _in_progress(state: WorkspaceState) -> list[Waiting]:
    waiting = []
    if state.unfinished:
        sentence = counted(state.unfinished, "job is", "jobs are")
        waiting.append(Waiting("work", f"{sentence} in progress.", state.unfinished))
    if state.changes and state.is_ahead("describe"):
        number = len(state.changes)
        sentence = counted(number, "change is waiting", "changes are waiting")
        waiting.append(Waiting("refresh", f"{sentence} for the next refresh.", number))
    return waiting


def repair(report: HealthReport) -> list[str]:
    """Repair drifts, or queue their repair; returns sentences on what was done.

    Work that documents and the workspace have to repeat is left to the workers: until it is done it
    counts as waiting, not as drift. Repairs that reread most come first in ``CHECKS``, because
    others skip documents being read.
    """
    done = []
    drifts = {drift.check: drift for drift in report.drifts}
    for one in CHECKS:
        drift = drifts.get(one.name)
        if drift and one.repair:
            one.repair(report.workspace_id, drift.found.targets)
            done.append(f"{drift.sentence} {drift.next_step}")
            logger.info("drift repaired workspace=%s check=%s", report.workspace_id, one.name)
    return done


# --- in the background ----------------------------------------------------------------------------
def check_request(
    *,
    workspace: Workspace,
    user: User | None = None,
    repairs: bool = False,
    is_deep: bool = False,
) -> ConsistencyCheck:
    """Request a check of the workspace; while one is waiting or running, return that one.

    A waiting check takes on what the request adds: repairs, a deep check.
    """
    with access.in_workspace(workspace.pk):
        # Locking the workspace's row serialises two simultaneous requests.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        rows = ConsistencyCheck.objects.in_workspace(workspace)
        found = rows.exclude(state=CheckState.DONE).first()
        if found is None:
            found = ConsistencyCheck.objects.create(
                workspace=workspace,
                requested_by=user,
                repairs=repairs,
                is_deep=is_deep,
                total=REPAIR_STEPS if repairs else CHECK_STEPS,
            )
            wake(found)
        elif found.state == CheckState.WAITING:
            found.is_deep |= is_deep
            found.repairs |= repairs
            found.total = REPAIR_STEPS if found.repairs else CHECK_STEPS
            found.save(update_fields=["is_deep", "repairs", "total"])
    return found


def wake(row: ConsistencyCheck) -> None:
    async_task(RUN_CHECK, str(row.workspace_id), str(row.pk), cluster=runner.REFRESHING)


def request_all() -> int:
    """Request a deep check without repairs of every workspace; the schedule calls it each night."""
    workspaces = list(Workspace.objects.filter(source=None).order_by("pk"))
    for workspace in workspaces:
        check_request(workspace=workspace, is_deep=True)
    return len(workspaces)


def run(workspace_id: uuid.UUID, check_id: uuid.UUID) -> None:
    """Run a waiting check and record its findings; do nothing if another worker has it."""
    row = _begin(workspace_id, check_id)
    if row is None:
        return
    is_through = False
    try:
        through_outages(partial(_run, row))
        is_through = True
    finally:
        if not is_through:
            # A check that fails must not look sound, nor run forever.
            _note(row, drifts=[BROKEN.as_json()], state=CheckState.DONE, finished_at=timezone.now())


def _begin(workspace_id: uuid.UUID, check_id: uuid.UUID) -> ConsistencyCheck | None:
    with access.in_workspace(workspace_id):
        rows = ConsistencyCheck.objects.in_workspace(workspace_id).filter(pk=check_id)
        began = rows.filter(state=CheckState.WAITING).update(
            state=CheckState.RUNNING,
            worker=claims.worker_name(),
            started_at=timezone.now(),
            done=0,
        )
        return rows.get() if began else None


def _run(row: ConsistencyCheck) -> None:
    report = check(row.workspace_id, is_deep=row.is_deep)
    repaired: list[str] = []
    if row.repairs and not report.is_sound:
        _note(row, **_columns(report), done=1)
        repaired = repair(report)
        _note(row, repaired=repaired, done=2)
        report = check(row.workspace_id, is_deep=row.is_deep)
    if row.is_deep:
        cells.measure_again(row.workspace_id, ports_for(row.workspace_id).embedder)
    _note(
        row,
        **_columns(report),
        repaired=repaired,
        done=row.total,
        state=CheckState.DONE,
        seconds=report.seconds,
        finished_at=timezone.now(),
    )
    _forget_old(row.workspace_id)
    logger.info(
        "check ended workspace=%s drifts=%s seconds=%.2f",
        *(row.workspace_id, len(report.drifts), report.seconds),
    )


def _columns(report: HealthReport) -> dict[str, Any]:
    return {
        "drifts": [one.as_json() for one in report.drifts],
        "waiting": [one.as_json() for one in report.waiting],
    }


def _note(row: ConsistencyCheck, **values: Any) -> None:
    with access.in_workspace(row.workspace_id):
        ConsistencyCheck.objects.in_workspace(row.workspace_id).filter(pk=row.pk).update(**values)


def _forget_old(workspace_id: uuid.UUID) -> None:
    with access.in_workspace(workspace_id):
        rows = ConsistencyCheck.objects.in_workspace(workspace_id)
        kept = list(rows.order_by("-created_at").values_list("pk", flat=True)[:KEPT])
        rows.filter(state=CheckState.DONE).exclude(pk__in=kept).delete()


def take_up(workspaces: Collection[uuid.UUID]) -> int:
    """Wake waiting checks of these workspaces that no worker took up, or whose worker died; returns
    how many."""
    return recovery.take_up(ConsistencyCheck, workspaces, PATIENCE, wake)
