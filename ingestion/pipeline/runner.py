"""The order of the stages, and the one place that runs them.

Two lanes work on documents: the main lane parses, chunks, situates, extracts and resolves; the
embedding lane makes the vectors, which is slow on a small machine and must not hold anything up.
The refreshing lane runs the stages of whole workspaces, so that no document waits for them. A
stage runs once for a group of documents, and a workspace stage once per burst of changes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from itertools import groupby
from typing import Final

from django_q.exceptions import TimeoutException
from django_q.tasks import async_task

from ingestion.changes import version_changes
from ingestion.models import IngestionJob, JobKind, RunState, StageRun
from ingestion.pipeline import leases, needs, side_by_side, sql, transitions, turns
from ingestion.pipeline.side_by_side import Tally
from ingestion.stage import REFRESH_STATISTICS, Progress, StageOutcome
from ingestion.stages import (
    cells,
    chunk,
    communities,
    conflicts,
    describe,
    embed,
    extract,
    graph,
    layout,
    parse,
    questions,
    reembed,
    reports,
    reresolve,
    resolve,
    situate,
    snapshot,
    structure,
    suggest,
    tree,
    tune,
)
from kb_project.database.outages import DATABASE_AWAY, through_outages
from kb_project.errors import PauseError
from kb_project.logs import current_job
from kb_project.ports import Ports
from kb_project.sql import run_sql
from workspaces import access, editions
from workspaces.ports import ports_for

JobStage = Callable[[IngestionJob, Ports, Progress], StageOutcome]
Stage = Callable[[Sequence[IngestionJob], Ports, Progress], list[StageOutcome]]


def alone(stage: JobStage) -> Stage:
    """Turn a stage for single jobs into one for jobs of a workspace: one outcome each, in order."""

    @wraps(stage)
    def run(jobs: Sequence[IngestionJob], ports: Ports, progress: Progress) -> list[StageOutcome]:
        return [stage(job, ports, progress) for job in jobs]

    return run


DOCUMENT_STAGES: Final[dict[str, Stage]] = {
    "parse": parse.run,
    "chunk": chunk.run,
    "situate": situate.run,
    "embed": embed.run,
    "extract": extract.run,
    "resolve": resolve.run,
}
WORKSPACE_STAGES: Final[dict[str, JobStage]] = {
    "describe": describe.run,
    "conflicts": conflicts.run,
    "graph": graph.run,
    "communities": communities.run,
    "layout": layout.run,
    "structure": structure.run,
    "reports": reports.run,
    "tree": tree.run,
    "cells": cells.run,
    "snapshot": snapshot.run,
    "suggest": suggest.run,
    "questions": questions.run,
}
OTHER_STAGES: Final = {"reembed": reembed.run, "tune": tune.run, "reresolve": reresolve.run}

PLANS: Final[dict[str, tuple[str, ...]]] = {
    JobKind.DOCUMENT: tuple(DOCUMENT_STAGES),
    JobKind.WORKSPACE: tuple(WORKSPACE_STAGES),
    JobKind.REEMBED: ("reembed",),
    JobKind.TUNE: ("tune",),
    JobKind.CHANGE: ("reresolve",),
}
STAGES: Final[dict[str, Stage]] = DOCUMENT_STAGES | {
    name: alone(stage) for name, stage in (WORKSPACE_STAGES | OTHER_STAGES).items()
}
MAIN: Final = "main"
EMBEDDING: Final = "embedding"
REFRESHING: Final = "refreshing"
LANES: Final[dict[str, tuple[str, ...]]] = {
    MAIN: (*(name for name in DOCUMENT_STAGES if name != "embed"), "tune", "reresolve"),
    EMBEDDING: ("embed", "reembed"),
    REFRESHING: tuple(WORKSPACE_STAGES),
}
DOCUMENT_LANES: Final = (MAIN, EMBEDDING)
EMBEDS_AFTER: Final = "situate"  # before the embedding lane may begin
TELLS_AFTER: Final = "resolve"  # a version's facts are known
RUN_LANE: Final = "ingestion.tasks.run_lane"
MAX_ATTEMPTS: Final = 4


@dataclass(slots=True)
class Member:
    """A job going through a lane, with its remaining stage runs there, in order."""

    job: IngestionJob
    runs: list[StageRun]

    @property
    def run(self) -> StageRun:
        return self.runs[0]


def plan_stages(*jobs: IngestionJob) -> None:
    """Create the jobs' stage runs. Call inside their transaction."""
    for kind, members in groupby(jobs, key=lambda job: job.kind):
        planned = list(members)
        values = {
            "workspace": planned[0].workspace_id,
            "jobs": [job.pk for job in planned],
            "stages": list(PLANS[kind]),
        }
        run_sql(sql.PLAN_STAGES, values)


