from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from ingestion.models import Document
from kb_project.errors import ForbiddenError, NotFoundError
from kb_project.sql import run_sql
from tests import rows
from workspaces import access, sql
from workspaces.models import Capability, Membership, Role, Workspace
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db

Gate = Callable[..., Workspace]
GATES: dict[Capability, Gate] = {
    Capability.READ: access.workspace_for_reading,
    Capability.EDIT: access.workspace_for_writing,
    Capability.CURATE: access.workspace_for_curating,
    Capability.ADMINISTER: access.workspace_for_administering,
}


def scope() -> tuple[str, str]:
    [(workspace_id, user_id, hidden)] = run_sql(sql.READ_SCOPE)
    assert hidden == ""
    return workspace_id, user_id


# --- the gate -------------------------------------------------------------------------------------
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("capability", list(GATES))
def test_a_role_passes_the_gates_of_its_capabilities(role: Role, capability: Capability):
    cast = rows.make_cast()
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=role)
    gate = GATES[capability]

    if capability.value in role.capabilities:
        assert gate(user=cast.bob, workspace_id=cast.workspace.pk) == cast.workspace
    else:
        with pytest.raises(ForbiddenError):
            gate(user=cast.bob, workspace_id=cast.workspace.pk)


@pytest.mark.parametrize("gate", GATES.values())
def test_a_stranger_passes_no_gate(gate: Gate):
    cast = rows.make_cast()

    with pytest.raises(NotFoundError):
        gate(user=cast.charlie, workspace_id=cast.workspace.pk)


@pytest.mark.parametrize("gate", GATES.values())
def test_nobody_passes_no_gate(gate: Gate):
    cast = rows.make_cast()

    with pytest.raises(NotFoundError):
        gate(user=AnonymousUser(), workspace_id=cast.workspace.pk)


def test_a_workspace_is_found_by_id_as_text_as_id_and_by_slug():
    cast = rows.make_cast()

    found = {
        access.workspace_for_reading(user=cast.bob, workspace_id=name).pk
        for name in (cast.workspace.pk, str(cast.workspace.pk), cast.workspace.slug)
    }

    assert found == {cast.workspace.pk}


@pytest.mark.parametrize("name", ["nowhere", "00000000-0000-4000-8000-000000000000", ""])
def test_a_workspace_that_is_not_there_is_not_found(name: str):
    with pytest.raises(NotFoundError, match="no such workspace, or you are not a member"):
        access.workspace_for_reading(user=rows.make_user("Alice"), workspace_id=name)


def test_who_lacks_a_right_learns_what_they_are_and_whom_to_ask():
    cast = rows.make_cast()

    with pytest.raises(ForbiddenError) as refused:
        access.workspace_for_writing(user=cast.bob, workspace_id=cast.workspace.pk)

    assert refused.value.happened == (
        "In Harbour you are a viewer and may not add and change documents."
    )
    assert refused.value.next_step == "Ask Alice."


def test_up_to_three_people_who_could_grant_it_are_named():
    cast = rows.make_cast()
    for name in ("Dora", "Egon", "Fay"):
        people_services.member_add(
            workspace=cast.workspace, user=rows.make_user(name), role=Role.ADMIN
        )

    with pytest.raises(ForbiddenError) as refused:
        access.workspace_for_writing(user=cast.bob, workspace_id=cast.workspace.pk)

    assert refused.value.next_step.count(" or ") == 2


def test_the_workspace_comes_with_the_persons_membership():
    cast = rows.make_cast()

    workspace = access.workspace_for_reading(user=cast.bob, workspace_id="harbour")

    assert workspace.membership is not None
    assert workspace.membership.role == Role.VIEWER


def test_passing_the_gate_opens_the_workspaces_rows():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Oil.")

    access.workspace_for_reading(user=cast.bob, workspace_id="harbour")

    assert Document.objects.in_workspace(cast.workspace).count() == 1
    assert scope() == (str(cast.workspace.pk), "")


def test_beyond_the_gate_no_membership_of_another_workspace_is_seen():
    cast = rows.make_cast()
    people_services.member_add(
        workspace=rows.make_workspace("Elsewhere"), user=cast.bob, role=Role.VIEWER
    )

    access.workspace_for_reading(user=cast.bob, workspace_id="harbour")

    seen = set(Membership.objects.values_list("workspace_id", flat=True))
    assert seen == {cast.workspace.pk}


def test_being_turned_away_opens_nothing():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Oil.")

    with pytest.raises(NotFoundError):
        access.workspace_for_reading(user=cast.charlie, workspace_id="harbour")

    assert scope()[0] == ""
    assert not Document.objects.in_workspace(cast.workspace).exists()


