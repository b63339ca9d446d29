from __future__ import annotations

import uuid

import pytest

from ingestion.documents import presenters
from ingestion.documents.forms import PAGE, ReaderPosition
from ingestion.documents.queries import DocumentRow, StageStep
from ingestion.models import Document, DocumentVersion, IngestionJob
from workspaces.models import Workspace

WORKSPACE = Workspace(name="Harbour", slug="harbour")


def row(**states: str) -> DocumentRow:
    steps = tuple(StageStep(name, state, 0.5) for name, state in states.items())
    return DocumentRow(Document(), IngestionJob(), steps, 0, 0, ())


def version(text: str, **fields: object) -> DocumentVersion:
    document = Document(id=uuid.UUID(int=7), title="The light")
    return DocumentVersion(document=document, text=text, **fields)


def reading(made: DocumentVersion, place: ReaderPosition | None = None) -> presenters.ReaderPage:
    return presenters.reader_page(
        workspace=WORKSPACE, version=made, place=place or ReaderPosition(), is_panel=False
    )


def states(made: DocumentRow) -> dict[str, str]:
    return {step.label: step.state for step in presenters.shown_row(made).steps}


def test_stages_are_told_in_the_words_of_a_reader():
    made = row(parse="done", chunk="done", situate="running", embed="pending", extract="pending")

    assert states(made) == {
        "Read": "done",
        "Split": "running",
        "Linked": "pending",
        "Embedded": "pending",
    }


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_stage_that_stopped_is_told(state):
    assert states(row(parse=state, chunk="pending"))["Read"] == "failed"


def test_a_running_stage_tells_how_far_it_is():
    (step,) = presenters.shown_row(row(embed="running")).steps

    assert step.percent == 50


def test_a_text_that_begins_with_the_title_does_not_say_it_twice():
    made = version("The light\n\nIt is old.", headings=[[1, "The light", 0]])

    assert [block.kind for block in reading(made).blocks] == ["paragraph"]


def test_a_cited_title_is_shown_all_the_same():
    made = version("The light\n\nIt is old.", headings=[[1, "The light", 0]])

    assert reading(made, ReaderPosition(span=(0, 9))).blocks[0].kind == "heading"


def test_headings_skip_no_level():
    made = version("Deep\n\ndeeper", headings=[[4, "Deep", 0], [5, "deeper", 6]])

    assert [block.depth for block in reading(made).blocks] == [1, 2]


def test_a_place_is_told_by_heading_and_page():
    made = version(
        "One\n\ntwo\n\nthree",
        parser="pptx",
        headings=[[1, "One", 0]],
        pages=[[1, 0, 3], [2, 5, 15]],
    )

    assert presenters.where_of(made, 6) == "One · slide 2"
    assert presenters.where_of(made, None) == ""


def test_a_text_that_is_no_pdf_has_no_picture():
    made = version("text", parser="text", pages=[[1, 0, 4]])

    assert reading(made).picture_url == ""
    assert reading(made, ReaderPosition(view=PAGE)).picture is None


def test_a_page_beyond_the_last_is_the_last():
    made = version("one\n\ntwo", parser="pdf", pages=[[1, 0, 3], [2, 5, 8]], blob="none")

    picture = reading(made, ReaderPosition(view=PAGE, page=99)).picture

    assert picture is not None
    assert picture.number == 2
    assert picture.next_url == ""
    assert "page=1" in picture.previous_url


def test_a_heading_outside_the_stretch_leads_to_its_own_stretch():
    text = "Begin\n" + "word " * 40_000 + "\nEnd"
    made = version(text, headings=[[1, "Begin", 0], [1, "End", len(text) - 3]])

    first, last = reading(made).outline

    assert first.href == "#h-0"
    assert f"?from={len(text) - 3}#h-" in last.href
