"""What the application may not do to rows that it may see."""

from __future__ import annotations

from typing import LiteralString
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, ProgrammingError, transaction
from django.utils import timezone
from django_q.models import Schedule

from ingestion.curation.entities import entity_edit
from ingestion.curation.undoing import event_undo
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, EventKind, HistoryEvent, HistorySubject, SubjectKind
from kb_project.sql import run_sql, run_sql_count
from tests import rows
from workspaces import access, audit
from workspaces.models import AuditAction, AuditEvent, User, Workspace

pytestmark = pytest.mark.django_db

REFUSED = "permission denied"


@pytest.fixture
def workspace() -> Workspace:
    """A workspace with an event of each kind of history; its rows are open."""
    owner = rows.make_user("Alice")
    workspace = rows.make_workspace(owner=owner)
    access.set_scope(workspace_id=workspace.pk)
    audit.record(AuditAction.WORKSPACE_CREATED, workspace=workspace, user=owner)
    event = HistoryEvent.objects.create(
        workspace=workspace, sequence=1, kind=EventKind.ENTITY_EDITED, user=owner
    )
    HistorySubject.objects.create(
        workspace=workspace, event=event, subject_id=uuid4(), kind=SubjectKind.ENTITY, sequence=1
    )
    return workspace


# --- who did what ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE workspaces_auditevent SET actor = 'Bob'",
        "DELETE FROM workspaces_auditevent",
        "UPDATE ingestion_historyevent SET user_id = NULL",
        "UPDATE ingestion_historyevent SET kind = 'undo', undone_at = now()",
        "DELETE FROM ingestion_historyevent",
        "UPDATE ingestion_historysubject SET sequence = 2",
        "DELETE FROM ingestion_historysubject",
    ],
)
def test_what_was_done_can_be_neither_changed_nor_deleted(
    workspace: Workspace, statement: LiteralString
):
    with pytest.raises(ProgrammingError, match=REFUSED):
        run_sql(statement)


def test_an_event_can_be_marked_as_undone(workspace: Workspace):
    marked = run_sql_count(
        "UPDATE ingestion_historyevent SET undone_at = now(), undone_by_id = NULL"
    )

    assert marked == 1


@pytest.mark.django_db(transaction=True)
def test_details_are_added_by_the_transaction_of_the_change_alone():
    owner = rows.make_user("Alice")
    workspace = rows.make_workspace(owner=owner)
    with access.in_workspace(workspace.pk):
        event = HistoryEvent.objects.create(workspace=workspace, sequence=1, kind=EventKind.UNDO)
        with transaction.atomic():
            event.details = {"counts": {"mentions": 2}}
            event.save(update_fields=["details"])

    with (
        pytest.raises(ProgrammingError, match="history is not rewritten"),
        access.in_workspace(workspace.pk),
    ):
        run_sql("UPDATE ingestion_historyevent SET details = '{}', undone_at = now()")


def test_a_change_is_undone_as_ever(workspace: Workspace):
    ada = Entity.objects.create(workspace=workspace, key="ada", name="Ada", type="PERSON")
    change = ChangeContext(workspace, rows.make_user("Alice"))
    event = entity_edit(change=change, entity=ada, name="Ada Lind")

    event_undo(change=change, event=event)

    event.refresh_from_db()
    assert event.undone_at is not None


def test_an_account_leaves_its_events_when_it_is_deleted(workspace: Workspace):
    carol = rows.make_user("Carol")
    audit.record(AuditAction.WORKSPACE_CREATED, workspace=workspace, user=carol)
    HistoryEvent.objects.create(
        workspace=workspace, sequence=2, kind=EventKind.ENTITY_EDITED, user=carol, undone_by=carol
    )

    with access.as_person(carol):
        carol.delete()
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")

    left = HistoryEvent.objects.in_workspace(workspace).get(sequence=2)
    assert (left.user_id, left.undone_by_id) == (None, None)
    assert AuditEvent.objects.in_workspace(workspace).filter(actor="Carol").exists()


