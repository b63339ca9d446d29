from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.documents import presenters, queries
from ingestion.models import Document, DocumentState
from ingestion.parsers.formats import XLS
from tests.ingestion.pages import (
    address,
    client_of,
    light,
    page_of,
    stop,
    upload,
)
from tests.rows import (
    Cast,
    make_cast,
    make_document,
)
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def media(settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


# --- the list ------------------------------------------------------------------------------------


def test_an_owner_sees_documents_and_may_drop_files(cast):
    light(cast)

    page = page_of(cast.alice, "document_list", cast)

    assert "The light" in page
    assert "Drop files anywhere" in page
    assert "every 2s" not in page


def test_a_screen_reader_hears_what_kind_of_file_it_is(cast):
    make_document(cast.workspace, "Boats", "Petrel", media_type=XLS)
    make_document(cast.workspace, "Unread", "Petrel", media_type="")

    page = page_of(cast.bob, "document_list", cast)

    assert '<span class="visually-hidden">Excel 97–2003 workbook</span>' in page
    assert '<span class="visually-hidden"></span>' not in page


def test_a_reader_sees_documents_and_why_nothing_can_be_added(cast):
    light(cast)

    page = page_of(cast.bob, "document_list", cast)

    assert "The light" in page
    assert "Drop files anywhere" not in page
    assert "You can read here" in page


@pytest.mark.parametrize("name", ["document_list", "entity_list", "community_list"])
def test_an_outsider_finds_nothing(cast, name):
    light(cast)

    response = client_of(cast.charlie).get(address(name, cast))

    assert response.status_code == 404
    assert "The light" not in response.content.decode()


def test_the_list_asks_again_only_while_something_runs(cast):
    with access.in_workspace(cast.workspace.pk):
        upload(cast)

    page = page_of(cast.alice, "document_list", cast)

    assert "every 2s" in page
    assert "Waiting" in page


def test_the_list_asks_again_for_a_document_that_becomes_ready_meanwhile(cast, monkeypatch):
    """Its row was read before, and would say forever that it is being worked on."""
    document = make_document(cast.workspace, "The light", "Skarrow Light was lit.")
    rows = Document.objects.in_workspace(cast.workspace).filter(pk=document.pk)
    with access.in_workspace(cast.workspace.pk):
        rows.update(state=DocumentState.WORKING)
    count = queries.state_counts

    def counts_a_little_later(**of: Any) -> dict[str, int]:
        rows.update(state=DocumentState.READY)
        return count(**of)

    monkeypatch.setattr(queries, "state_counts", counts_a_little_later)

    page = page_of(cast.alice, "document_list", cast)

    assert "Working" in page
    assert "every 2s" in page


def test_a_refresh_answers_with_the_list_alone(cast):
    light(cast)

    response = client_of(cast.alice).get(
        address("document_list", cast), headers={"HX-Request": "true"}
    )

    page = response.content.decode()
    assert "The light" in page
    assert "<html" not in page


def test_what_stopped_says_what_happened_what_was_kept_and_what_to_do(cast):
    with access.in_workspace(cast.workspace.pk):
        stop(cast, upload(cast))

    page = page_of(cast.alice, "document_list", cast, state="attention")

    for sentence in ("It has a password.", "The file is kept.", "Retry 1", "pdf_password"):
        assert sentence in page


# --- upload --------------------------------------------------------------------------------------


def send(user, cast: Cast, *files: SimpleUploadedFile, htmx: bool = True):
    headers = {"HX-Request": "true"} if htmx else {}
    return client_of(user).post(
        address("document_upload", cast), {"files": list(files)}, headers=headers
    )


def stored(cast: Cast) -> list[str]:
    with access.in_workspace(cast.workspace.pk):
        rows = Document.objects.in_workspace(cast.workspace)
        return sorted(rows.values_list("name", flat=True))


def test_an_owner_adds_several_files_at_once(cast):
    files = [SimpleUploadedFile(f"{n}.txt", b"text %d" % n) for n in range(3)]

    response = send(cast.alice, cast, *files, htmx=False)

    assert response.status_code == 302
    assert stored(cast) == ["0.txt", "1.txt", "2.txt"]


def test_a_reader_may_not_add_files(cast):
    response = send(cast.bob, cast, SimpleUploadedFile("a.txt", b"text"))

    assert response.status_code == 403
    assert "Ask Alice." in response.content.decode()
    assert stored(cast) == []


def test_an_outsider_may_not_add_files(cast):
    response = send(cast.charlie, cast, SimpleUploadedFile("a.txt", b"text"))

    assert response.status_code == 404
    assert stored(cast) == []


def test_a_file_that_is_there_already_is_not_an_error(cast):
    send(cast.alice, cast, SimpleUploadedFile("lease.txt", b"A lease."))

    response = send(cast.alice, cast, SimpleUploadedFile("copy.txt", b"A lease."))

    assert response.status_code == 200
    assert "Already here" in response.content.decode()
    assert stored(cast) == ["lease.txt"]


def test_a_file_that_is_too_large_is_refused_in_words(cast, settings):
    settings.MAX_UPLOAD_BYTES = 1024

    response = send(cast.alice, cast, SimpleUploadedFile("big.txt", b"x" * 2000))

    assert response.status_code == 400
    assert "exceeds this server" in response.content.decode()
    assert stored(cast) == []


def test_a_name_with_folders_and_emoji_is_only_a_label(cast):
    send(cast.alice, cast, SimpleUploadedFile("../../🔥 plan.txt", b"text"))

    assert stored(cast) == ["🔥 plan.txt"]


# --- retry ---------------------------------------------------------------------------------------


def test_an_owner_retries_what_stopped(cast):
    with access.in_workspace(cast.workspace.pk):
        document = upload(cast)
        stop(cast, document)

    response = client_of(cast.alice).post(address("documents_retry", cast))

    assert response.status_code == 302
    with access.in_workspace(cast.workspace.pk):
        document.refresh_from_db()
    assert document.state == DocumentState.QUEUED


@pytest.mark.parametrize(("who", "status"), [("bob", 403), ("charlie", 404)])
def test_nobody_else_retries(cast, who, status):
    with access.in_workspace(cast.workspace.pk):
        document = upload(cast)
        stop(cast, document)

    response = client_of(getattr(cast, who)).post(address("document_retry", cast, document.pk))

    assert response.status_code == status


def test_a_retry_of_what_did_not_stop_is_told_and_changes_nothing(cast):
    document = light(cast)

    response = client_of(cast.alice).post(address("document_retry", cast, document.pk), follow=True)

    assert "nothing to retry" in response.content.decode()


def test_an_owner_stops_the_work_on_a_document(cast):
    with access.in_workspace(cast.workspace.pk):
        document = upload(cast)

    response = client_of(cast.alice).post(
        address("document_cancel", cast, document.pk), follow=True
    )

    assert "The work on this document was stopped." in response.content.decode()


@pytest.mark.parametrize(("who", "status"), [("bob", 403), ("charlie", 404)])
def test_nobody_else_stops_it(cast, who, status):
    with access.in_workspace(cast.workspace.pk):
        document = upload(cast)

    response = client_of(getattr(cast, who)).post(address("document_cancel", cast, document.pk))

    assert response.status_code == status


def test_documents_are_found_by_name_and_pages_keep_the_filter(cast, monkeypatch):
    monkeypatch.setattr(presenters, "ROWS_PER_PAGE", 1)
    for name in ("Lease one", "Lease two", "Budget"):
        make_document(cast.workspace, name, f"{name}.")

    page = page_of(cast.bob, "document_list", cast, q="lease")

    assert "Budget" not in page
    assert "?q=lease&amp;page=2" in page