def wake(workspace_id: uuid.UUID, job_id: uuid.UUID, lane: str) -> None:
    """Ask a worker of the lane to look at the job, and at what else waits in its workspace.

    The queue row commits with the caller's changes.
    """
    turns.call(lane, workspace_id)
    async_task(RUN_LANE, str(workspace_id), str(job_id), lane, cluster=lane)


def run_lane(job: IngestionJob, lane: str, ports: Ports | None = None) -> bool:
    """Call ``run_group`` for one job; return whether the lane's part of it is done."""
    return bool(run_group([job], lane, ports).through)


def run_group(jobs: Sequence[IngestionJob], lane: str, ports: Ports | None = None) -> Tally:
    """Run the lane's unfinished stages of some jobs of one workspace, as far as they can go now.

    Each stage is run for all of them before the next. If the database goes away meanwhile, wait for
    it and resume where the work stopped.
    """
    token = current_job.set(f"{jobs[0].pk}{f' and {len(jobs) - 1} more' if jobs[1:] else ''}")
    try:
        with access.repeatable_work():
            return through_outages(partial(_run_group, jobs, lane, ports))
    finally:
        current_job.reset(token)


def _run_group(jobs: Sequence[IngestionJob], lane: str, ports: Ports | None) -> Tally:
    with access.in_workspace(jobs[0].workspace_id):
        going = members_of(transitions.begin(jobs), lane)
    if not going:
        return Tally()
    run_sql(REFRESH_STATISTICS)
    try:
        ports = ports or ports_for(jobs[0].workspace_id)
    except PauseError as error:
        taken, _ = claim_next(going)
        fail(taken, error, seconds=0)
        return Tally(len(taken))
    run = _run_side_by_side if side_by_side.is_worthwhile(going[0].job) else _run_stages
    tally = run(going, ports)
    if not tally.gave_way:
        after_lane(jobs[0], lane)
    return tally


def _run_side_by_side(going: list[Member], ports: Ports) -> Tally:
    [one] = going
    run = side_by_side.run
    return run(one.runs, lambda stage: _run_stages([Member(one.job, [stage])], ports))


def _run_stages(going: list[Member], ports: Ports) -> Tally:
    """Run stage after stage, until none is left or the workspace's turn is over."""
    begun, through = set[uuid.UUID](), 0
    while going:
        taken, going = claim_next(going)
        begun.update(member.job.pk for member in taken)
        try:
            passed = run_stage(taken, ports)
        except turns.TurnOverError:
            return Tally(len(begun), through, gave_way=True)
        for member in passed:
            del member.runs[0]
        going += [member for member in passed if member.runs]
        through += sum(not member.runs for member in passed)
        if going and turns.is_over():
            break
    return Tally(len(begun), through, gave_way=bool(going))


