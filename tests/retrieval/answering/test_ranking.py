from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from retrieval.answering import features, ranking
from retrieval.answering.choosing import outcome_of
from retrieval.answering.features import Rarity
from retrieval.models import Outcome
from tests.retrieval.answering.passages import gathered, hit

TEXT = (
    "Skarrow is a rock in the sea. Ada Lind lit the lamp of Skarrow in 1866. "
    "The quarry road is closed in winter. Bread is baked on Mondays."
)


def test_the_statement_with_the_words_and_the_kind_asked_for_comes_first():
    ranked = ranking.rank(gathered("When did Ada Lind light the lamp?", hit(TEXT))).ranked

    assert ranked[0].candidate.said == "Ada Lind lit the lamp of Skarrow in 1866."


def test_shares_are_those_of_one_whole_and_fall():
    ranked = ranking.rank(gathered("Who lit the lamp?", hit(TEXT))).ranked
    shares = [one.share for one in ranked]

    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)


def test_no_statement_gives_no_probability():
    assert ranking.rank(gathered("Who lit the lamp?")).probability == 0.0


def test_the_weights_are_of_features_there_are_and_of_the_model_inside(settings):
    kept = json.loads(ranking.FILE.read_text(encoding="utf-8"))

    for script in ("any", "zh"):
        assert set(kept[script]) == {"statement", "answered", "answered_by_words"}
        assert set(kept[script]["statement"]) <= set(features.NAMES)
    assert not {"nearest", "apart", "best_meaning"} & set(kept["any"]["answered_by_words"])


def test_a_question_whose_words_nobody_knows_is_less_probably_answered():
    known = ranking.rank(gathered("Who lit the lamp of Skarrow?", hit(TEXT))).probability
    unknown = ranking.rank(gathered("Who paired the Bluetooth headphones?", hit(TEXT))).probability

    assert unknown < known


@given(st.text(max_size=200), st.text(max_size=60))
def test_whatever_is_asked_of_whatever_text_gets_a_probability_and_an_outcome(text, question):
    told = ranking.rank(gathered(question, hit(text)))

    assert 0.0 <= told.probability <= 1.0
    assert outcome_of(told.probability) in Outcome
    assert all(one.candidate.quote for one in told.ranked)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9)), st.integers(1, 9))
def test_a_rarer_word_is_never_worth_less_and_unknown_is_a_share(frequencies, chunks):
    rarity = Rarity(frequencies, chunks)

    for one in frequencies:
        for other in frequencies:
            if frequencies[one] < frequencies[other]:
                assert rarity.of(one) >= rarity.of(other)
    assert 0.0 <= rarity.unknown(list("abcdef")) <= 1.0
