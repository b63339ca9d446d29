"""What holds of the walk and its matrices for any graph."""

from __future__ import annotations

from random import Random
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_project.graph.compact import Places
from kb_project.graph.walk import (
    FAINT,
    NEAREST,
    Seeds,
    highest,
    local,
    names_in,
    ranked,
    seeds,
    walk,
)
from kb_project.graph.walk_index import GENERIC, NAMING, ChunkRow, Floats, WalkIndex
from tests.kb_project.graph.walks import AliasRow, EntityRow, MentionRow, build

NAMES = ["ada lind", "skarrow", "olaf", "norse", "朱元璋", "straw hat"]
TITLES = ["", "ada lind", "skarrow light", "logbook", "朱元璋"]


def chunk_id(number: int) -> UUID:
    return UUID(int=1000 + number)


def entity_id(number: int) -> UUID:
    return UUID(int=2000 + number)


@st.composite
def indexes(draw: st.DrawFn, least: int = 0) -> WalkIndex:
    titles = draw(st.lists(st.sampled_from(TITLES), min_size=least, max_size=6))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=least, max_size=6))
    mentions = draw(
        st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 50)), max_size=20)
    )
    return build(
        [ChunkRow(chunk_id(place), title) for place, title in enumerate(titles)],
        [
            EntityRow(entity_id(place), name, name == "norse", name == "straw hat")
            for place, name in enumerate(names)
        ],
        [MentionRow(chunk_id(a), entity_id(b), times) for a, b, times in mentions],
        [AliasRow("keeper", entity_id(0))],
    )


ASKED = ["Who", "is", "Ada", "Lind", "Skarrow", "skarrow", "Keeper", "朱元璋的", "?", "hat"]
QUESTIONS = st.lists(st.sampled_from(ASKED), max_size=8).map(" ".join)
LIKENESSES = st.dictionaries(st.integers(0, 9), st.floats(-1, 30), max_size=10)


# --- the matrices ---------------------------------------------------------------------------------
@given(indexes())
def test_each_column_spreads_all_of_its_weight_or_has_none(index: WalkIndex):
    for matrix in (index.to_entities, index.to_chunks):
        sums = np.asarray(matrix.sum(axis=0)).ravel()
        assert np.all(np.isclose(sums, 1, atol=1e-5) | (sums == 0))
        assert (matrix.data > 0).all()


@given(indexes())
def test_both_matrices_have_the_same_edges(index: WalkIndex):
    there, back = index.to_entities.tocoo(), index.to_chunks.tocoo()

    assert set(zip(there.row, there.col, strict=True)) == set(zip(back.col, back.row, strict=True))


@given(indexes(), st.randoms())
def test_a_step_from_some_nodes_is_that_from_all_with_zeros(index: WalkIndex, chance: Random):
    chunks, of_chunks = some_of(len(index.chunk_ids), chance)
    entities, of_entities = some_of(len(index.entity_ids), chance)
    reached = np.zeros(len(index.entity_ids), np.float32)
    places, weights = index.entities_of(chunks, of_chunks[chunks])
    reached[places] = weights

    assert reached.tolist() == (index.to_entities @ of_chunks).tolist()
    back = index.chunks_of(entities, of_entities[entities])
    assert back.tolist() == (index.to_chunks @ of_entities).tolist()


def some_of(count: int, chance: Random) -> tuple[Places, Floats]:
    """Draw some positions of ``count``, in any order, and the weights of all: 0 of the others."""
    places = np.array(chance.sample(range(count), chance.randint(0, count)), np.int64)
    weights = np.zeros(count, np.float32)
    weights[places] = [chance.random() for _ in places]
    return places, weights


@given(indexes())
def test_any_index_comes_back_from_its_bytes_as_it_was(index: WalkIndex):
    stored = WalkIndex.from_bytes(index.to_bytes())

    assert stored.chunk_ids == index.chunk_ids
    assert stored.entity_ids == index.entity_ids
    assert stored.entities_by_key == index.entities_by_key
    assert stored.keys_by_word == index.keys_by_word
    assert stored.words_of_keys.tolist() == index.words_of_keys.tolist()
    assert stored.salience.tobytes() == index.salience.tobytes()
    assert stored.is_common.tolist() == index.is_common.tolist()
    for name in ("to_entities", "to_chunks"):
        one, other = getattr(stored, name), getattr(index, name)
        assert one.shape == other.shape
        assert (one.toarray() == other.toarray()).all()


