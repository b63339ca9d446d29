"""The pages of settings, exports and deletion, for owner, admin, reader and outsider."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse

from tests import rows
from tests.workspaces.pages import address, signed_in
from workspaces.models import Role, Workspace
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db

GIVEN = {"name": "Port", "slug": "port", "document_language": "de", "editors_invite": "on"}


@pytest.fixture(autouse=True)
def _root(settings, tmp_path: Path) -> None:
    settings.EXPORT_ROOT = tmp_path / "exports"


def test_an_owner_changes_the_settings():
    cast = rows.make_cast()

    response = signed_in(cast.alice).post(address("workspace_settings"), GIVEN)

    kept = Workspace.objects.get()
    assert response["Location"] == "/w/port/settings/"
    assert (kept.name, kept.slug, kept.document_language) == ("Port", "port", "de")
    assert (kept.editors_invite, kept.editors_delete, kept.viewers_export) == (True, False, False)


def test_an_address_that_is_not_free_is_refused():
    cast = rows.make_cast()
    rows.make_workspace("Port")

    page = signed_in(cast.alice).post(address("workspace_settings"), GIVEN)

    assert "is taken by another workspace" in page.content.decode()
    assert Workspace.objects.filter(slug="harbour", name="Harbour").exists()


def test_a_form_that_is_not_valid_is_shown_again():
    cast = rows.make_cast()

    page = signed_in(cast.alice).post(
        address("workspace_settings"), {**GIVEN, "slug": "no address", "name": ""}
    )

    text = page.content.decode()
    assert "This field is required" in text
    assert 'value="no address"' in text
    assert Workspace.objects.get().name == "Harbour"


def test_an_admin_sees_the_settings_without_deletion():
    cast = rows.make_cast()
    dora = rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.ADMIN)

    page = signed_in(dora).get(address("workspace_settings")).content.decode()

    assert "Prepare an export" in page
    assert "Delete workspace" not in page
    assert signed_in(dora).get(address("workspace_delete")).status_code == 403


@pytest.mark.parametrize("name", ["workspace_settings", "export_request", "workspace_delete"])
@pytest.mark.parametrize(("person", "status"), [("Bob", 403), ("Charlie", 404)])
def test_readers_and_outsiders_change_nothing(name: str, person: str, status: int):
    rows.make_cast()

    response = signed_in(rows.make_user(person)).post(address(name), {**GIVEN, "name": "Harbour"})

    assert response.status_code == status
    assert not Workspace.objects.get().is_deleted


def test_an_export_is_requested_once():
    cast = rows.make_cast()
    client = signed_in(cast.alice)

    first = client.post(address("export_request"), follow=True).content.decode()
    second = client.post(address("export_request")).content.decode()

    assert "The export is being prepared" in first
    assert "Being prepared" in first
    assert "is being prepared already" in second


def test_a_workspace_is_deleted_shown_and_restored():
    cast = rows.make_cast()
    client = signed_in(cast.alice)

    unsure = client.post(address("workspace_delete"), {"name": "Harbor"}).content.decode()
    deleted = client.post(address("workspace_delete"), {"name": "Harbour"}, follow=True)
    led = client.get(address("member_list"))
    listed = client.get("/").content.decode()
    restored = client.post(reverse("workspaces:workspace_deleted", args=["harbour"]), follow=True)

    assert "is not the name of this workspace" in unsure
    assert "Harbour was deleted" in deleted.content.decode()
    assert led["Location"] == reverse("workspaces:workspace_deleted", args=["harbour"])
    assert "Can be restored until" in listed
    assert "Harbour is open again" in restored.content.decode()


def test_a_form_of_a_deleted_workspace_says_so():
    cast = rows.make_cast()
    client = signed_in(cast.alice)
    client.post(address("workspace_delete"), {"name": "Harbour"})

    response = client.post(address("workspace_settings"), GIVEN)

    assert response.status_code == 404
    assert "Harbour was deleted." in response.content.decode()


def test_others_find_nothing_of_a_deleted_workspace():
    cast = rows.make_cast()
    signed_in(cast.alice).post(address("workspace_delete"), {"name": "Harbour"})

    for person in (cast.bob, cast.charlie):
        for name in ("member_list", "workspace_deleted"):
            page = signed_in(person).get(address(name))
            assert page.status_code == 404
            assert "Harbour" not in page.content.decode()


def test_the_page_of_a_workspace_that_was_restored_leads_to_it():
    cast = rows.make_cast()

    response = signed_in(cast.bob).get(address("workspace_deleted"))

    assert response["Location"] == "/w/harbour/"
