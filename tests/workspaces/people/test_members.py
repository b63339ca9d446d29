"""Who may change whom, and that an owner is always left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from django.db import connections

from ingestion.models import Document
from kb_project.errors import ConflictError, ForbiddenError, NotFoundError
from tests import rows
from tests.patience import PATIENCE
from workspaces import access
from workspaces.models import (
    AuditAction,
    AuditEvent,
    InvitationState,
    Membership,
    Role,
    User,
    Workspace,
)
from workspaces.people import inviting, members, services as people_services
from workspaces.people.inviting import Wanted

pytestmark = pytest.mark.django_db

HOST = "http://kb.example.com"


def add(workspace: Workspace, name: str, role: Role) -> User:
    person = rows.make_user(name)
    people_services.member_add(workspace=workspace, user=person, role=role)
    return person


def roles(workspace: Workspace) -> dict[str, str]:
    with access.in_workspace(workspace.pk):
        found = Membership.objects.in_workspace(workspace).select_related("user")
        return {member.user.name: member.role for member in found}


def id_of(workspace: Workspace, person: User):
    with access.in_workspace(workspace.pk):
        return Membership.objects.in_workspace(workspace).get(user=person).pk


def recorded(workspace: Workspace) -> list[tuple[str, str, str]]:
    with access.in_workspace(workspace.pk):
        found = AuditEvent.objects.in_workspace(workspace).order_by("created_at")
        return [(event.action, event.actor, event.object_name) for event in found]


# --- roles ----------------------------------------------------------------------------------------
def test_an_owner_changes_a_role_and_its_capabilities():
    cast = rows.make_cast()

    member = members.role_set(
        workspace=cast.workspace,
        user=cast.alice,
        member_id=id_of(cast.workspace, cast.bob),
        role=Role.CURATOR,
    )

    assert member.capabilities == Role.CURATOR.capabilities
    assert roles(cast.workspace) == {"Alice": "owner", "Bob": "curator"}
    assert recorded(cast.workspace)[-1] == (AuditAction.ROLE_CHANGED, "Alice", "Bob")


def test_giving_the_role_somebody_has_records_nothing():
    cast = rows.make_cast()
    before = recorded(cast.workspace)

    members.role_set(
        workspace=cast.workspace,
        user=cast.alice,
        member_id=id_of(cast.workspace, cast.bob),
        role=Role.VIEWER,
    )

    assert recorded(cast.workspace) == before


@pytest.mark.parametrize(
    ("target", "role", "says"),
    [
        ("Alice", Role.VIEWER, "Alice is an owner"),
        ("Bob", Role.OWNER, "above your own"),
        ("Dora", Role.OWNER, "above your own"),
    ],
)
def test_an_admin_reaches_nobody_and_nothing_above_admins(target: str, role: Role, says: str):
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", Role.ADMIN)
    before = roles(cast.workspace)
    member_id = id_of(cast.workspace, rows.make_user(target))

    with pytest.raises(ForbiddenError, match=says):
        members.role_set(workspace=cast.workspace, user=dora, member_id=member_id, role=role)

    assert roles(cast.workspace) == before


def test_an_admin_may_change_another_admin_and_step_down():
    cast = rows.make_cast()
    dora, egon = (add(cast.workspace, name, Role.ADMIN) for name in ("Dora", "Egon"))

    for person in (egon, dora):
        members.role_set(
            workspace=cast.workspace,
            user=dora,
            member_id=id_of(cast.workspace, person),
            role=Role.EDITOR,
        )

    assert roles(cast.workspace)["Dora"] == roles(cast.workspace)["Egon"] == "editor"


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.CURATOR])
def test_members_below_admin_change_no_one(role: Role):
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", role)

    with pytest.raises(ForbiddenError, match="Only admins and owners"):
        members.role_set(
            workspace=cast.workspace,
            user=dora,
            member_id=id_of(cast.workspace, cast.bob),
            role=Role.VIEWER,
        )


def test_rights_of_a_sign_in_that_are_fewer_than_the_role_count():
    cast = rows.make_cast()
    cast.workspace.membership = Membership(
        user=cast.alice, role=Role.OWNER, capabilities=Role.ADMIN.capabilities
    )

    with pytest.raises(ForbiddenError, match="above your own"):
        members.role_set(
            workspace=cast.workspace,
            user=cast.alice,
            member_id=id_of(cast.workspace, cast.bob),
            role=Role.OWNER,
        )


def test_a_member_of_another_workspace_is_not_there():
    cast, other = rows.make_cast(), rows.make_cast("Elsewhere")

    with pytest.raises(NotFoundError):
        members.role_set(
            workspace=cast.workspace,
            user=cast.alice,
            member_id=id_of(other.workspace, cast.bob),
            role=Role.ADMIN,
        )

    assert roles(other.workspace)["Bob"] == "viewer"


# --- the last owner -------------------------------------------------------------------------------
def attempts(cast: rows.Cast) -> dict[str, Callable[[], object]]:
    own = id_of(cast.workspace, cast.alice)
    return {
        "role": lambda: members.role_set(
            workspace=cast.workspace, user=cast.alice, member_id=own, role=Role.ADMIN
        ),
        "remove": lambda: members.member_remove(
            workspace=cast.workspace, user=cast.alice, member_id=own
        ),
        "leave": lambda: members.member_leave(workspace=cast.workspace, user=cast.alice),
        "command": lambda: members.member_remove(
            workspace=cast.workspace, user=None, member_id=own
        ),
    }


@pytest.mark.parametrize("name", ["role", "remove", "leave", "command"])
def test_the_last_owner_stays_owner(name: str):
    cast = rows.make_cast()

    with pytest.raises(ConflictError) as refused:
        attempts(cast)[name]()

    assert refused.value.code == "last_owner"
    assert roles(cast.workspace)["Alice"] == "owner"


@pytest.mark.parametrize("name", ["role", "remove", "leave", "command"])
def test_one_of_two_owners_may_go(name: str):
    cast = rows.make_cast()
    add(cast.workspace, "Dora", Role.OWNER)

    attempts(cast)[name]()

    assert roles(cast.workspace).get("Alice") in (None, "admin")
    assert roles(cast.workspace)["Dora"] == "owner"


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_leave_at_once_do_not_both_go():
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", Role.OWNER)
    meet = threading.Barrier(2)

    def leave(person: User) -> None:
        try:
            meet.wait(PATIENCE)
            with suppress(ConflictError):
                members.member_leave(workspace=cast.workspace, user=person)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=leave, args=(one,)) for one in (cast.alice, dora)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert list(roles(cast.workspace).values()).count("owner") == 1


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_demote_each_other_at_once_leave_one():
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", Role.OWNER)
    ids = {one.pk: id_of(cast.workspace, one) for one in (cast.alice, dora)}
    meet = threading.Barrier(2)

    def demote(person: User, other: User) -> None:
        try:
            meet.wait(PATIENCE)
            with suppress(ConflictError, ForbiddenError):
                members.role_set(
                    workspace=cast.workspace,
                    user=person,
                    member_id=ids[other.pk],
                    role=Role.VIEWER,
                )
        finally:
            connections.close_all()

    pairs = [(cast.alice, dora), (dora, cast.alice)]
    threads = [threading.Thread(target=demote, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert sorted(roles(cast.workspace).values()) == ["owner", "viewer", "viewer"]


# --- removal --------------------------------------------------------------------------------------
def test_a_removed_member_loses_access_and_their_work_stays():
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", Role.EDITOR)
    document = rows.make_document(cast.workspace, "Log", "Oil.")
    with access.in_workspace(cast.workspace.pk):
        Document.objects.in_workspace(cast.workspace).update(trashed_by=dora)

    members.member_remove(
        workspace=cast.workspace, user=cast.alice, member_id=id_of(cast.workspace, dora)
    )

    with pytest.raises(NotFoundError):
        access.workspace_for_reading(user=dora, workspace_id=cast.workspace.pk)
    with access.in_workspace(cast.workspace.pk):
        assert Document.objects.in_workspace(cast.workspace).get(pk=document.pk).trashed_by == dora
    assert recorded(cast.workspace)[-1] == (AuditAction.MEMBER_REMOVED, "Alice", "Dora")


def test_an_admin_cannot_remove_an_owner():
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", Role.ADMIN)

    with pytest.raises(ForbiddenError, match="Alice is an owner"):
        members.member_remove(
            workspace=cast.workspace, user=dora, member_id=id_of(cast.workspace, cast.alice)
        )


def test_leaving_is_recorded_as_leaving():
    cast = rows.make_cast()

    members.member_leave(workspace=cast.workspace, user=cast.bob)

    assert roles(cast.workspace) == {"Alice": "owner"}
    assert recorded(cast.workspace)[-1] == (AuditAction.MEMBER_LEFT, "Bob", "Bob")


def test_who_is_no_member_cannot_leave():
    cast = rows.make_cast()

    with pytest.raises(NotFoundError):
        members.member_leave(workspace=cast.workspace, user=cast.charlie)


def test_removal_voids_what_the_member_sent_and_links_they_may_know():
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", Role.ADMIN)

    def invite(user: User, wanted: Wanted) -> str:
        workspace = access.workspace_for_reading(user=user, workspace_id=cast.workspace.pk)
        made = inviting.invite(workspace=workspace, user=user, wanted=wanted, host=HOST)
        return str(made.invitation.pk)

    gone = {
        invite(dora, Wanted(Role.VIEWER, "egon@example.com")),
        invite(dora, Wanted(Role.VIEWER)),
        invite(cast.alice, Wanted(Role.VIEWER, is_reusable=True)),
    }
    kept = {
        invite(cast.alice, Wanted(Role.VIEWER)),
        invite(cast.alice, Wanted(Role.VIEWER, "fay@example.com")),
    }

    members.member_remove(
        workspace=cast.workspace, user=cast.alice, member_id=id_of(cast.workspace, dora)
    )

    with access.in_workspace(cast.workspace.pk):
        found = inviting.open_invitations(workspace=cast.workspace)
    assert {str(one.pk) for one in found} == kept
    assert gone.isdisjoint(kept)
    assert {one.state for one in found} == {InvitationState.OPEN}


# --- ownership ------------------------------------------------------------------------------------
def test_ownership_moves_and_the_former_owner_is_admin():
    cast = rows.make_cast()

    members.ownership_transfer(
        workspace=cast.workspace, user=cast.alice, member_id=id_of(cast.workspace, cast.bob)
    )

    assert roles(cast.workspace) == {"Alice": "admin", "Bob": "owner"}
    assert recorded(cast.workspace)[-1] == (AuditAction.OWNERSHIP_TRANSFERRED, "Alice", "Bob")


def test_an_admin_transfers_nothing():
    cast = rows.make_cast()
    dora = add(cast.workspace, "Dora", Role.ADMIN)

    with pytest.raises(ForbiddenError):
        members.ownership_transfer(
            workspace=cast.workspace, user=dora, member_id=id_of(cast.workspace, dora)
        )


def test_an_owner_needs_no_transfer_to_themself():
    cast = rows.make_cast()

    with pytest.raises(ConflictError, match="own this workspace already"):
        members.ownership_transfer(
            workspace=cast.workspace, user=cast.alice, member_id=id_of(cast.workspace, cast.alice)
        )
    assert roles(cast.workspace)["Alice"] == "owner"