@given(indexes())
def test_storing_twice_writes_the_same_matrices(index: WalkIndex):
    once = WalkIndex.from_bytes(index.to_bytes())
    twice = WalkIndex.from_bytes(once.to_bytes())

    assert (once.to_chunks.toarray() == twice.to_chunks.toarray()).all()
    assert once.entities_by_key == twice.entities_by_key


@given(indexes())
def test_every_key_leads_to_entities_that_exist(index: WalkIndex):
    assert all(
        0 <= entity < len(index.entity_ids)
        for entities in index.entities_by_key.values()
        for entity in entities
    )
    assert (index.salience >= 0).all()
    assert len(index.salience) == len(index.is_common) == len(index.entity_ids)


def test_a_rare_entity_is_worth_more_than_one_that_is_everywhere():
    chunks = [ChunkRow(chunk_id(place), "") for place in range(4)]
    entities = [EntityRow(entity_id(0), "rare"), EntityRow(entity_id(1), "common")]
    mentions = [MentionRow(chunk_id(0), entity_id(0), 1)]
    mentions += [MentionRow(chunk_id(place), entity_id(1), 1) for place in range(4)]

    index = build(chunks, entities, mentions)

    assert index.salience[0] == pytest.approx(np.log1p(4))
    assert index.salience[1] == pytest.approx(np.log1p(1))


def test_the_document_a_name_stands_over_draws_twenty_times_as_much():
    chunks = [ChunkRow(chunk_id(0), "olaf"), ChunkRow(chunk_id(1), "")]
    mentions = [MentionRow(chunk_id(1), entity_id(0), 1)]

    index = build(chunks, [EntityRow(entity_id(0), "olaf")], mentions)

    named, mentioned = index.to_chunks.toarray()[:, 0]
    assert named / mentioned == pytest.approx(NAMING)
    assert index.to_entities.toarray().tolist() == [[1, 1]]


def test_more_mentions_weigh_more_but_by_their_logarithm():
    chunks = [ChunkRow(chunk_id(0), ""), ChunkRow(chunk_id(1), "")]
    entities = [EntityRow(entity_id(0), "olaf")]
    mentions = [MentionRow(chunk_id(0), entity_id(0), 10), MentionRow(chunk_id(1), entity_id(0), 1)]

    often, once = build(chunks, entities, mentions).to_chunks.toarray()[:, 0]

    assert often / once == pytest.approx(1 + np.log(10), rel=1e-4)


def test_mentions_of_one_entity_in_one_chunk_are_added_up():
    chunks, entities = [ChunkRow(chunk_id(0), "")], [EntityRow(entity_id(0), "olaf")]
    split = [MentionRow(chunk_id(0), entity_id(0), 2), MentionRow(chunk_id(0), entity_id(0), 3)]

    index = build(chunks, entities, split)

    assert index.to_chunks.nnz == 1
    assert index.salience[0] == pytest.approx(np.log1p(1))


def test_a_nationality_counts_for_a_fifth():
    chunks = [ChunkRow(chunk_id(0), "")]
    entities = [EntityRow(entity_id(0), "norse", is_generic=True), EntityRow(entity_id(1), "olaf")]
    mentions = [MentionRow(chunk_id(0), entity_id(place), 1) for place in (0, 1)]

    generic, named = build(chunks, entities, mentions).to_entities.toarray()[:, 0]

    assert generic / named == pytest.approx(GENERIC)


# --- names and seeds ------------------------------------------------------------------------------
@given(indexes(), QUESTIONS)
def test_seeds_come_from_known_names_only(index: WalkIndex, question: str):
    start = seeds(index, question)
    known = {entity for found in index.entities_by_key.values() for entity in found}

    assert set(start.entities) <= known
    assert set(start.entities) == {entity for found in start.names.values() for entity in found}
    assert all(weight >= 0 for weight in start.entities.values())
    assert not start.chunks


@given(indexes(), QUESTIONS)
def test_a_name_that_is_found_stands_in_the_question(index: WalkIndex, question: str):
    assert all(name in question for name in names_in(index, question))


