from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import embedder_named
from retrieval.evaluation.entailment import (
    MOST_CLAIMS,
    claims_in,
    coverage,
    entailed,
    said_in,
    windows,
)

TEXT = (
    "Ada Lind keeps the Skarrow light. She was born in Orran in 1841. The lamp does not burn gas."
)


def is_entailed(claim: str, text: str = TEXT) -> bool:
    [[verdict]] = entailed([claim], [text], FakeEmbedder())
    return verdict


@pytest.mark.parametrize(
    "claim",
    [
        "Ada Lind keeps the Skarrow light.",
        "The Skarrow light is kept by Ada Lind.",
        "She was born in 1841.",
        "Ada Lind was born in Orran.",
        "The lamp does not burn gas.",
    ],
)
def test_what_the_text_says_is_entailed(claim):
    assert is_entailed(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "Per Holm keeps the Skarrow light.",
        "She was born in Orran in 1814.",
        "The lamp does burn gas.",
        "Ada Lind does not keep the Skarrow light.",
        "The quarry road is closed in winter.",
        "...",
    ],
)
def test_another_name_number_or_a_not_is_not_entailed(claim):
    assert not is_entailed(claim)


def test_an_empty_text_entails_nothing():
    assert not is_entailed("The lamp burns oil.", "")


def test_there_is_a_verdict_for_each_claim_and_text():
    found = entailed(
        ["The lamp burns.", "It rains."], ["The lamp burns.", "", "It rains."], FakeEmbedder()
    )

    assert found == [[True, False, False], [False, False, True]]


def test_nothing_asked_is_nothing_answered():
    assert entailed([], [TEXT], FakeEmbedder()) == []
    assert entailed(["Ada Lind."], [], FakeEmbedder()) == [[]]


def test_vectors_decide_where_words_leave_it_open():
    embedder = embedder_named("local", threads=1)
    claims = ["The boat delivers the oil each Friday.", "The boat sinks with the oil."]
    text = "The boat brings the oil every Friday."

    assert entailed(claims, [text], embedder) == [[True], [False]]


def test_claims_are_sentences_and_clauses():
    assert claims_in("  ") == []
    assert claims_in("It opened in 1890; it closed.\n\n- Nobody\n  knows.") == [
        "It opened in 1890",
        "it closed.",
        "- Nobody knows.",
    ]
    assert len(claims_in("Lamp lit. " * 100)) == MOST_CLAIMS


def test_a_name_at_the_start_counts_when_it_has_two_words():
    assert said_in("Ada Lind keeps it").names == {"ada", "lind"}
    assert said_in("Keepers sleep in Orran").names == {"orran"}


def test_thousands_are_the_same_number_with_and_without_a_comma():
    assert coverage(said_in("It weighs 4,000 kg"), said_in("It weighs 4000 kg.")) > 0


@given(st.text(max_size=200))
def test_whatever_the_text_it_covers_itself_or_says_nothing(text):
    said = said_in(text)

    assert coverage(said, said) == (1.0 if said.terms and not said.names - said.terms else 0.0)


@given(st.text(max_size=300))
def test_windows_are_stretches_of_the_text(text):
    assert all(window in text for window in windows(text))
