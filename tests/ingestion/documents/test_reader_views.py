from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.models import Document, DocumentVersion, Entity
from ingestion.parsers.formats import ODS
from tests.ingestion.pages import (
    TEXT,
    address,
    client_of,
    light,
    page_of,
)
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


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def media(settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


# --- the reader ----------------------------------------------------------------------------------


def test_the_cited_span_is_marked_and_nothing_else(cast):
    document = light(cast)
    start = TEXT.index("first lit")

    page = page_of(
        cast.bob, "document_detail", cast, document.pk, start=start, end=start + len("first lit")
    )

    assert page.count("<mark>") == 1
    assert "<mark>first lit</mark>" in page


def test_the_page_says_what_kind_of_file_it_is(cast):
    boats = make_document(cast.workspace, "Boats", TEXT, media_type=ODS)

    page = page_of(cast.bob, "document_detail", cast, boats.pk)

    assert "· OpenDocument spreadsheet ·" in page


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


def test_code_is_shown_as_it_stands(cast):
    text = "Type this:\n\nlamp --on\n    --oil=3\n\nThen wait."
    start = text.index("lamp")
    document = make_document(cast.workspace, "Typing", text)
    with access.in_workspace(cast.workspace.pk):
        DocumentVersion.objects.in_workspace(cast.workspace).filter(document=document).update(
            regions=[["code", start, text.index("\n\nThen")]]
        )

    page = page_of(cast.alice, "document_detail", cast, document.pk, start=start, end=start + 9)

    code = page[page.index('class="code"') :]
    assert "<mark>lamp --on</mark>\n    --oil=3\n" in code[: code.index("</div>")]
    assert page.count('class="code"') == 1


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
    assert "No such entity" in page_of(cast.bob, "entity_list", cast, q="zzz\0")


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


def test_the_list_of_entities_says_how_many_terms_it_leaves_out(cast):
    text = "The lamp oil burns.\n\nThe lamp oil smokes."
    make_document(cast.workspace, "Oil", text, names={"lamp oil": "concept"})
    with access.in_workspace(cast.workspace.pk):
        Entity.objects.in_workspace(cast.workspace).update(chunk_count=2)

    page = page_of(cast.bob, "entity_list", cast)
    terms = page_of(cast.bob, "entity_list", cast, type="concept")

    assert "1 term (words and phrases that recur) is not listed" in page
    assert "?type=concept" in page
    assert ">lamp oil<" not in page
    assert ">lamp oil<" in terms
    assert "not listed" not in terms