# --- scopes ---------------------------------------------------------------------------------------
def test_a_scope_ends_with_its_block():
    workspace = rows.make_workspace()

    with access.in_workspace(workspace.pk):
        assert scope() == (str(workspace.pk), "")

    assert scope() == ("", "")


def test_a_scope_inside_another_puts_that_back():
    mine, theirs = rows.make_workspace("Mine"), rows.make_workspace("Theirs")

    with access.in_workspace(mine.pk):
        with access.in_workspace(theirs.pk):
            inside = scope()
        after = scope()

    assert inside == (str(theirs.pk), "")
    assert after == (str(mine.pk), "")


def test_a_block_for_the_same_workspace_is_no_transaction_of_its_own():
    workspace = rows.make_workspace()

    with access.in_workspace(workspace.pk):
        depth = len(transaction.get_connection().savepoint_ids)
        with access.in_workspace(workspace.pk):
            assert len(transaction.get_connection().savepoint_ids) == depth


def test_an_error_in_a_block_takes_its_rows_along():
    workspace = rows.make_workspace()

    with pytest.raises(ZeroDivisionError):
        add_and_fail(workspace)

    with access.in_workspace(workspace.pk):
        assert not Document.objects.in_workspace(workspace).exists()


def add_and_fail(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        Document.objects.create(workspace=workspace, title="x", name="x", size=1, sha256="x")
        raise ZeroDivisionError


def test_a_persons_scope_keeps_the_workspace_it_is_opened_in():
    workspace, bob = rows.make_workspace(), rows.make_user("Bob")

    with access.in_workspace(workspace.pk):
        with access.as_person(bob):
            inside = scope()
        after = scope()

    assert inside == (str(workspace.pk), str(bob.pk))
    assert after == (str(workspace.pk), "")


def settings_of(name: str) -> Any:
    [(value,)] = run_sql("SELECT current_setting(%s)", [name])
    return value


def test_work_that_can_be_repeated_does_not_wait_for_the_disk():
    workspace = rows.make_workspace()

    with access.repeatable_work(), access.in_workspace(workspace.pk):
        assert settings_of("synchronous_commit") == "off"


@pytest.mark.django_db(transaction=True)
def test_what_a_person_was_told_is_kept_waits_for_the_disk():
    workspace = rows.make_workspace()
    with access.in_workspace(workspace.pk):
        usual = settings_of("synchronous_commit")

    with access.repeatable_work(), access.in_workspace(workspace.pk):
        pass
    with access.in_workspace(workspace.pk):
        after = settings_of("synchronous_commit")

    assert after == usual


@pytest.mark.django_db(transaction=True)
def test_a_connection_carries_no_scope_to_its_next_user():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Oil.")

    with transaction.atomic():
        access.workspace_for_reading(user=cast.bob, workspace_id="harbour")
        inside = Document.objects.in_workspace(cast.workspace).count()

    assert (inside, Document.objects.in_workspace(cast.workspace).count()) == (1, 0)


# --- the transaction that is open -----------------------------------------------------------------
def test_within_is_the_transaction_of_the_gate_as_it_is():
    cast = rows.make_cast()
    access.workspace_for_reading(user=cast.alice, workspace_id=cast.workspace.pk)
    before = scope()

    with CaptureQueriesContext(connection) as asked, access.within(cast.workspace.pk):
        pass

    assert len(asked) == 1
    assert scope() == before


def test_within_another_workspace_sets_it_and_puts_the_one_before_back():
    cast, other = rows.make_cast(), rows.make_cast("Elsewhere")
    access.workspace_for_reading(user=cast.alice, workspace_id=cast.workspace.pk)
    before = scope()

    with access.within(other.workspace.pk):
        assert scope()[0] == str(other.workspace.pk)

    assert scope() == before


def test_the_gate_looks_with_two_statements_and_gives_workspace_and_membership():
    cast = rows.make_cast()
    access.workspace_for_reading(user=cast.alice, workspace_id=cast.workspace.pk)

    with CaptureQueriesContext(connection) as asked:
        found = access.workspace_for_reading(user=cast.bob, workspace_id=cast.workspace.pk)

    assert len(asked) == 2
    real = Workspace.objects.get(pk=cast.workspace.pk)
    assert {one: getattr(found, one) for one in access.WORKSPACE} == {
        one: getattr(real, one) for one in access.WORKSPACE
    }
    assert not found.get_deferred_fields()
    assert found.membership is not None
    assert not found.membership.get_deferred_fields()
    rows_of = Membership.objects.in_workspace(cast.workspace)
    kept = rows_of.get(user=cast.bob)
    for one in access.MEMBERSHIP:
        assert getattr(found.membership, one) == getattr(kept, one)
