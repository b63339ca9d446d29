from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest

from kb_project.graph.walk import Seeds, local, names_in, ranked, seeds, walk
from kb_project.graph.walk_index import ChunkRow, WalkIndex
from tests.kb_project.graph.walks import AliasRow, EntityRow, MentionRow, build

FILM, COMPOSER, TOWN, OTHER = range(4)
KEYS = ["straw hat", "isaac schwartz", "siverskaya", "leonid", "朱元璋", "run target", "who"]


def chunk_id(number: int) -> UUID:
    return UUID(int=1000 + number)


def entity_id(key: str) -> UUID:
    return UUID(int=2000 + KEYS.index(key))


def make_index() -> WalkIndex:
    """A film, its composer, the town he died in, and a passage that has nothing to do with them."""
    mentions = [
        (FILM, "straw hat"),
        (FILM, "isaac schwartz"),
        (FILM, "leonid"),
        (COMPOSER, "isaac schwartz"),
        (COMPOSER, "siverskaya"),
        (TOWN, "siverskaya"),
        (OTHER, "朱元璋"),
        (OTHER, "run target"),
        (OTHER, "who"),
    ]
    titles = ["straw hat", "isaac schwartz", "siverskaya", "notes"]
    return build(
        chunks=[ChunkRow(chunk_id(place), title) for place, title in enumerate(titles)],
        entities=[EntityRow(entity_id(key), key, is_common=key == "run target") for key in KEYS],
        mentions=[MentionRow(chunk_id(place), entity_id(key), 1) for place, key in mentions],
        aliases=[AliasRow("schwartz", entity_id("isaac schwartz"))],
    )


INDEX = make_index()


def found(question: str) -> list[str]:
    return list(names_in(INDEX, question))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where did the composer of film The Straw Hat die?", ["Straw Hat"]),
        ("Where did Schwartz's friend live?", ["Schwartz's"]),
        ("Isaac Schwartz's town?", ["Isaac Schwartz's"]),
        ("who wrote for the straw hat", ["straw hat"]),
        ("Is a straw hat worn in Siverskaya?", ["Siverskaya"]),
        ("What does run_target do?", ["run_target"]),
        ("朱元璋的父亲是谁？", ["朱元璋"]),
        ("Who is that?", []),
        ("", []),
    ],
)
def test_known_names_are_found_in_a_question(question, names):
    assert [name.removeprefix("The ").removeprefix("the ") for name in found(question)] == names


def test_the_walk_reaches_what_shares_no_word_with_the_question():
    scores = walk(INDEX, seeds(INDEX, "Where did the composer of The Straw Hat die?"))

    order = [chunk for chunk, _ in ranked(INDEX, scores, 10)]
    assert order == [chunk_id(FILM), chunk_id(COMPOSER), chunk_id(TOWN)]


def test_without_a_name_the_walk_starts_at_the_nearest_passages():
    near = [(chunk_id(COMPOSER), 0.9), (chunk_id(OTHER), 0.7)]

    start = seeds(INDEX, "where did he live", near)

    assert not start.entities
    assert ranked(INDEX, walk(INDEX, start), 1)[0][0] == chunk_id(COMPOSER)


def test_passages_of_equal_likeness_all_count():
    start = seeds(INDEX, "", [(chunk_id(FILM), 0.8), (chunk_id(TOWN), 0.8)])

    assert set(start.chunks) == {FILM, TOWN}


def test_passages_newer_than_the_index_are_left_out():
    assert not seeds(INDEX, "", [(UUID(int=1), 0.9), (UUID(int=2), 0.8)])


def test_with_nowhere_to_start_nothing_is_found():
    scores = walk(INDEX, Seeds({}, {}))

    assert not scores.any()
    assert ranked(INDEX, scores, 5) == []
    assert not local(INDEX, Seeds({}, {}))[1].any()


def test_the_walk_never_enters_a_passage_outside_the_scope():
    scope = np.array([True, False, True, True])
    start = seeds(INDEX, "Where did the composer of The Straw Hat die?")

    scores = walk(INDEX, start, within=scope)

    assert scores[FILM] > 0
    assert scores[COMPOSER] == 0
    assert scores[TOWN] == 0  # only reached through the composer
    assert local(INDEX, start, within=scope)[1][COMPOSER] == 0


def test_local_scores_entities_and_their_passages():
    entities, chunks = local(INDEX, seeds(INDEX, "Who is Isaac Schwartz?"))

    best = INDEX.entity_ids[int(np.argmax(entities))]
    assert best == entity_id("isaac schwartz")
    assert ranked(INDEX, chunks, 1)[0][0] == chunk_id(COMPOSER)
    assert chunks[OTHER] == 0


def test_homonyms_share_the_weight_of_their_name():
    twins = [EntityRow(UUID(int=1), "guy"), EntityRow(UUID(int=2), "guy")]
    mentions = [MentionRow(chunk_id(0), UUID(int=1), 1), MentionRow(chunk_id(1), UUID(int=2), 1)]
    index = build([ChunkRow(chunk_id(0), ""), ChunkRow(chunk_id(1), "")], twins, mentions)

    start = seeds(index, "Where was Guy?")

    assert start.entities[0] == start.entities[1] == pytest.approx(float(index.salience[0]) / 2)


def test_ranking_is_repeatable_and_bounded():
    scores = np.array([0.5, 0.5, 0.0, 0.7], np.float32)

    assert ranked(INDEX, scores, 2) == [
        (chunk_id(OTHER), pytest.approx(0.7)),
        (chunk_id(FILM), 0.5),
    ]
    assert len(ranked(INDEX, scores, 10)) == 3
    assert ranked(INDEX, scores, 0) == []
