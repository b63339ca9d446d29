"""Two matrices of the walk, compared by what they say and not by how they are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from ingestion.health.walked import differences
from kb_project.graph.walk_index import (
    AliasRow,
    ChunkRow,
    EntityRow,
    MentionRow,
    WalkIndex,
    build,
)

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