# --- a whole workspace ----------------------------------------------------------------------------
def test_a_workspace_is_purged_with_its_history(workspace: Workspace):
    other = rows.make_workspace("Other")
    rows.make_document(workspace, "Log", "Ada Lind.", names={"Ada Lind": "PERSON"})
    rows.make_document(other, "Log", "Ada Lind.", names={"Ada Lind": "PERSON"})

    with access.in_workspace(workspace.pk):
        [(number,)] = run_sql("SELECT workspaces_purge(%s)", [workspace.pk])
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")
        left = HistoryEvent.objects.in_workspace(workspace).count()

    with access.in_workspace(other.pk):
        kept = Entity.objects.in_workspace(other).count()
    assert number > 8
    assert (left, kept) == (0, 1)
    assert list(Workspace.objects.values_list("name", flat=True)) == ["Other"]


def test_no_other_workspace_is_purged(workspace: Workspace):
    other = rows.make_workspace("Other")
    access.set_scope(workspace_id=workspace.pk)

    with pytest.raises(ProgrammingError, match="not the current workspace"):
        run_sql("SELECT workspaces_purge(%s)", [other.pk])


def test_a_workspace_does_not_go_without_its_history(workspace: Workspace):
    with pytest.raises(IntegrityError, match="foreign key"):
        delete_alone(workspace)


@transaction.atomic
def delete_alone(workspace: Workspace) -> None:
    run_sql("DELETE FROM workspaces_workspace WHERE id = %s", [workspace.pk])
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")


# --- the queue, the migrations --------------------------------------------------------------------
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO django_q_schedule (func, schedule_type, repeats) VALUES ('os.system', 'O', 1)",
        "DELETE FROM django_q_schedule",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('x', 'y', now())",
        "DELETE FROM django_migrations",
        "INSERT INTO workspaces_user_user_permissions (user_id, permission_id) VALUES (1, 1)",
    ],
)
def test_what_only_the_owner_writes_is_refused(statement: LiteralString):
    with pytest.raises(ProgrammingError, match=REFUSED):
        run_sql(statement)


@pytest.mark.parametrize("field", ["func", "args", "kwargs", "hook", "name"])
def test_what_the_queue_runs_is_not_changed(schedule: Schedule, field: str):
    setattr(schedule, field, "os.system")

    with pytest.raises(ProgrammingError, match="only migrations change"):
        schedule.save()


def test_a_worker_moves_the_next_time_on(schedule: Schedule):
    schedule.next_run, schedule.task = timezone.now(), "task"

    schedule.save()

    assert Schedule.objects.get(pk=schedule.pk).task == "task"


@pytest.fixture
def schedule() -> Schedule:
    with rows.as_owner():
        return Schedule.objects.create(name="sweep", func="ingestion.tasks.sweep")


# --- operators ------------------------------------------------------------------------------------
@pytest.mark.parametrize("field", ["is_staff", "is_superuser"])
def test_the_application_makes_no_operator(field: str):
    bob = rows.make_user("Bob")
    setattr(bob, field, True)

    with pytest.raises(ProgrammingError, match="only createsuperuser"), transaction.atomic():
        bob.save()
    with pytest.raises(ProgrammingError, match="only createsuperuser"):
        User.objects.create(email="new@example.com", **{field: True})


def test_an_operator_signs_in_and_can_be_stopped_by_the_application():
    olga = rows.make_operator()

    olga.name = "Olga Berg"
    olga.save()
    olga.is_staff = False
    olga.save()

    assert not User.objects.get(pk=olga.pk).is_staff


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_an_operator_is_created_by_the_command(monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", rows.PASSWORD)

    call_command("createsuperuser", email="olga@example.com", interactive=False, verbosity=0)

    assert User.objects.get(email="olga@example.com").is_superuser
