"""A long refresh runs two stages at a time, and none before what it needs is there."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from ingestion.models import Community, IngestionJob, JobKind, RunState, StageRun, WalkSnapshot
from ingestion.pipeline import inline, runner, side_by_side, transitions
from ingestion.pipeline.side_by_side import NEEDS
from ingestion.stage import StageOutcome
from kb_project.errors import ParseError
from tests import rows
from tests.ingestion.jobs import add, fresh, pretended, refreshes, states
from tests.patience import PATIENCE
from workspaces import access
from workspaces.models import Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media", "fake_embedder"),
]


@pytest.fixture
def workspace(media: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """One whose every refresh counts as long, on a machine of two cores."""
    monkeypatch.setattr(side_by_side, "LONG", 0.0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return rows.make_workspace()


@pytest.fixture
def refresh(workspace: Workspace) -> IngestionJob:
    runner.request_refresh(workspace.pk)
    [job] = refreshes(workspace)
    return job


def test_it_is_known_what_each_stage_needs():
    assert NEEDS.keys() == runner.WORKSPACE_STAGES.keys()
    order = [*runner.WORKSPACE_STAGES]
    for stage, needed in NEEDS.items():
        assert all(order.index(one) < order.index(stage) for one in needed)


def test_a_stage_begins_when_what_it_needs_is_done(workspace: Workspace):
    add(workspace)
    inline.drain(workspace.pk)

    [job] = refreshes(workspace)
    assert fresh(job).state == RunState.DONE
    with access.in_workspace(workspace.pk):
        assert Community.objects.in_workspace(workspace).exists()
        assert WalkSnapshot.objects.in_workspace(workspace).count() == 1
        runs = {run.stage: run for run in StageRun.objects.in_workspace(workspace).filter(job=job)}
    for stage, needed in NEEDS.items():
        began = runs[stage].started_at
        ended = [runs[one].finished_at for one in needed]
        assert began is not None
        assert all(one is not None and one <= began for one in ended)


def test_a_stage_does_not_wait_for_one_that_it_does_not_need(refresh: IngestionJob, monkeypatch):
    tree_began = threading.Event()

    def tree(*_arguments: object) -> StageOutcome:
        tree_began.set()
        return StageOutcome()

    def describe(*_arguments: object) -> StageOutcome:
        assert tree_began.wait(PATIENCE)
        return StageOutcome()

    with pretended(monkeypatch, describe=describe, tree=tree):
        assert runner.run_lane(refresh, runner.REFRESHING)

    assert set(states(refresh).values()) == {"done"}


def test_after_a_failure_no_stage_begins_and_a_retry_does_the_rest(
    refresh: IngestionJob, monkeypatch
):
    snapshot_began = threading.Event()

    def graph(*_arguments: object) -> StageOutcome:
        assert snapshot_began.wait(PATIENCE)
        raise ParseError("It is torn.", code="torn")

    def snapshot(*_arguments: object) -> StageOutcome:
        snapshot_began.set()
        return StageOutcome()

    with pretended(monkeypatch, graph=graph, snapshot=snapshot) as ran:
        assert not runner.run_lane(refresh, runner.REFRESHING)
    failed = fresh(refresh)
    assert (failed.kind, failed.state) == (JobKind.WORKSPACE, RunState.FAILED)
    assert "communities" not in ran
    assert states(refresh)["snapshot"] == "done"

    with access.in_workspace(refresh.workspace_id):
        transitions.reopen(failed)
    with pretended(monkeypatch) as again:
        assert runner.run_lane(failed, runner.REFRESHING)

    assert sorted(again) == sorted({"graph", *NEEDS} - (set(ran) - {"graph"}))
    assert fresh(refresh).state == RunState.DONE


def test_a_short_refresh_goes_stage_by_stage(refresh: IngestionJob, monkeypatch):
    monkeypatch.setattr(side_by_side, "LONG", 5.0)

    with pretended(monkeypatch) as ran:
        runner.run_lane(refresh, runner.REFRESHING)

    assert ran == [*runner.WORKSPACE_STAGES]
