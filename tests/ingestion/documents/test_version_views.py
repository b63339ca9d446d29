from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.ingestion.documents.conftest import Begun
from tests.ingestion.pages import address, client_of, page_of
from tests.ingestion.versioned import (
    FIRST_TEXT,
    GONE,
    KEPT,
    NEW,
    SECOND_TEXT,
    fresh,
    read,
    replaced,
)
from tests.rows import Cast
from tests.workspaces.models_rows import use_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]


def upload(cast: Cast, user, document, text: str = SECOND_TEXT, name: str = "log.md"):
    file = SimpleUploadedFile(name, text.encode())
    there = address("version_add", cast, document.pk)
    return client_of(user).post(there, {"file": file}, follow=True)


# --- a new version --------------------------------------------------------------------------------
def test_a_file_becomes_the_next_version(once: Begun):
    cast, document = once

    page = upload(cast, cast.alice, document).content.decode()

    assert "Version 2 is being read. Until it is, version 1 is searched." in page
    assert "is being read" in page_of(cast.bob, "version_progress", cast, document.pk, 2)
    read(cast.workspace, refreshes=False)
    progress = page_of(cast.bob, "version_progress", cast, document.pk, 2)
    assert "Version 2 is searched now." in progress
    assert "hx-get" not in progress
    page = page_of(cast.bob, "document_detail", cast, document.pk)
    assert "Version 2 of 2" in page
    assert "What changed" in page
    assert "Upload version" not in page


@pytest.mark.parametrize(
    ("text", "said"), [("", "is empty"), (FIRST_TEXT, "already has exactly this content")]
)
def test_what_is_no_new_version_is_refused(once: Begun, text: str, said: str):
    cast, document = once

    assert said in upload(cast, cast.alice, document, text).content.decode()
    there = address("version_add", cast, document.pk)
    page = client_of(cast.alice).post(there, follow=True).content.decode()
    assert "Choose the file" in page


def test_a_reader_may_not_add_or_restore_and_a_stranger_finds_nothing(once: Begun):
    cast, document = once
    restore = address("version_restore", cast, document.pk, 1)

    assert upload(cast, cast.bob, document).status_code == 403
    assert upload(cast, cast.charlie, document).status_code == 404
    assert client_of(cast.bob).post(restore).status_code == 403
    assert client_of(cast.charlie).post(restore).status_code == 404


def test_an_editor_sees_what_a_version_would_cost_before_adding_it(once: Begun):
    cast, document = once
    use_model(cast.workspace)
    there = address("version_estimate", cast, document.pk)

    def said(text: str, user=cast.alice, **headers: str) -> str:
        file = SimpleUploadedFile("log.md", text.encode())
        response = client_of(user).post(there, {"file": file}, follow=True, headers=headers)
        return response.content.decode()

    assert "Estimate cost" in page_of(cast.alice, "document_detail", cast, document.pk)
    assert "To read: 8 passages" in said(SECOND_TEXT, **{"HX-Request": "true"})
    assert "To read: 8 passages" in said(SECOND_TEXT)
    assert "already has exactly this content" in said(FIRST_TEXT)
    assert fresh(document).live_number == 1
    assert client_of(cast.bob).post(there).status_code == 403
    assert client_of(cast.charlie).post(there).status_code == 404


def test_an_earlier_version_is_restored(twice: Begun):
    cast, document = twice

    there = address("version_restore", cast, document.pk, 1)
    page = client_of(cast.alice).post(there, follow=True).content.decode()

    assert "Restored version 1 of" in page
    read(cast.workspace, refreshes=False)
    assert fresh(document).live_number == 1
    again = client_of(cast.alice).post(there, follow=True).content.decode()
    assert "already the current one" in again


# --- reading an earlier version -------------------------------------------------------------------
def test_a_passage_of_an_earlier_version_is_marked_there(twice: Begun):
    cast, document = twice
    start = FIRST_TEXT.index(GONE)

    page = page_of(
        cast.bob,
        "document_detail",
        cast,
        document.pk,
        start=start,
        end=start + len(GONE),
        version=1,
    )

    assert f"<mark>{GONE}</mark>" in page
    assert "This passage was in version 1 of log; version 2 replaced it." in page
    assert "Open version 2" in page


def test_what_still_stands_is_shown_where_it_stands_now(twice: Begun):
    cast, document = twice
    start, now = FIRST_TEXT.index(KEPT), SECOND_TEXT.index(KEPT)

    page = page_of(
        cast.bob,
        "document_detail",
        cast,
        document.pk,
        start=start,
        end=start + len(KEPT),
        version=1,
    )

    assert "Show it in version 2" in page
    assert f"?start={now}&amp;end={now + len(KEPT)}" in page


def test_the_live_version_needs_no_notice(twice: Begun):
    cast, document = twice

    page = page_of(cast.bob, "document_detail", cast, document.pk, version=2)

    assert "This is version" not in page
    assert NEW in page


def test_a_version_that_is_not_there_is_not_found(once: Begun):
    cast, document = once

    client = client_of(cast.alice)
    assert (
        client.get(f"{address('document_detail', cast, document.pk)}?version=9").status_code == 404
    )
    assert client.get(address("version_changes", cast, document.pk, 9)).status_code == 404


# --- what changed ---------------------------------------------------------------------------------
def test_the_page_of_changes_tells_facts_and_text(twice: Begun):
    cast, document = twice

    page = page_of(cast.bob, "version_changes", cast, document.pk, 2)

    assert "What changed in version 2" in page
    assert "Against version 1" in page
    assert "Bo Strand" in page
    assert "Cora Vane" in page
    assert "<del>" in page
    assert "<ins>" in page


def test_a_first_version_has_nothing_before_it(once: Begun):
    cast, document = once

    assert "Nothing to compare" in page_of(cast.bob, "version_changes", cast, document.pk, 1)


def test_while_it_is_read_its_facts_are_awaited(once: Begun):
    cast, document = once
    replaced(document, SECOND_TEXT)

    assert "is being read" in page_of(cast.bob, "version_changes", cast, document.pk, 2)


def test_a_stranger_sees_no_changes(once: Begun):
    cast, document = once

    response = client_of(cast.charlie).get(address("version_changes", cast, document.pk, 1))

    assert response.status_code == 404


def test_a_version_of_another_kind_of_file_is_read_as_what_it_is(once: Begun):
    cast, document = once
    there = address("version_add", cast, document.pk)
    table = SimpleUploadedFile("Keepers.csv", b"name,light\nAda Lind,Skarrow\n")

    client_of(cast.alice).post(there, {"file": table})
    read(cast.workspace, refreshes=False)

    page = page_of(cast.bob, "document_detail", cast, document.pk)
    assert "Version 2 of 2" in page
    assert "Keepers.csv" in page


def test_a_version_that_cannot_be_read_leaves_the_one_before_searched(once: Begun):
    cast, document = once
    there = address("version_add", cast, document.pk)

    client_of(cast.alice).post(there, {"file": SimpleUploadedFile("light.md", b"MZ\0\0" * 60)})
    read(cast.workspace, refreshes=False)

    page = page_of(cast.alice, "document_detail", cast, document.pk)
    assert "Version 2 was not added. Version 1 is still searched." in page
    assert "none of it can be searched" not in page
