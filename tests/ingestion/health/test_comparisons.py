"""The walk's matrices, compared regardless of their order, and postings with their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from ingestion.health import comparisons
from ingestion.health.comparisons import differences
from ingestion.health.state import Findings, WorkspaceState, workspace_state
from ingestion.models import Chunk, Document, Posting
from ingestion.stages.situate import MOST_FREQUENT
from kb_project.graph.walk_index import ChunkRow, WalkIndex
from tests import rows
from tests.kb_project.graph.walks import AliasRow, EntityRow, MentionRow, build
from workspaces import access
from workspaces.models import Workspace

CHUNKS = [ChunkRow(UUID(int=n), title) for n, title in enumerate(("log", "", "map"), 1)]
ENTITIES = [EntityRow(UUID(int=n), key) for n, key in ((11, "ada"), (12, "bea"), (13, "log"))]
MENTIONS = [
    MentionRow(CHUNKS[0].chunk_id, ENTITIES[0].entity_id, 2),
    MentionRow(CHUNKS[1].chunk_id, ENTITIES[0].entity_id, 1),
    MentionRow(CHUNKS[1].chunk_id, ENTITIES[1].entity_id, 1),
]
ALIASES = [AliasRow("ada lind", ENTITIES[0].entity_id)]


def index(
    chunks: Sequence[ChunkRow] = CHUNKS,
    entities: Sequence[EntityRow] = ENTITIES,
    mentions: Sequence[MentionRow] = MENTIONS,
    aliases: Sequence[AliasRow] = ALIASES,
) -> WalkIndex:
    return build(chunks, entities, mentions, aliases)


def stored(made: WalkIndex) -> WalkIndex:
    return WalkIndex.from_bytes(made.to_bytes())


def test_what_was_stored_is_what_was_built():
    assert not differences(stored(index()), index())


def test_an_empty_one_is_like_another():
    assert not differences(stored(index([], [], [], [])), index([], [], [], []))


def test_another_order_is_no_difference():
    turned = index(CHUNKS[::-1], ENTITIES[::-1], MENTIONS[::-1])

    assert not differences(stored(turned), index())


@pytest.mark.parametrize(
    "other",
    [
        index(chunks=CHUNKS[:2]),
        index(entities=ENTITIES[:2]),
        index(mentions=MENTIONS[:2]),
        index(mentions=[*MENTIONS[:2], MENTIONS[2]._replace(times=9)]),
        index(aliases=[]),
        index(aliases=[AliasRow("bea lind", ENTITIES[1].entity_id)]),
        index(chunks=[CHUNKS[0], CHUNKS[1]._replace(naming_key="bea"), CHUNKS[2]]),
    ],
    ids=["passage", "entity", "mention", "number", "no name", "other name", "title"],
)
def test_whatever_one_says_and_the_other_does_not_is_a_difference(other: WalkIndex):
    assert differences(stored(other), index())
    assert differences(stored(index()), other)


def test_the_last_digits_of_a_sum_are_no_difference():
    made = index()
    moved = replace(made, to_chunks=made.to_chunks * 1.00001)

    assert not differences(moved, made)
    assert differences(replace(made, to_chunks=made.to_chunks * 1.1), made)


# --- words ----------------------------------------------------------------------------------------
@pytest.fixture
def document(db: None, fake_embedder: None) -> Document:
    workspace = rows.make_workspace()
    return rows.make_document(
        workspace, "The log", "Ada keeps the light.\n\nOlaf rows oil.\n\nIt blew."
    )


def indexed(workspace: Workspace, document: Document, *, is_deep: bool) -> WorkspaceState:
    """As if the document's words had been indexed."""
    with workspace_state(workspace.pk) as state:
        versions = tuple(document.versions.values_list("pk", flat=True))
    return replace(state, done={"situate": versions}, is_deep=is_deep)


def found(document: Document, *, most: int | None = None) -> tuple[int, set[str]]:
    workspace = document.workspace
    with access.in_workspace(workspace.pk):
        state = indexed(workspace, document, is_deep=most is None)
        found = Findings.of(comparisons.in_words(state, most=most or 0))
    return found.count, set(found.samples)


def test_words_of_the_text_and_its_place_are_as_they_must_be(document: Document):
    assert found(document) == (0, set())


def test_another_word_is_found_with_its_passage(document: Document):
    [first, *_] = rows.chunks_of(document)
    with access.in_workspace(document.workspace_id):
        postings = Posting.objects.in_workspace(document.workspace_id).filter(chunk=first)
        Posting.objects.in_workspace(document.workspace_id).filter(
            pk=postings.order_by("term")[0].pk
        ).update(term="gold")

    assert found(document) == (1, {str(first.pk)})


def test_a_text_that_was_changed_no_longer_has_its_words(document: Document):
    last = rows.chunks_of(document)[-1]
    with access.in_workspace(document.workspace_id):
        chunks = Chunk.objects.in_workspace(document.workspace_id).filter(pk=last.pk)
        chunks.update(text="It snowed.")

    assert found(document) == (1, {str(last.pk)})


def test_a_passage_that_was_never_counted_is_left_to_others(document: Document):
    last = rows.chunks_of(document)[-1]
    with access.in_workspace(document.workspace_id):
        chunks = Chunk.objects.in_workspace(document.workspace_id).filter(pk=last.pk)
        chunks.update(text="It snowed.", terms=None)

    assert found(document) == (0, set())


def test_a_few_by_chance_are_among_all(document: Document):
    with access.in_workspace(document.workspace_id):
        Chunk.objects.in_workspace(document.workspace_id).update(context="Another title")
    count, all_of_them = found(document)
    assert count == 3

    for most in (1, 2, 3, 20):
        count, some = found(document, most=most)

        assert count == min(most, 3)
        assert some <= all_of_them


def test_documents_that_are_not_indexed_yet_are_not_looked_at(document: Document):
    with access.in_workspace(document.workspace_id):
        Chunk.objects.in_workspace(document.workspace_id).update(context="Another title")
        for is_deep in (False, True):
            with workspace_state(document.workspace_id, is_deep=is_deep) as state:
                assert not comparisons.in_words(state)


@given(st.lists(st.sampled_from(["ada", "light", "oil"]), max_size=30))
def test_every_word_is_expected_as_often_as_it_stands_there(written: list[str]):
    expected = comparisons.expected_terms("", " ".join(written))

    assert expected == dict(Counter(written))


def test_a_word_is_counted_no_further_than_the_column_holds():
    assert comparisons.expected_terms("", "oil " * (MOST_FREQUENT + 5)) == {"oil": MOST_FREQUENT}


def test_words_of_the_place_count_like_those_of_the_text():
    assert comparisons.expected_terms("oil", "oil and light")["oil"] == 2
