"""What holds for the rows of every kind of work; each room tests what is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.models import RunState, StageRun
from ingestion.pipeline import leases
from kb_project.jobs.claims import LeasedRows
from kb_project.sql import run_sql
from retrieval.answering import jobs
from retrieval.evaluation import runs
from tests import rows
from tests.ingestion.jobs import add, run_of
from workspaces import access

pytestmark = pytest.mark.django_db

ME, OTHER = "elsewhere:1:1", "elsewhere:2:2"
KINDS = {"stages": leases.STAGES, "answers": jobs.QUEUE.rows, "evaluations": runs.QUEUE.rows}


@pytest.fixture
def run(media: Path) -> StageRun:
    return run_of(add(rows.make_workspace()), "parse")


def state_of(run: StageRun) -> str:
    with access.in_workspace(run.workspace_id):
        return StageRun.objects.in_workspace(run.workspace_id).get(pk=run.pk).state


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_statement_names_the_workspace_itself(kind: LeasedRows):
    statements = [one.as_string(None) for one in kind._statements.values()]

    assert len(statements) == 4
    assert all("workspace_id = %(workspace)s" in one for one in statements)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_statement_runs_where_there_is_nothing(kind: LeasedRows):
    workspace = rows.make_workspace()

    assert kind.claim(workspace.pk, [workspace.pk], ME) == []
    assert kind.renew(workspace.pk, [workspace.pk], ME) == {}
    assert kind.free(workspace.pk) == 0


def test_a_row_is_out_of_reach_of_another_workspace(run: StageRun):
    elsewhere = rows.make_workspace("Elsewhere")

    assert leases.STAGES.claim(elsewhere.pk, [run.pk], ME) == []
    leases.STAGES.claim(run.workspace_id, [run.pk], ME)
    with access.in_workspace(run.workspace_id):
        run_sql("UPDATE ingestion_stagerun SET leased_until = now() - interval '1 s'")

    assert leases.STAGES.renew(elsewhere.pk, [run.pk], ME) == {}
    assert leases.STAGES.free(elsewhere.pk) == 0
    assert state_of(run) == RunState.RUNNING


def test_a_lease_is_renewed_by_its_holder_alone(run: StageRun):
    leases.STAGES.claim(run.workspace_id, [run.pk], ME)

    assert leases.STAGES.renew(run.workspace_id, [run.pk], OTHER) == {}
    assert leases.STAGES.renew(run.workspace_id, [run.pk], ME) == {run.pk: False}


def test_a_freed_row_is_lost_to_the_worker_that_had_it(run: StageRun):
    leases.STAGES.claim(run.workspace_id, [run.pk], ME)
    with access.in_workspace(run.workspace_id):
        run_sql("UPDATE ingestion_stagerun SET leased_until = now() - interval '1 s'")

    assert leases.STAGES.free(run.workspace_id) == 1
    assert leases.STAGES.renew(run.workspace_id, [run.pk], ME) == {}
    assert state_of(run) == RunState.PENDING
