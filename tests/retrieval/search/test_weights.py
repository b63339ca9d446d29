from __future__ import annotations

import pytest

from retrieval.search import sought
from retrieval.search.assemble import sentences
from retrieval.search.weights import weigh
from tests.retrieval.search.test_assemble import hit

PASSAGE = hit("The light burns oil. The light is old. Ada Lind keeps the light of Skarrow.")


def weights_of(question, frequencies):
    return weigh(sought.read(question), sentences([PASSAGE], {}), frequencies)


def test_weights_sum_to_one_and_rare_terms_weigh_more():
    weights = weights_of("Which oil does the light burn?", {"oil": 1, "light": 1, "burn": 1})

    assert sum(weights.by_term.values()) == pytest.approx(1.0)
    assert weights.by_term["oil"] > weights.by_term["light"]
    assert weights.known == pytest.approx(1.0)


def test_coverage_is_the_share_of_the_weight():
    weights = weights_of("Which oil does the light burn?", {"oil": 1, "light": 1, "burn": 1})

    assert weights.of({"oil", "light", "burn", "whale"}) == pytest.approx(1.0)
    assert weights.of({"oil"}) == pytest.approx(weights.by_term["oil"])
    assert weights.of(()) == 0


def test_an_unknown_name_says_more_than_an_unknown_word():
    named = weights_of("Which oil does Tesla burn?", {"oil": 1, "burn": 1})
    plain = weights_of("Which oil does anybody burn?", {"oil": 1, "burn": 1})

    assert named.known < plain.known < 1


def test_a_pair_of_characters_across_two_chinese_words_says_nothing():
    weights = weights_of("朱元璋的父亲", {"朱元": 1, "元璋": 1, "父亲": 1})

    assert set(weights.by_term) == {"朱元", "元璋", "父亲"}
    assert weights.known == pytest.approx(1.0)


def test_a_question_without_terms_weighs_nothing():
    weights = weights_of("What is it?", {})

    assert (weights.by_term, weights.known, weights.of({"light"})) == ({}, 0, 0)
