"""The pages to export and import, as owner, reader and outsider."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from ingestion.exchange import importing
from ingestion.models import GraphImport
from tests import rows
from tests.api import sign_in
from tests.ingestion.exchange.files import ENTITIES, contents
from tests.ingestion.suggestions import papers
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return papers.make_cast()


def as_(user: Any) -> Client:
    client = Client()
    sign_in(client, user)
    return client


def page(cast: rows.Cast, name: str, *parts: object) -> str:
    return reverse(f"ingestion:{name}", args=[cast.workspace.slug, *parts])


def upload(cast: rows.Cast, data: str = ENTITIES) -> Any:
    file = SimpleUploadedFile("people.csv", data.encode())
    return as_(cast.alice).post(page(cast, "graph_imports"), {"file": file})


def test_a_curator_exports_and_imports_and_a_reader_only_exports(cast: rows.Cast):
    where = page(cast, "graph_transfer")

    owner, reader = (as_(one).get(where).content.decode() for one in (cast.alice, cast.bob))

    assert 'name="file"' in owner
    assert 'name="file"' not in reader
    assert "Only curators" in reader
    assert as_(cast.charlie).get(where).status_code == 404


def test_a_reader_without_the_right_is_told_so(cast: rows.Cast):
    Workspace.objects.filter(pk=cast.workspace.pk).update(viewers_export=False)
    client = as_(cast.bob)

    assert "you may not export" in client.get(page(cast, "graph_transfer")).content.decode()
    assert client.get(page(cast, "graph_export")).status_code == 403
    assert "as CSV" not in client.get(page(cast, "entity_list")).content.decode()


def test_the_list_of_entities_offers_what_it_shows_as_csv(cast: rows.Cast):
    shown = as_(cast.bob).get(page(cast, "entity_list"), {"type": "place"}).content.decode()

    assert "format=entities.csv&amp;terms=no&amp;type=place" in shown
    assert "Facts as CSV" in shown


def test_a_file_is_previewed_then_imported_then_offered_for_undo(cast: rows.Cast):
    before = contents(cast.workspace)
    response = upload(cast)
    where = response["Location"]
    preview = as_(cast.alice).get(where).content.decode()
    assert "creates 2 new entities and 0 new facts" in preview
    assert "Bo Strand" in preview
    assert contents(cast.workspace) == before

    as_(cast.alice).post(where, {"reason": "From the archive"})
    assert "Waiting for a worker" in as_(cast.alice).get(where).content.decode()
    with access.in_workspace(cast.workspace.pk):
        import_id: uuid.UUID = GraphImport.objects.in_workspace(cast.workspace).get().pk
    importing.run(cast.workspace.pk, import_id)

    done = as_(cast.alice).get(where, headers={"HX-Request": "true"}).content.decode()
    assert "2 entities and 0 facts were created." in done
    assert "Undo the import" in done
    assert "<html" not in done


def test_choices_change_the_preview(cast: rows.Cast):
    where = upload(cast, "name,type\nHestay,ship\n")["Location"]
    client = as_(cast.alice)

    assert "There is nothing to import" in client.get(where).content.decode()
    separate = client.get(where, {"conflicts": "separate"}).content.decode()
    assert "creates 1 new entity" in separate
    assert "The entity here is of the type &#x27;place&#x27;." in separate


def test_a_bad_file_or_none_leads_back_with_a_sentence(cast: rows.Cast):
    client = as_(cast.alice)
    file = SimpleUploadedFile("bad.json", b"{")

    bad = client.post(page(cast, "graph_imports"), {"file": file}, follow=True)
    none = client.post(page(cast, "graph_imports"), follow=True)

    assert "is not valid JSON" in bad.content.decode()
    assert "Choose a file" in none.content.decode()


def test_a_discarded_file_leaves_nothing(cast: rows.Cast):
    upload(cast)
    with access.in_workspace(cast.workspace.pk):
        row = GraphImport.objects.in_workspace(cast.workspace).get()

    as_(cast.alice).post(page(cast, "graph_import_discard", row.pk))

    with access.in_workspace(cast.workspace.pk):
        assert not GraphImport.objects.in_workspace(cast.workspace).exists()


def test_readers_and_outsiders_upload_nothing(cast: rows.Cast):
    file = SimpleUploadedFile("people.csv", ENTITIES.encode())

    assert as_(cast.bob).post(page(cast, "graph_imports"), {"file": file}).status_code == 403
    assert as_(cast.charlie).post(page(cast, "graph_imports"), {"file": file}).status_code == 404
