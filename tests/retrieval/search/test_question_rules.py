"""What the rules that read a question hold to, whatever the question."""

from __future__ import annotations

import unicodedata
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_project.errors import InputError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import sought, support
from retrieval.search.answer import Scored
from retrieval.search.assemble import sentences
from retrieval.search.modes import DEFAULT_MODE, MODES, mode_named
from retrieval.search.query import (
    LONGEST_QUESTION,
    MOST_HITS,
    Query,
    QuestionVector,
    checked_top_k,
    clean_question,
)
from retrieval.search.sought import Kind
from retrieval.search.weights import Weights, weigh
from tests.retrieval.search.test_assemble import hit

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
    found = sought.read(question)

    assert found == sought.read(question)
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
    assert sought.kind_of(question) is kind


@given(TOLD, st.dictionaries(st.text(max_size=6), st.integers(1, 5), max_size=4))
def test_weights_are_shares_of_the_question(question, frequencies):
    wanted = sought.read(question)
    weights = weigh(wanted, sentences([hit("Ada Lind keeps the light.")], {}), frequencies)

    assert set(weights.by_term) <= set(wanted.terms)
    assert all(weight > 0 for weight in weights.by_term.values())
    assert sum(weights.by_term.values()) == pytest.approx(1.0 if weights.by_term else 0.0)
    assert 0 <= weights.known <= 1 + 1e-9
    assert weights.of(wanted.terms) == pytest.approx(sum(weights.by_term.values()))


@given(st.floats(0, 1), st.floats(0, 1), st.none() | st.floats(-1, 1))
def test_knowing_more_never_makes_an_answer_worse_supported(known, coverage, nearness):
    (sentence,) = sentences([hit("Ada Lind keeps the light.")], {})
    chosen = [Scored(sentence, 1.0, coverage, names_kind=False)]

    less = support.judge(chosen, Weights({"light": 1.0}, known), nearness)
    more = support.judge(chosen, Weights({"light": 1.0}, min(1.0, known + 0.1)), nearness)

    assert more.is_enough or not less.is_enough
    assert (less.known, less.coverage, less.nearness) == (known, coverage, nearness)


def test_support_reports_the_best_coverage_of_what_was_chosen():
    (sentence,) = sentences([hit("Ada Lind keeps the light.")], {})
    chosen = [Scored(sentence, 1.0, share, names_kind=False) for share in (0.2, 0.9, 0.4)]

    assert support.judge(chosen, Weights({"light": 1.0}, 1.0), None).coverage == 0.9
    assert support.judge([], Weights({}, 0.0), None).coverage == 0.0


def test_only_the_mode_of_words_does_without_vectors():
    assert {name for name, mode in MODES.items() if not mode.uses_vectors} == {"lexical"}
    assert mode_named(DEFAULT_MODE).uses_vectors


def test_a_refused_mode_is_repeated_in_part_only():
    with pytest.raises(InputError) as refused:
        mode_named("x" * 5000)

    assert refused.value.code == "unknown_mode"
    assert len(refused.value.happened) < 80
