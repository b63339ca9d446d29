from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from ingestion import record, services, shown
from ingestion.models import Document, DocumentState, DocumentVersion, IngestionJob, RunState
from tests.rows import (
    Cast,
    chunks_of,
    make_cast,
    make_document,
    make_entity,
    make_relationship,
    make_report,
)
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = (
    "Skarrow Light was built by Josiah Gault.\n\n"
    "It was first lit on 3 October 1869. <script>alert(1)</script>"
)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def media(settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(name: str, cast: Cast, *args: object) -> str:
    return reverse(f"ingestion:{name}", args=[cast.workspace.slug, *args])


def page_of(user, name: str, cast: Cast, *args: object, **query: Any) -> str:
    response = client_of(user).get(address(name, cast, *args), query)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def light(cast: Cast) -> Document:
    names = {"Skarrow Light": "FAC", "Josiah Gault": "PERSON"}
    return make_document(cast.workspace, "The light", TEXT, names=names)


def upload(cast: Cast, name: str = "lease.txt", content: bytes = b"A lease.") -> Document:
    file = SimpleUploadedFile(name, content)
    added = services.document_upload(
        workspace=cast.workspace, file=file, name=name, user=cast.alice
    )
    return added.document


def stop(cast: Cast, document: Document) -> None:
    with access.in_workspace(cast.workspace.pk):
        job = IngestionJob.objects.in_workspace(cast.workspace).get(document=document)
        problem = record.Problem(
            "pdf_password", "It has a password.", "The file is kept.", "Retry."
        )
        record.stop(job, RunState.FAILED, problem)


# --- the list ------------------------------------------------------------------------------------


def test_an_owner_sees_documents_and_may_drop_files(cast):
    light(cast)

    page = page_of(cast.alice, "document_list", cast)

    assert "The light" in page
    assert "Drop files anywhere" in page
    assert "every 2s" not in page


def test_a_reader_sees_documents_and_why_nothing_can_be_added(cast):
    light(cast)

    page = page_of(cast.bob, "document_list", cast)

    assert "The light" in page
    assert "Drop files anywhere" not in page
    assert "You may read here" in page


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
    assert "larger than" in response.content.decode()
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

    assert "has nothing to retry" in response.content.decode()


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
    monkeypatch.setattr(shown, "ROWS_PER_PAGE", 1)
    for name in ("Lease one", "Lease two", "Budget"):
        make_document(cast.workspace, name, f"{name}.")

    page = page_of(cast.bob, "document_list", cast, q="lease")

    assert "Budget" not in page
    assert "?q=lease&amp;page=2" in page


# --- the reader ----------------------------------------------------------------------------------


def test_the_cited_span_is_marked_and_nothing_else(cast):
    document = light(cast)
    start = TEXT.index("first lit")

    page = page_of(
        cast.bob, "document_detail", cast, document.pk, start=start, end=start + len("first lit")
    )

    assert page.count("<mark>") == 1
    assert "<mark>first lit</mark>" in page


def test_the_text_of_a_document_is_never_markup(cast):
    page = page_of(cast.alice, "document_detail", cast, light(cast).pk)

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


def test_the_reader_opens_beside_an_answer_without_the_frame(cast):
    document = light(cast)

    response = client_of(cast.alice).get(
        address("document_detail", cast, document.pk),
        {"start": 0, "end": 7},
        headers={"HX-Request": "true"},
    )

    page = response.content.decode()
    assert "<mark>Skarrow</mark>" in page
    assert "<html" not in page


def test_a_span_that_is_not_there_marks_nothing_and_says_so(cast):
    page = page_of(cast.alice, "document_detail", cast, light(cast).pk, start=5, end=99_999)

    assert "<mark>" not in page
    assert "nothing is marked" in page


def test_a_nonsense_place_opens_the_document(cast):
    page = page_of(cast.alice, "document_detail", cast, light(cast).pk, start="x", end="²", page=9)

    assert "Skarrow Light was built" in page


def test_the_reader_lists_what_was_found(cast):
    page = page_of(cast.alice, "document_detail", cast, light(cast).pk)

    assert "Josiah Gault" in page
    assert "Found in it" in page


def test_an_outsider_cannot_read_a_document(cast):
    response = client_of(cast.charlie).get(address("document_detail", cast, light(cast).pk))

    assert response.status_code == 404
    assert "Skarrow" not in response.content.decode()


def test_a_document_is_not_found_through_another_workspace(cast):
    document = light(cast)
    other = make_cast("Elsewhere")

    response = client_of(other.alice).get(address("document_detail", other, document.pk))

    assert response.status_code == 404


# --- pages of a PDF ------------------------------------------------------------------------------


def a_pdf(cast: Cast) -> Document:
    """A document of two pages, read, with its file in place."""
    document = make_document(cast.workspace, "Survey", "First page.\n\nSecond page.")
    with access.in_workspace(cast.workspace.pk):
        version = DocumentVersion.objects.in_workspace(cast.workspace).get(document=document)
        version.parser, version.pages = "pdf", [[1, 0, 11], [2, 13, 25]]
        version.blob = "survey"
        version.save()
    return document


def draw_pdf(path: Path) -> None:
    from pypdfium2 import PdfDocument  # noqa: PLC0415  # only these tests need it

    pdf = PdfDocument.new()
    for _ in range(2):
        pdf.new_page(300, 400)
    pdf.save(path)


def test_a_page_of_a_pdf_is_a_picture(cast, tmp_path):
    document = a_pdf(cast)
    draw_pdf(tmp_path / "survey")

    response = client_of(cast.bob).get(address("page_picture", cast, document.pk, 2))

    assert response.status_code == 200
    assert response["Content-Type"] == "image/png"
    assert response.content.startswith(b"\x89PNG")
    assert (tmp_path / "survey.pages" / "2.png").exists()


def test_a_page_that_is_not_there_is_not_found(cast, tmp_path):
    document = a_pdf(cast)
    draw_pdf(tmp_path / "survey")

    assert client_of(cast.bob).get(address("page_picture", cast, document.pk, 9)).status_code == 404


def test_an_outsider_gets_no_picture(cast):
    document = a_pdf(cast)

    response = client_of(cast.charlie).get(address("page_picture", cast, document.pk, 1))

    assert response.status_code == 404


def test_the_page_view_opens_at_the_cited_page(cast, tmp_path):
    document = a_pdf(cast)
    draw_pdf(tmp_path / "survey")

    page = page_of(cast.alice, "document_detail", cast, document.pk, start=13, end=19, view="page")

    assert "Page 2 of 2" in page
    assert f"{document.pk}/pages/2.png" in page


# --- entities and topics -------------------------------------------------------------------------


def test_an_entity_shows_its_facts_with_their_sources(cast):
    document = light(cast)
    chunk = chunks_of(document)[0]
    gault = make_entity(cast.workspace, "Josiah Gault", "PERSON", aliases=["J. Gault"])
    tower = make_entity(cast.workspace, "Skarrow Light", "FAC")
    make_relationship(gault, tower, chunk, "built")

    page = page_of(cast.bob, "entity_detail", cast, gault.pk)

    assert "J. Gault" in page
    assert "built" in page
    assert f"{address('document_detail', cast, document.pk)}?start={chunk.start}" in page


def test_entities_are_found_by_name_and_by_type(cast):
    light(cast)

    assert "Skarrow Light" not in page_of(cast.bob, "entity_list", cast, q="gault")
    assert "Josiah Gault" not in page_of(cast.bob, "entity_list", cast, type="FAC")
    assert "No entity by that name" in page_of(cast.bob, "entity_list", cast, q="zzz\0")


def test_an_outsider_cannot_see_an_entity(cast):
    entity = make_entity(cast.workspace, "Josiah Gault")

    response = client_of(cast.charlie).get(address("entity_detail", cast, entity.pk))

    assert response.status_code == 404


def test_a_topic_shows_its_report_and_where_each_finding_stands(cast):
    document = light(cast)
    gault = make_entity(cast.workspace, "Josiah Gault")
    report = make_report(cast.workspace, "The keepers", [gault], chunks_of(document))

    page = page_of(cast.bob, "community_detail", cast, report.community_id)

    assert "The keepers" in page
    assert "Josiah Gault" in page
    assert f"{address('document_detail', cast, document.pk)}?start=0" in page


def test_topics_are_listed_and_an_outsider_cannot_open_one(cast):
    document = light(cast)
    report = make_report(cast.workspace, "The keepers", [], chunks_of(document))

    assert "The keepers" in page_of(cast.alice, "community_list", cast)
    response = client_of(cast.charlie).get(address("community_detail", cast, report.community_id))
    assert response.status_code == 404


def test_an_empty_workspace_says_what_to_do(cast):
    assert "No documents yet" in page_of(cast.alice, "document_list", cast)
    assert "No entities yet" in page_of(cast.alice, "entity_list", cast)
    assert "No topics yet" in page_of(cast.alice, "community_list", cast)
