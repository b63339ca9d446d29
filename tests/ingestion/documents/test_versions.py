from __future__ import annotations

import pytest

from ingestion.models import (
    ChunkExtraction,
    Claim,
    Document,
    DocumentState,
    Entity,
    Evidence,
    FindingEvidence,
    HistoryEvent,
    Mention,
    SummaryNode,
)
from tests.ingestion.documents.conftest import Begun
from tests.ingestion.versioned import (
    FIRST_TEXT,
    GONE,
    KEPT,
    LAST,
    NEW,
    SECOND_TEXT,
    CountingEmbedder,
    first_version,
    fresh,
    indexed,
    passages,
    ports_with,
    read,
    replaced,
    reverted,
    rows_of,
    version_of,
)
from tests.rows import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]


@pytest.fixture
def cast(once: Begun) -> Cast:
    return once[0]


@pytest.fixture
def document(once: Begun) -> Document:
    return once[1]


def places(document, model) -> set[str]:
    """What stands at the places of rows in the text."""
    text = version_of(document, fresh(document).live_number).text
    return {text[row.start : row.end] for row in rows_of(document, model)}


# --- what stays -----------------------------------------------------------------------------------
def test_passages_that_both_versions_have_stay_the_rows_they_are(cast: Cast, document: Document):
    before = passages(document)

    replaced(document, SECOND_TEXT, user=cast.alice)
    read(cast.workspace)

    after = passages(document)
    assert {text: after[text].pk for text in (KEPT, LAST)} == {
        text: before[text].pk for text in (KEPT, LAST)
    }
    assert (GONE in after, NEW in after) == (False, True)
    assert fresh(document).live_number == 2
    assert [chunk.ordinal for chunk in after.values()] == list(range(len(after)))
    second = version_of(document, 2)
    assert all(second.text[one.start : one.end] == one.text for one in after.values())
    assert {one.version_id for one in after.values()} == {second.pk}


def test_whatever_says_where_something_stands_moves_with_its_passage(
    cast: Cast, document: Document
):
    names = places(document, Mention)

    replaced(document, SECOND_TEXT)
    read(cast.workspace, refreshes=False)

    assert places(document, Mention) >= names - {"Bo Strand"}
    text = version_of(document, 2).text
    for row in rows_of(document, Mention):
        assert text[row.start : row.end] == row.surface
    for row in rows_of(document, Evidence):
        assert text[row.start : row.end].strip() in (KEPT, NEW, LAST)
    assert places(document, FindingEvidence) <= {*passages(document)}
    assert not rows_of(document, Claim)
    for row in rows_of(document, ChunkExtraction):
        for start, end, surface, *_ in row.payload["mentions"]:
            assert text[start:end] == surface
    spans = {str(one.pk): (one.start, one.end) for one in passages(document).values()}
    for node in rows_of(document, SummaryNode):
        # What is gone is left out wherever it is shown, until the tree is built anew.
        for one in (each for each in node.sources if each["chunk"] in spans):
            first, last = spans[one["chunk"]]
            assert first <= one["start"] < one["end"] <= last


def test_unchanged_passages_cost_no_vector(cast: Cast, document: Document):
    embedder = CountingEmbedder()

    replaced(document, SECOND_TEXT)
    read(cast.workspace, ports_with(embedder), refreshes=False)

    assert not [text for text in embedder.texts if KEPT in text or LAST in text]
    assert [text for text in embedder.texts if NEW in text]
    ids = {one.pk for one in passages(document).values()}
    assert indexed(document) == (ids, ids)


def test_whom_only_a_passage_that_went_spoke_of_is_gone(cast: Cast, document: Document):
    assert "Bo Strand" in {row.name for row in rows_of(document, Entity)}

    replaced(document, SECOND_TEXT)
    read(cast.workspace)

    names = {row.name for row in rows_of(document, Entity)}
    assert "Bo Strand" not in names
    assert {"Ada Lind", "Cora Vane"} <= names


# --- there and back -------------------------------------------------------------------------------
def test_an_earlier_version_comes_back_with_the_ids_it_had(cast: Cast, document: Document):
    before = {text: (one.pk, one.start, one.ordinal) for text, one in passages(document).items()}
    replaced(document, SECOND_TEXT)
    read(cast.workspace)

    reverted(document, 1)
    read(cast.workspace)

    after = {text: (one.pk, one.start, one.ordinal) for text, one in passages(document).items()}
    assert after == before
    assert (fresh(document).live_number, fresh(document).state) == (1, DocumentState.READY)
    assert fresh(document).size == len(FIRST_TEXT.encode())


def test_a_version_that_cannot_be_read_takes_nobodys_place(cast: Cast, document: Document):
    before = {one.pk for one in passages(document).values()}

    replaced(document, b"%PDF-1.7 nothing", name="log.pdf")
    read(cast.workspace)

    now = fresh(document)
    assert (now.live_number, now.state, now.name) == (1, DocumentState.ATTENTION, "log.md")
    assert {one.pk for one in passages(document).values()} == before


def test_the_document_follows_its_live_version(cast: Cast, document: Document):
    version = replaced(document, SECOND_TEXT, user=cast.alice, name="log2.md")
    waiting = fresh(document)
    read(cast.workspace)

    now = fresh(document)
    assert (waiting.name, waiting.live_number) == ("log.md", 1)
    assert (now.name, now.size, now.sha256) == ("log2.md", version.size, version.sha256)
    assert version_of(document, 1).name == "log.md"
    assert version_of(document, 2).added_by == cast.alice
    [event] = [one for one in rows_of(document, HistoryEvent) if "after" in one.details]
    assert (event.kind, event.details["after"]) == ("document_replaced", {"version": 2})


def test_a_sentence_more_in_a_long_text_costs_the_passages_it_stands_in(cast: Cast):
    story = " ".join(
        f"On day {number} Ada Lind rowed to the light of Skarrow and back again with oil."
        for number in range(160)
    )
    document = first_version(cast.workspace, story, "story.txt", chunking={"size": 60})
    before = {one.pk for one in passages(document).values()}

    replaced(document, story.replace("On day 9 ", "It blew all night long. On day 9 "))
    read(cast.workspace, refreshes=False)
    after = {one.pk: one for one in passages(document).values()}

    assert len(before) > 40
    assert len(set(after) - before) <= 3
    spans = version_of(document, 2).chunking["spans"]
    assert spans == [[one.start, one.end] for one in after.values()]
    reverted(document, 1)
    read(cast.workspace, refreshes=False)
    assert {one.pk for one in passages(document).values()} == before
