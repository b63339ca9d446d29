"""What a check reports; checks as work of the main lane: one at a time, kept, taken up again."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from importlib import import_module
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone
from django_q.models import OrmQ, Schedule

from ingestion import tasks
from ingestion.health import services
from ingestion.health.checks import CHECKS
from ingestion.health.state import Findings
from ingestion.models import CheckState, ConsistencyCheck, Entity
from kb_project.jobs import claims
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(media: object, fake_embedder: None) -> Workspace:
    return rows.make_workspace()


def ghost(workspace: Workspace) -> None:
    """An entity of which no document speaks."""
    with access.in_workspace(workspace.pk):
        Entity.objects.create(
            workspace=workspace, key="ghost", name="Ghost", type="person", is_changed=False
        )


def fresh(row: ConsistencyCheck) -> ConsistencyCheck:
    with access.in_workspace(row.workspace_id):
        return ConsistencyCheck.objects.in_workspace(row.workspace_id).get(pk=row.pk)


def set_row(row: ConsistencyCheck, **values: object) -> None:
    with access.in_workspace(row.workspace_id):
        ConsistencyCheck.objects.in_workspace(row.workspace_id).filter(pk=row.pk).update(**values)


def calls() -> int:
    return OrmQ.objects.filter(key="refreshing").count()


def run(row: ConsistencyCheck) -> ConsistencyCheck:
    tasks.check_graph(str(row.workspace_id), str(row.pk))
    return fresh(row)


def test_a_check_says_what_it_found(workspace: Workspace):
    ghost(workspace)

    row = run(services.check_request(workspace=workspace))

    assert row.state == CheckState.DONE
    assert (row.done, row.total) == (1, 1)
    assert row.finished_at is not None
    assert "entities" in {drift["check"] for drift in row.drifts}
    assert row.repaired == []


def test_a_check_that_repairs_says_what_it_did_and_what_is_left(workspace: Workspace):
    ghost(workspace)

    row = run(services.check_request(workspace=workspace, repairs=True))

    assert (row.done, row.total) == (3, 3)
    assert row.drifts == []
    assert any("that no document supports" in sentence for sentence in row.repaired)
    assert {"work", "refresh"} <= {one["check"] for one in row.waiting}


def test_a_sound_workspace_is_not_repaired(workspace: Workspace):
    row = run(services.check_request(workspace=workspace, repairs=True))

    assert (row.drifts, row.repaired, row.done) == ([], [], 3)


def test_one_check_runs_at_a_time(workspace: Workspace):
    before = calls()
    first = services.check_request(workspace=workspace)

    again = services.check_request(workspace=workspace)

    assert again.pk == first.pk
    assert calls() == before + 1


def test_a_check_that_waits_takes_on_what_is_asked_of_it_besides(workspace: Workspace):
    first = services.check_request(workspace=workspace)
    services.check_request(workspace=workspace, is_deep=True)

    again = services.check_request(workspace=workspace, repairs=True)

    assert again.pk == first.pk
    row = fresh(first)
    assert (row.is_deep, row.repairs, row.total) == (True, True, services.REPAIR_STEPS)


def test_a_check_that_runs_is_left_as_it_began(workspace: Workspace):
    row = services.check_request(workspace=workspace)
    set_row(row, state=CheckState.RUNNING, worker=claims.worker_name())

    services.check_request(workspace=workspace, repairs=True, is_deep=True)

    assert (fresh(row).is_deep, fresh(row).repairs) == (False, False)


def test_a_check_that_somebody_has_is_not_run_twice(workspace: Workspace):
    row = services.check_request(workspace=workspace)
    set_row(row, state=CheckState.RUNNING, worker=claims.worker_name())

    tasks.check_graph(str(workspace.pk), str(row.pk))

    assert fresh(row).state == CheckState.RUNNING


def test_a_check_that_fails_does_not_look_like_one_that_found_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_given: object, **_more: object) -> None:
        raise ZeroDivisionError

    row = services.check_request(workspace=workspace)
    monkeypatch.setattr(services, "check", fail)
    with pytest.raises(ZeroDivisionError):
        tasks.check_graph(str(workspace.pk), str(row.pk))

    ended = fresh(row)
    assert ended.state == CheckState.DONE
    assert [drift["check"] for drift in ended.drifts] == ["check"]


def test_the_sweep_takes_up_what_a_dead_worker_left(workspace: Workspace):
    row = services.check_request(workspace=workspace)
    host = claims.worker_name().split(":")[0]
    old = timezone.now() - timedelta(minutes=5)
    set_row(row, state=CheckState.RUNNING, worker=f"{host}:999999:1", created_at=old)
    OrmQ.objects.all().delete()

    assert services.take_up([row.workspace_id]) == 1

    assert fresh(row).state == CheckState.WAITING
    assert calls() == 1
    assert run(row).state == CheckState.DONE


def test_the_sweep_leaves_alone_what_somebody_works_on(workspace: Workspace):
    row = services.check_request(workspace=workspace)
    set_row(row, state=CheckState.RUNNING, worker=claims.worker_name(), started_at=timezone.now())
    OrmQ.objects.all().delete()

    tasks.sweep()

    assert fresh(row).state == CheckState.RUNNING
    assert calls() == 0


def test_every_workspace_is_looked_at_by_night(workspace: Workspace):
    other = rows.make_workspace("Orran")

    tasks.check_all()

    for one in (workspace, other):
        with access.in_workspace(one.pk):
            [row] = ConsistencyCheck.objects.in_workspace(one)
        assert (row.is_deep, row.repairs, row.requested_by_id) == (True, False, None)


def test_the_night_is_in_the_schedule():
    migration = import_module("ingestion.migrations.0015_consistency_checks")
    with rows.as_owner():
        migration.schedule_checks(apps, connection.schema_editor())
    schedule = Schedule.objects.get(name="consistency")

    assert schedule.func == f"{tasks.check_all.__module__}.{tasks.check_all.__name__}"
    assert (schedule.schedule_type, schedule.cluster) == (Schedule.DAILY, "main")
    assert tasks.check_graph.__name__ == services.RUN_CHECK.rpartition(".")[2]


def test_a_month_of_checks_is_remembered(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "KEPT", 3)

    for _ in range(5):
        run(services.check_request(workspace=workspace))

    with access.in_workspace(workspace.pk):
        assert ConsistencyCheck.objects.in_workspace(workspace).count() == 3


# --- what a check reports -------------------------------------------------------------------------
DRIFT = services.Drift("words", "1 passage differs.", Findings(1, ("a",)), "It is indexed again.")
WAITING = services.Waiting("refresh", "1 change is waiting.", 1)


def test_sound_is_what_has_no_drift_and_settled_what_waits_for_nothing_either():
    report = partial(services.HealthReport, UUID(int=1))

    assert report().is_settled
    assert report(waiting=(WAITING,)).is_sound
    assert not report(waiting=(WAITING,)).is_settled
    assert not report(drifts=(DRIFT,)).is_sound
    assert report(seconds=1.0) == report(seconds=2.0), "the time it took is no difference"


def test_what_a_test_prints_names_the_check_and_some_ids():
    assert str(services.HealthReport(UUID(int=1))) == "No drift was found."
    assert (
        str(services.HealthReport(UUID(int=1), drifts=(DRIFT,)))
        == "words: 1 passage differs. ['a']"
    )


def test_all_of_it_can_be_stored():
    stored = json.loads(json.dumps([DRIFT.as_json(), WAITING.as_json()]))

    assert stored[0]["samples"] == ["a"]
    assert stored[0]["count"] == 1
    assert stored[1] == {"check": "refresh", "sentence": "1 change is waiting.", "count": 1}


def test_numbers_are_written_out():
    [words] = [one for one in CHECKS if one.name == "words"]

    assert words.sentence(1).startswith("1 passage has ")
    assert words.sentence(1200).startswith("1,200 passages have ")
