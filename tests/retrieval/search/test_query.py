from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search.query import (
    DEEPEST_LEVEL,
    LONGEST_QUESTION,
    MOST_HITS,
    QuestionVector,
    Selection,
    TopicChoice,
    checked_top_k,
    clean_question,
)
from tests.patience import PATIENCE


@pytest.mark.parametrize("question", ["", "   \n", "?!…", "。？", "🙂 🙂", "\0", "\ud800"])
def test_a_question_without_a_word_is_refused(question):
    with pytest.raises(InputError) as refused:
        clean_question(question)

    assert refused.value.code == "question_empty"


def test_a_question_of_a_hundred_thousand_characters_is_refused_by_its_length():
    with pytest.raises(InputError) as refused:
        clean_question("why " * 25_000)

    assert refused.value.code == "question_too_long"


def test_a_question_of_the_longest_length_is_taken():
    assert len(clean_question("x" * LONGEST_QUESTION)) == LONGEST_QUESTION


def test_what_postgres_cannot_store_is_taken_out():
    assert clean_question("Who\0was \ud800Marley?") == "Who was Marley?"


@pytest.mark.parametrize("top_k", [0, -1, MOST_HITS + 1])
def test_a_number_of_passages_out_of_range_is_refused(top_k):
    with pytest.raises(InputError):
        checked_top_k(top_k)


class CountingEmbedder(FakeEmbedder):
    calls = 0

    def embed_question(self, text):
        self.calls += 1
        return super().embed_question(text)


def test_the_vector_is_made_once_and_only_when_asked_for():
    embedder = CountingEmbedder()
    vector = QuestionVector(embedder, "Who was Marley?")
    assert (embedder.calls, vector.seconds) == (0, 0.0)

    vector.make()
    literal = vector.literal

    assert embedder.calls == 1
    assert vector.seconds > 0
    assert vector.make() == 0.0
    assert literal.startswith("[")
    assert literal.count(",") == embedder.dimension - 1


class MeetingEmbedder(FakeEmbedder):
    """Embeds nothing before two questions are here."""

    def __init__(self):
        super().__init__()
        self.meeting = threading.Barrier(2)

    def embed_question(self, text):
        self.meeting.wait(PATIENCE)
        return super().embed_question(text)


def test_two_questions_are_embedded_side_by_side():
    embedder = MeetingEmbedder()
    vectors = [
        QuestionVector(embedder, question)
        for question in ("Who was Marley?", "What burns at Skarrow?")
    ]

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(QuestionVector.make, vectors))

    assert all(made)
    assert vectors[0].literal != vectors[1].literal


# --- which topics are read ------------------------------------------------------------------------
LEVELS = st.none() | st.integers(0, DEEPEST_LEVEL)


@given(LEVELS, st.sampled_from(Selection))
def test_a_choice_is_read_back_as_it_was_stored(level, selection):
    choice = TopicChoice(level, selection)

    assert TopicChoice.from_json(choice.as_json()) == choice


def test_what_was_not_chosen_is_not_stored():
    assert TopicChoice().as_json() == {}
    assert TopicChoice.from_json({"level": "", "selection": ""}) == TopicChoice()
    assert TopicChoice(level=0).as_json() == {"level": 0}


@pytest.mark.parametrize("level", [-1, 10, "deep", "1.5", "0x1", 1.5, [1]])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(InputError) as refused:
        TopicChoice.from_json({"level": level})

    assert refused.value.code == "invalid_level"


@pytest.mark.parametrize("selection", ["some", 1, ["auto"]])
def test_an_unknown_selection_is_refused(selection):
    with pytest.raises(InputError) as refused:
        TopicChoice.from_json({"selection": selection})

    assert refused.value.code == "invalid_selection"


@pytest.mark.parametrize(
    ("choice", "when_much", "when_little"),
    [
        (TopicChoice(), True, False),
        (TopicChoice(level=1), False, False),
        (TopicChoice(selection=Selection.DYNAMIC), True, True),
        (TopicChoice(1, Selection.DYNAMIC), True, True),
        (TopicChoice(selection=Selection.FIXED), False, False),
    ],
)
def test_topics_are_rated_where_that_was_chosen_or_there_are_many(choice, when_much, when_little):
    assert choice.selects(is_much=True) is when_much
    assert choice.selects(is_much=False) is when_little
