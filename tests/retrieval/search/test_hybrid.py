from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from retrieval.search.hybrid import fuse, shared_ranks
from retrieval.search.query import ScoredChunk

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def found(*chunks, why="x"):
    return [ScoredChunk(chunk, 1.0, (why,)) for chunk in chunks]


def test_a_passage_in_both_lists_beats_one_at_the_top_of_either():
    fused = fuse([found(A, C), found(B, C)])

    assert [hit.chunk_id for hit in fused] == [C, A, B]
    assert fused[0].score == pytest.approx(2 / 62)


def test_the_reasons_of_both_lists_are_kept_once():
    fused = fuse([found(A, why="words"), found(A, why="meaning"), found(A, why="words")])

    assert fused[0].why == ("words", "meaning")


def test_weights_tip_the_scale():
    assert [h.chunk_id for h in fuse([found(A), found(B)], weights=[0.35, 0.5])] == [B, A]


def test_nothing_fuses_to_nothing():
    assert fuse([]) == []
    assert fuse([[], []]) == []


@given(st.lists(st.lists(st.sampled_from([A, B, C]), unique=True), max_size=4))
def test_fusing_keeps_every_passage_once_in_a_repeatable_order(lists):
    fused = fuse([found(*chunks) for chunks in lists])

    assert {hit.chunk_id for hit in fused} == {chunk for chunks in lists for chunk in chunks}
    assert len(fused) == len({hit.chunk_id for hit in fused})
    assert [h.score for h in fused] == sorted((h.score for h in fused), reverse=True)
    assert fused == fuse([found(*chunks) for chunks in lists])


SCORES = st.lists(st.floats(0, 1).map(lambda score: round(score, 1)), max_size=8)


@given(SCORES, st.permutations(range(8)))
def test_ids_do_not_decide_where_scores_are_shared(scores: list[float], ids: list[int]):
    ranked = sorted(scores, reverse=True)
    hits = [
        ScoredChunk(UUID(int=number), score) for number, score in zip(ids, ranked, strict=False)
    ]

    ranks = [rank for rank, _ in shared_ranks(hits)]

    assert ranks == [1 + ranked.index(score) for score in ranked]
    fused = fuse([hits], ranks=shared_ranks)
    assert len({one.score for one in fused}) == len(set(scores))