def members_of(jobs: Sequence[IngestionJob], lane: str) -> list[Member]:
    """The jobs with a stage left in the lane; none for the embedding lane before its turn.

    A job whose stages are all done is closed here."""
    unfinished = leases.unfinished(jobs)
    transitions.close([job for job in jobs if not unfinished[job.pk]])
    members = []
    for job in jobs:
        runs = unfinished[job.pk]
        is_early = lane == EMBEDDING and any(run.stage == EMBEDS_AFTER for run in runs)
        if not is_early and (mine := [run for run in runs if run.stage in LANES[lane]]):
            members.append(Member(job, mine))
    return members


def claim_next(members: Sequence[Member]) -> tuple[list[Member], list[Member]]:
    """Claim the earliest stage that any of them is at: (those to run it now, those further on).

    What another worker holds, and what is to stop or to wait, is in neither list.
    """
    first = min(member.run.ordinal for member in members)
    due = [member for member in members if member.run.ordinal == first]
    later = [member for member in members if member.run.ordinal > first]
    workspace_id, stage = due[0].job.workspace_id, due[0].run.stage
    with access.in_workspace(workspace_id):
        claim = leases.claim([member.run for member in due])
        pause = transitions.pause_at(workspace_id, stage)
        if pause and claim.taken:
            transitions.pause(claim.taken, pause, seconds=0)
            return [], later
        ours = {run.pk for run in claim.taken}
        held = [member for member in due if member.run.pk in ours]
        return [one for one in held if _may_run(one, claim)], later


def _may_run(member: Member, claim: leases.ClaimedStages) -> bool:
    if member.run.pk in claim.unwanted:
        transitions.cancel(member.run, member.job, seconds=0)
    elif member.run.attempts > MAX_ATTEMPTS:
        transitions.fail(member.run, member.job, transitions.worn_out(member.run), seconds=0)
    else:
        return True
    return False


def run_stage(
    members: Sequence[Member], ports: Ports, beside: Sequence[Member] = ()
) -> list[Member]:
    """Run one claimed stage of a group; return those that completed it.

    The others' outcomes are recorded. ``beside`` wait for these. Raises TurnOverError.
    """
    if not members:
        return []
    started = time.monotonic()
    runs, waiting = [one.run for one in members], [one.run for one in beside]
    name = runs[0].stage
    progress = leases.progress_of(runs, beside=waiting, turns=turns.of_stage(name, ports))
    try:
        outcomes = STAGES[name]([member.job for member in members], ports, progress)
    except (leases.LeaseLostError, leases.CancelledError) as stop:
        rest = without(stop, members, seconds=time.monotonic() - started)
        return run_stage(rest, ports, beside)
    except turns.TurnOverError:
        transitions.put_back([*runs, *waiting], seconds=time.monotonic() - started)
        raise
    except DATABASE_AWAY:
        raise  # no database to record in; the lease is still ours when it comes back
    # Any failure of a stage is recorded; the queue's timeout is a SystemExit, not an Exception.
    except (Exception, TimeoutException) as error:  # noqa: BLE001 - the one broad except
        if len(members) > 1 and not isinstance(error, PauseError | TimeoutException):
            return run_one_by_one(members, ports)
        fail(members, error, seconds=time.monotonic() - started)
        return []
    return finish(members, outcomes, seconds=time.monotonic() - started)


def run_one_by_one(members: Sequence[Member], ports: Ports) -> list[Member]:
    """Rerun a stage that failed for a group on each member, so that only the one at fault fails."""
    passed: list[Member] = []
    for place, member in enumerate(members):
        beside = members[place + 1 :]
        leases.renew([one.run for one in beside])
        passed += run_stage([member], ports, beside)
    return passed


def without(
    stop: leases.LeaseLostError | leases.CancelledError,
    members: Sequence[Member],
    *,
    seconds: float,
) -> list[Member]:
    """The members whose stage may still be run; those that were asked to stop are cancelled."""
    if isinstance(stop, leases.CancelledError):
        for member in (one for one in members if one.run.pk in stop.runs):
            transitions.cancel(member.run, member.job, seconds=seconds)
    return [one for one in members if one.run.pk not in stop.runs]


