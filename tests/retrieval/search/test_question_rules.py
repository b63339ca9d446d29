"""What the rules that read a question hold to, whatever the question."""

from __future__ import annotations

import unicodedata
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import query_features
from retrieval.search.answer_kinds import Kind, kind_of
from retrieval.search.modes import DEFAULT_MODE, MODES, mode_named
from retrieval.search.query import (
    LONGEST_QUESTION,
    MOST_HITS,
    Query,
    QuestionVector,
    checked_top_k,
    clean_question,
)

TOLD = st.text(alphabet="Ada Lind keps thlig9?多少谁灯塔的", max_size=40)


# Characters that newer tables of Unicode name and Python's own do not yet are left out.
ASSIGNED = st.characters(exclude_categories=("Cn", "Cs"))


@given(st.text(ASSIGNED, max_size=200))
def test_a_cleaned_question_is_one_storable_line_or_a_refusal(text):
    if not any(unicodedata.category(one)[0] in "LN" for one in text):
        with pytest.raises(InputError, match="no word"):
            clean_question(text)
        return

    cleaned = clean_question(text)

    assert cleaned == clean_question(cleaned)
    assert cleaned.splitlines() == [cleaned]
    cleaned.encode("utf-8")
    assert "\0" not in cleaned


def test_blanks_do_not_count_towards_the_length_of_a_question():
    assert clean_question("Who" + " " * LONGEST_QUESTION + "keeps it?") == "Who keeps it?"


@given(st.integers(-5, MOST_HITS + 5))
def test_a_number_of_passages_is_kept_or_refused(top_k):
    if 1 <= top_k <= MOST_HITS:
        assert checked_top_k(top_k) == top_k
    else:
        with pytest.raises(InputError, match=str(MOST_HITS)):
            checked_top_k(top_k)


def test_making_a_vector_ahead_takes_time_once():
    vector = QuestionVector(FakeEmbedder(), "Who keeps the light?")

    first, second = vector.make(), vector.make()

    assert first >= vector.seconds > 0
    assert second == 0.0


def test_a_vector_is_written_as_the_database_reads_it():
    embedder = FakeEmbedder(dimension=4)
    vector = QuestionVector(embedder, "light")

    written = [float(value) for value in vector.literal.strip("[]").split(",")]

    assert vector.literal.startswith("[")
    assert vector.literal.endswith("]")
    assert written == embedder.embed_question("light").tolist()
    assert vector.fingerprint == embedder.fingerprint


def test_a_note_is_made_once_however_often_it_applies():
    query = Query(UUID(int=1), "Who?", 5, QuestionVector(FakeEmbedder(), "Who?"))

    for _ in range(3):
        query.note("graph_pending", "The graph is being built.")
    query.note("vectors_pending", "Vectors are being made.")

    assert [note.code for note in query.notes] == ["graph_pending", "vectors_pending"]


@given(TOLD)
def test_what_is_sought_is_read_the_same_every_time_and_names_are_terms(question):
    found = query_features.read(question)

    assert found == query_features.read(question)
    assert len(found.terms) == len(set(found.terms))
    assert found.kind in Kind
    assert found.text == question


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many keepers were there when it was lit?", Kind.NUMBER),
        ("In what year did the boat come, and who was aboard?", Kind.DATE),
        ("On which island does whoever keeps the light live?", Kind.PLACE),
        ("Somewhere a light burns", Kind.OPEN),
        ("The whole crew", Kind.OPEN),
        ("灯塔有几个看守人？", Kind.NUMBER),
        ("灯塔在哪里？", Kind.PLACE),
        ("为什么点灯？", Kind.OPEN),
    ],
)
def test_the_kind_is_of_whole_question_words_and_the_first_kind_decides(question, kind):
    assert kind_of(question) is kind


def test_only_the_mode_of_words_does_without_vectors():
    assert {name for name, mode in MODES.items() if not mode.uses_vectors} == {"lexical"}
    assert mode_named(DEFAULT_MODE).uses_vectors


def test_a_refused_mode_is_repeated_in_part_only():
    with pytest.raises(InputError) as refused:
        mode_named("x" * 5000)

    assert refused.value.code == "unknown_mode"
    assert len(refused.value.happened) < 80
