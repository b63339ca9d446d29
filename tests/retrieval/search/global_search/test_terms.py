from __future__ import annotations

import pytest

from retrieval.search.global_search.terms import WordIndex

REPORTS = [
    ["The lamp", "A lamp shines.", "Oil burns in the lamp."],
    ["Roads", "A road is closed.", "The lamp beside it is dark."],
    ["Oil", "Oil comes by boat."],
]
EVERYTHING = {place: frozenset(range(len(parts))) for place, parts in enumerate(REPORTS)}


def test_reports_are_scored_by_their_terms_the_rarer_the_more():
    whole, _ = WordIndex(REPORTS).scores(["lamp"], EVERYTHING)

    assert whole.keys() == {0, 1}
    assert whole[0] > whole[1] > 0


def test_parts_are_scored_too():
    _, parts = WordIndex(REPORTS).scores(["oil", "lamp"], EVERYTHING)

    assert max(parts, key=lambda part: parts[part]) == (0, 2)
    assert (1, 1) not in parts


def test_what_is_not_shown_adds_nothing_not_even_to_the_statistics():
    shown = {0: frozenset({1}), 2: frozenset({0, 1})}
    alone = WordIndex([["", "A lamp shines."], ["Oil", "Oil comes by boat."]])

    whole, parts = WordIndex(REPORTS).scores(["lamp", "oil"], shown)
    same, _ = alone.scores(["lamp", "oil"], {0: frozenset({1}), 1: frozenset({0, 1})})

    assert whole[0] == pytest.approx(same[0])
    assert whole[2] == pytest.approx(same[1])
    assert (0, 2) not in parts


def test_no_reports_and_no_terms_score_nothing():
    assert WordIndex([]).scores(["lamp"], {}) == ({}, {})
    assert WordIndex(REPORTS).scores([], EVERYTHING) == ({}, {})
    assert WordIndex(REPORTS).scores(["telescope"], EVERYTHING) == ({}, {})