def fail(members: Sequence[Member], error: BaseException, *, seconds: float) -> None:
    """Record why a stage failed, or why it waits."""
    problem = transitions.problem_of(error)
    if isinstance(error, PauseError) and members:
        transitions.pause([member.run for member in members], problem, seconds=seconds)
        return
    for member in members:
        transitions.fail(member.run, member.job, problem, seconds=seconds)


def finish(
    members: Sequence[Member], outcomes: Sequence[StageOutcome], *, seconds: float
) -> list[Member]:
    """Record a stage's success for the group; return those that were still ours to end."""
    workspace_id, stage = members[0].job.workspace_id, members[0].run.stage
    with access.in_workspace(workspace_id):
        good = []
        for member, outcome in zip(members, outcomes, strict=True):
            transitions.add_warnings(member.job, outcome.warnings)
            if outcome.failed is None:
                good.append(member)
            else:
                fail([member], outcome.failed, seconds=seconds / len(members))
        ended = transitions.end([one.run for one in good], RunState.DONE, seconds=seconds)
        passed = [member for member in members if member.run.pk in ended]
        if stage == EMBEDS_AFTER and passed:
            wake(workspace_id, passed[0].job.pk, EMBEDDING)
        if stage == TELLS_AFTER and passed:
            version_changes.compare_read(workspace_id, [one.job.version_id for one in passed])
        transitions.close([member.job for member in passed if len(member.runs) == 1])
    return passed


def after_lane(job: IngestionJob, lane: str) -> None:
    """Request a refresh after a burst's last document, and renew snapshots in between.

    However the document ended: a burst's last one may be unreadable.
    """
    if job.kind == JobKind.WORKSPACE:
        wake_waiting_refresh(job.workspace_id)
    elif lane == MAIN:
        with access.in_workspace(job.workspace_id):
            is_busy = main_lane_is_busy(job.workspace_id)
            is_due = is_busy and snapshot.is_due(job.workspace_id)
        if not is_busy:
            request_refresh(job.workspace_id)
        elif is_due:
            snapshot.renew(job.workspace_id)
    else:
        request_missed_tree(job.workspace_id)


def request_missed_tree(workspace_id: uuid.UUID) -> None:
    """Request a refresh if vectors arrived after the one that wanted to build a tree from them."""
    is_missed = partial(tree.is_missed, workspace_id, ports_for(workspace_id).embedder.fingerprint)
    if not main_lane_is_busy(workspace_id) and needs.is_tree_missed(workspace_id, is_missed):
        request_refresh(workspace_id)


def main_lane_is_busy(workspace_id: uuid.UUID) -> bool:
    """Whether any document still has a stage of the main lane to go."""
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "stages": list(LANES[MAIN]), "kind": JobKind.DOCUMENT}
        [(is_busy,)] = run_sql(sql.LANE_IS_BUSY, values)
    return bool(is_busy)


def request_refresh(workspace_id: uuid.UUID) -> None:
    """Request another run of the workspace stages; one waiting request serves all."""
    editions.request_sync(workspace_id)
    with access.in_workspace(workspace_id):
        for (job_id,) in run_sql(sql.ADD_REFRESH, {"workspace": workspace_id}):
            job = IngestionJob.objects.in_workspace(workspace_id).get(pk=job_id)
            plan_stages(job)
            wake(workspace_id, job.pk, REFRESHING)


def wake_waiting_refresh(workspace_id: uuid.UUID) -> None:
    """Start a refresh that was requested while another one ran."""
    with access.in_workspace(workspace_id):
        jobs = IngestionJob.objects.in_workspace(workspace_id)
        for job in jobs.filter(kind=JobKind.WORKSPACE, state=RunState.PENDING):
            wake(workspace_id, job.pk, REFRESHING)
