"""Settings of a workspace, and that each switch does what it says."""

from __future__ import annotations

import pytest

from ingestion.documents import lifecycle
from ingestion.history.recording import ChangeContext
from kb_project.errors import ConflictError, ForbiddenError, InputError, NotFoundError
from tests import rows
from workspaces import access
from workspaces.administration import services
from workspaces.models import EXPORT, AuditAction, AuditEvent, Role, User, Workspace
from workspaces.people import queries as people_queries, services as people_services

pytestmark = pytest.mark.django_db


def change(workspace: Workspace, **given: object) -> Workspace:
    return services.settings_update(workspace=workspace, user=None, **given)


def gate(user: User, name: object) -> Workspace:
    return access.workspace_for_reading(user=user, workspace_id=str(name))


# --- name and address -----------------------------------------------------------------------------
def test_links_to_the_former_address_keep_working():
    cast = rows.make_cast()

    change(cast.workspace, slug="port")

    assert {gate(cast.bob, name).slug for name in ("port", "harbour")} == {"port"}


def test_the_last_five_addresses_lead_to_a_workspace():
    cast = rows.make_cast()
    for number in range(6):
        change(cast.workspace, slug=f"port-{number}")

    assert gate(cast.bob, "port-0").slug == "port-5"
    with pytest.raises(NotFoundError):
        gate(cast.bob, "harbour")


def test_an_address_may_be_taken_back():
    cast = rows.make_cast()

    change(cast.workspace, slug="port")
    change(cast.workspace, slug="harbour")

    assert (cast.workspace.slug, cast.workspace.former_slugs) == ("harbour", ["port"])


def test_neither_an_address_in_use_nor_a_former_one_goes_to_another_workspace():
    cast, other = rows.make_cast(), rows.make_workspace("Other")
    change(cast.workspace, slug="port")

    for name in ("port", "harbour"):
        with pytest.raises(ConflictError, match="taken"):
            change(other, slug=name)

    assert Workspace.objects.get(pk=other.pk).slug == "other"
    assert gate(cast.bob, "harbour").pk == cast.workspace.pk


def test_a_command_finds_a_workspace_at_its_former_address_too():
    workspace = rows.make_workspace("Harbour")
    change(workspace, slug="port")

    found = {people_queries.workspace_at(slug=slug) for slug in ("port", "harbour")}

    assert found == {workspace}


def test_a_former_address_opens_nothing_to_a_stranger():
    cast = rows.make_cast()
    change(cast.workspace, slug="port")

    with pytest.raises(NotFoundError):
        gate(cast.charlie, "harbour")


@pytest.mark.parametrize(
    "given", [{"slug": "!!"}, {"name": " "}, {"name": "x" * 121}, {"document_language": "tlh"}]
)
def test_a_setting_that_cannot_be_changes_nothing(given: dict[str, str]):
    workspace = rows.make_workspace()

    with pytest.raises(InputError):
        change(workspace, **{"editors_invite": True, **given})

    kept = Workspace.objects.get(pk=workspace.pk)
    assert (kept.name, kept.slug, kept.editors_invite) == ("Harbour", "harbour", False)


def test_what_changed_is_recorded_with_before_and_after():
    cast = rows.make_cast()

    services.settings_update(
        workspace=cast.workspace, user=cast.alice, name="Port", editors_delete=True
    )

    with access.in_workspace(cast.workspace.pk):
        event = AuditEvent.objects.in_workspace(cast.workspace).latest("created_at")
    assert (event.action, event.actor) == (AuditAction.WORKSPACE_CHANGED, "Alice")
    assert (event.before, event.after) == ({"name": "Harbour"}, {"name": "Port"})


def test_saving_settings_as_they_are_records_nothing():
    workspace = rows.make_workspace()

    change(workspace, name="Harbour", slug="harbour", viewers_export=True)

    with access.in_workspace(workspace.pk):
        assert AuditEvent.objects.in_workspace(workspace).count() == 1


# --- what members may do --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("role", "is_on", "may"),
    [
        (Role.EDITOR, True, True),
        (Role.EDITOR, False, False),
        (Role.CURATOR, False, False),
        (Role.ADMIN, False, True),
    ],
)
def test_documents_are_deleted_for_good_by_whom_the_settings_let(
    role: Role, is_on: bool, may: bool, media: object
):
    cast = rows.make_cast()
    document = rows.make_document(cast.workspace, "Log", "Oil.")
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=role)
    change(cast.workspace, editors_delete=is_on)
    act = ChangeContext(gate(cast.bob, "harbour"), cast.bob)

    lifecycle.documents_trash(change=act, documents=[document])
    if may:
        lifecycle.documents_delete(change=act, documents=[document])
    else:
        with pytest.raises(ForbiddenError, match="delete documents for good"):
            lifecycle.documents_delete(change=act, documents=[document])


@pytest.mark.parametrize(("role", "may"), [(Role.VIEWER, False), (Role.EDITOR, True)])
def test_downloads_can_be_left_to_editors(role: Role, may: bool):
    cast = rows.make_cast()
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=role)
    before = gate(cast.bob, "harbour").may_export
    change(cast.workspace, viewers_export=False)

    assert (before, gate(cast.bob, "harbour").may_export) == (True, may)


def test_whom_to_ask_is_said():
    cast = rows.make_cast()
    change(cast.workspace, viewers_export=False)

    with pytest.raises(ForbiddenError) as refused:
        access.check_right(gate(cast.bob, "harbour"), EXPORT)

    assert refused.value.next_step == "Ask Alice."
