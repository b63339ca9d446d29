from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from retrieval.answering.marking import MOST, marked
from retrieval.search.query_features import read


def bold(said, question):
    return [said[start:end] for start, end in marked(said, read(question))]


@pytest.mark.parametrize(
    ("said", "question", "words"),
    [
        ("Hamm was released on July 24th, 1998.", "When was Hamm released?", ["July 24th, 1998"]),
        ("The lamp burns 40 litres a night.", "How much does the lamp burn?", ["40"]),
        ("In spring Ada Lind lit the lamp.", "Who lit the lamp?", ["Ada Lind"]),
        ("The oil comes by boat from Orran.", "Where does the oil come from?", ["Orran"]),
        ("灯塔建于1866年。", "灯塔是哪一年建的？", ["1866年"]),
    ],
)
def test_the_words_asked_for_are_marked(said, question, words):
    assert bold(said, question) == words


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("The lamp burns oil because it is cheap.", "Why does the lamp burn oil?"),
        ("Nobody remembers.", "When was the lamp lit?"),
        ("The clock is known to few.", "Who knows the clock?"),
        ("In 1866 the lamp was lit.", "What happened in 1866?"),
    ],
)
def test_nothing_is_marked_where_no_such_thing_is_asked_for_or_told(said, question):
    assert bold(said, question) == []


def test_what_the_question_names_itself_is_not_its_answer():
    assert bold("Ada Lind succeeded Bram Oosterling.", "Who succeeded Bram Oosterling?") == [
        "Ada Lind"
    ]


def test_of_many_the_one_nearest_to_the_words_asked_is_marked():
    said = "In 1850 the rock was bought, in 1861 the tower was built, in 1866 the lamp was lit."

    assert bold(said, "When was the lamp lit?") == ["1866"]


@given(st.text(max_size=80), st.sampled_from(["Who?", "When was it?", "How many?", "Where is it?"]))
def test_marks_are_few_and_inside_the_sentence(said, question):
    spans = marked(said, read(question))

    assert len(spans) <= MOST
    assert all(0 <= start < end <= len(said) for start, end in spans)
