"""What people with and without grants may read, change and correct, over the pages and the API."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from ingestion.models import Collection, Document, Entity
from kb_project.errors import ForbiddenError
from tests.ingestion.editions.conftest import Team, access_of, make_team
from tests.ingestion.once import Once, once_a_module
from workspaces import access
from workspaces.models import Capability, Role
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db


def make_closed() -> Team:
    team = make_team()
    people_services.member_add(workspace=team.workspace, user=team.bob, role=Role.CURATOR)
    team.restrict(team.court)
    team.sync()
    return team


closed_once = once_a_module(make_closed)


@pytest.fixture
def closed(closed_once: Once[Team], media: Path, fake_embedder: None) -> Team:
    """The collection is restricted, and Bob is a curator who may not see it."""
    return closed_once.for_a_test(media)


@pytest.fixture
def closed_apart(media: Path, fake_embedder: None) -> Team:
    """Of the test's own, which commits: what is hidden from a person ends with a transaction."""
    return make_closed()


@pytest.fixture
def bob(closed: Team, client: Client) -> Client:
    client.force_login(closed.bob)
    return client


def address(name: str, team: Team, *ids: object) -> str:
    return reverse(f"ingestion:{name}", args=[team.workspace.slug, *ids])


def test_the_list_and_the_pages_of_documents_leave_out_the_hidden(bob: Client, closed: Team):
    page = bob.get(address("document_list", closed)).content.decode()
    assert "Ledger" in page
    assert "Verdict" not in page
    assert "Court" not in page

    for title, status in {"Ledger": 200, "Verdict": 404}.items():
        document = closed.documents[title]
        assert bob.get(address("document_detail", closed, document.pk)).status_code == status


def test_who_sees_too_little_is_told_whom_changes_are_listed_for(
    bob: Client, closed: Team, client: Client
):
    log = closed.documents["Log"].pk
    pages = [
        bob.get(address("workspace_history", closed)),
        bob.get(address("workspace_history", closed), {"kind": "document_added"}),
        bob.get(address("document_history", closed, log)),
    ]

    for page in pages:
        assert "Changes are listed for members who may see all collections." in page.text
        assert "No changes yet" not in page.text
    client.force_login(closed.alice)
    assert "members who may see all" not in client.get(address("workspace_history", closed)).text


def test_a_hidden_document_is_neither_edited_nor_deleted(bob: Client, closed: Team):
    verdict, ledger = closed.documents["Verdict"], closed.documents["Ledger"]

    for name in ("document_trash", "document_disable", "document_delete"):
        assert bob.post(address(name, closed, verdict.pk)).status_code == 404
    assert bob.post(address("document_trash", closed, ledger.pk)).status_code == 302

    with access.in_workspace(closed.workspace.pk):
        rows = {row.title: row for row in Document.objects.in_workspace(closed.workspace)}
    assert rows["Verdict"].is_live
    assert not rows["Ledger"].is_live


def test_who_may_only_view_a_restricted_collection_does_not_change_it(closed: Team, client: Client):
    closed.grant(closed.bob, closed.court)
    client.force_login(closed.bob)
    verdict = closed.documents["Verdict"]

    assert client.get(address("document_detail", closed, verdict.pk)).status_code == 200
    assert client.post(address("document_trash", closed, verdict.pk)).status_code == 404


def test_who_may_edit_a_restricted_collection_changes_it(closed: Team, client: Client):
    closed.grant(closed.bob, closed.court, may_edit=True)
    client.force_login(closed.bob)

    verdict = closed.documents["Verdict"]
    assert client.post(address("document_trash", closed, verdict.pk)).status_code == 302


def test_correcting_entities_needs_access_to_all_documents(closed: Team):
    with pytest.raises(ForbiddenError, match="all collections"):
        access_of(closed.workspace, closed.bob, Capability.CURATE)

    closed.grant(closed.bob, closed.court)
    assert access_of(closed.workspace, closed.bob, Capability.CURATE).pk == closed.workspace.pk


@pytest.mark.django_db(transaction=True)
def test_the_name_of_a_hidden_collection_is_free(client: Client, closed_apart: Team):
    ledger = closed_apart.documents["Ledger"]
    client.force_login(closed_apart.bob)

    client.post(
        address("document_edit", closed_apart, ledger.pk),
        {"title": "Ledger", "collection": "Court", "tags": "", "dated": ""},
    )

    with access.in_workspace(closed_apart.workspace.pk):
        courts = Collection.objects.in_workspace(closed_apart.workspace).filter(name="Court")
        assert sorted(courts.values_list("is_restricted", flat=True)) == [False, True]
        ledger.refresh_from_db()
        assert not ledger.collection.is_restricted


@pytest.mark.django_db(transaction=True)
def test_what_is_hidden_ends_with_the_request(client: Client, closed_apart: Team):
    client.force_login(closed_apart.bob)

    client.post(address("document_trash", closed_apart, closed_apart.documents["Log"].pk))

    with access.in_workspace(closed_apart.workspace.pk):
        documents = Document.objects.in_workspace(closed_apart.workspace)
        titles = set(documents.values_list("title", flat=True))
    assert "Verdict" in titles


def test_the_id_of_an_edition_leads_to_the_workspace(closed: Team):
    edition = access_of(closed.workspace, closed.bob)

    assert closed.read_by(closed.alice).pk == closed.workspace.pk
    closed.workspace.slug = str(edition.pk)
    assert closed.read_by(closed.alice).pk != edition.pk


def test_members_and_models_are_the_workspaces(bob: Client, closed: Team):
    for name in ("member_list", "model_settings", "usage"):
        page = bob.get(reverse(f"workspaces:{name}", args=[closed.workspace.slug]))
        assert page.status_code == 200, name
    members = bob.get(reverse("workspaces:member_list", args=[closed.workspace.slug]))
    assert "Alice" in members.content.decode()


def test_a_curator_who_sees_too_little_is_offered_no_correction_and_told_why(
    bob: Client, closed: Team
):
    with access.in_workspace(closed.read_by(closed.bob).pk):
        entity = Entity.objects.in_workspace(closed.read_by(closed.bob)).get(name="Ada Lind")

    page = bob.get(address("entity_detail", closed, entity.pk)).content.decode()
    entities = bob.get(address("entity_list", closed)).content.decode()
    queue = bob.get(address("curation_queue", closed))

    assert f"Only curators who can see all collections of {closed.workspace.name}" in page
    assert "Ask Alice." in page
    assert address("entities_merge", closed, entity.pk) not in page
    assert "New entity" not in entities
    assert not queue.context["is_curator"]