@given(indexes(), st.text(max_size=60))
def test_any_text_can_be_asked(index: WalkIndex, question: str):
    assert set(names_in(index, question).keys()) == set(seeds(index, question).names)


@given(indexes(least=1), LIKENESSES)
def test_nearest_passages_count_faintly(index: WalkIndex, near: dict[int, float]):
    ordered = sorted(near.items(), key=lambda pair: -pair[1])

    start = seeds(index, "", [(chunk_id(number), likeness) for number, likeness in ordered])

    assert all(0 < weight <= FAINT * 1.0001 for weight in start.chunks.values())
    assert set(start.chunks) <= near.keys() & set(range(len(index.chunk_ids)))


def test_only_the_first_passages_of_a_long_list_count():
    chunks = [ChunkRow(chunk_id(place), "") for place in range(NEAREST + 5)]
    near = [(chunk_id(place), 1 - place / 100) for place in range(NEAREST + 5)]

    start = seeds(build(chunks, [], []), "", near)

    assert set(start.chunks) == set(range(NEAREST))
    assert start.chunks[0] == pytest.approx(FAINT)
    assert list(start.chunks.values()) == sorted(start.chunks.values(), reverse=True)


def test_seeds_without_anything_are_false():
    assert not Seeds({}, {})
    assert Seeds({0: 1.0}, {})
    assert Seeds({}, {0: 1.0})


# --- scores ---------------------------------------------------------------------------------------
@given(indexes(), QUESTIONS, st.floats(0.05, 0.95))
def test_scores_are_finite_and_never_negative(index: WalkIndex, question: str, walk_on: float):
    near = [(chunk, 1.0 / (place + 1)) for place, chunk in enumerate(index.chunk_ids)]
    start = seeds(index, question, near)

    for scores in (walk(index, start, walk_on=walk_on), *local(index, start)):
        assert np.isfinite(scores).all()
        assert (scores >= 0).all()
    assert walk(index, start, walk_on=walk_on).sum() <= 1.001


@given(indexes(least=1), QUESTIONS, st.data())
def test_nothing_outside_the_scope_ever_scores(
    index: WalkIndex, question: str, data: st.DataObject
):
    size = len(index.chunk_ids)
    scope = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    start = seeds(index, question, [(chunk, 0.5) for chunk in index.chunk_ids])

    assert not walk(index, start, within=scope)[~scope].any()
    assert not local(index, start, within=scope)[1][~scope].any()


@given(indexes(least=1), QUESTIONS)
def test_a_scope_of_everything_is_no_scope(index: WalkIndex, question: str):
    start = seeds(index, question)
    everything = np.ones(len(index.chunk_ids), bool)

    assert np.array_equal(walk(index, start), walk(index, start, within=everything))


@given(indexes(), QUESTIONS)
def test_walking_twice_ends_in_the_same_place(index: WalkIndex, question: str):
    start = seeds(index, question)

    assert np.array_equal(walk(index, start), walk(index, start))


@given(indexes(least=1), QUESTIONS, st.floats(1.5, 50))
def test_only_the_proportions_of_the_seeds_matter(index: WalkIndex, question: str, factor: float):
    start = seeds(index, question)
    louder = Seeds({place: weight * factor for place, weight in start.entities.items()}, {})

    assert np.allclose(walk(index, start), walk(index, louder), atol=1e-5)


@given(indexes(least=1), QUESTIONS, st.integers(0, 9))
def test_ranking_gives_the_best_in_order_and_no_zeros(index: WalkIndex, question: str, count: int):
    scores = walk(index, seeds(index, question))

    best = ranked(index, scores, count)

    values = [score for _, score in best]
    assert values == sorted(values, reverse=True)
    assert len(best) == min(count, int((scores > 1e-9).sum()))
    assert all(scores[index.chunk_ids.place(chunk)] == score for chunk, score in best)


@given(st.lists(st.sampled_from([0.0, -1.0, 0.25, 0.5, 2.0]), max_size=30), st.integers(0, 12))
def test_the_highest_are_those_that_sorting_all_would_put_first(scores, count):
    sorted_ = np.argsort(-np.array(scores, np.float32), kind="stable").tolist()

    found = highest(np.array(scores, np.float32), count, above=0.0)

    assert found == [place for place in sorted_ if scores[place] > 0][:count]
