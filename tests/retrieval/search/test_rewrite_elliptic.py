from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from retrieval.search.rewrite_elliptic import completed


@pytest.mark.parametrize(
    ("question", "before", "said"),
    [
        ("Why?", "When was Skarrow Light lit?", "Why was Skarrow Light lit?"),
        ("And by whom?", "When was Skarrow Light lit?", "By whom was Skarrow Light lit?"),
        ("But why?", "Did Ada leave Voar?", "Why did Ada leave Voar?"),
        ("and when?", "Who founded the Society?", "When? (founded the Society)"),
        ("Why?", "Why did it close?", ""),
        (
            "How many are there?",
            "Which departments does the Trust have?",
            "How many departments does the Trust have?",
        ),
        (
            "how many of them are there?",
            "What are the three spirits that visit Scrooge?",
            "How many spirits that visit Scrooge are there?",
        ),
        ("How many?", "Which Debian Blends are there?", "How many Debian Blends are there?"),
        ("How many?", "List all the lights", "How many lights are there?"),
        ("How many?", "Who is Ada Lind?", ""),
        ("And in 1890?", "Who kept the light?", "Who kept the light in 1890?"),
        ("And in 2004?", "Who led Debian in 2003?", "Who led Debian in 2004?"),
    ],
)
def test_words_that_are_left_out_come_from_the_question_before(question, before, said):
    assert completed(question, before) == said


@pytest.mark.parametrize(
    ("question", "before", "names", "said"),
    [
        ("What about Bram?", "Where does Ada live?", ["Ada"], "Where does Bram live?"),
        ("And Tern Rock?", "When was Kelder Point lit?", (), "When was Tern Rock lit?"),
        ("And the Office?", "What does the Trust own?", ["Trust"], "What does the Office own?"),
        ("那马皇后呢？", "朱元璋是哪里人？", ["朱元璋"], "马皇后是哪里人？"),
        ("What about Ada?", "Where does Ada live?", ["Ada"], ""),
        ("What about Bram?", "Who keeps the light?", (), ""),
    ],
)
def test_another_name_takes_the_place_of_the_one_asked_about(question, before, names, said):
    assert completed(question, before, names) == said


@pytest.mark.parametrize(
    ("question", "before", "said"),
    [
        ("为什么？", "灯塔是什么时候自动化的？", "灯塔是为什么自动化的？"),
        ("那一共有多少个？", "基金会有哪些部门？", "基金会有多少部门？"),
        ("为什么？", "朱元璋是谁？", ""),
    ],
)
def test_chinese_questions_are_completed_too(question, before, said):
    assert completed(question, before) == said


@pytest.mark.parametrize(
    "question",
    [
        "And his wife?",
        "And who paid for it?",
        "And when did he leave his wife?",
        "What about the latter?",
        "那他的妻子呢？",
        "Who keeps the light?",
        "And the keeper who wrote about the storm in the logbook of that year?",
        "",
    ],
)
def test_other_questions_are_left_to_others(question):
    assert completed(question, "When was Ada born?", ["Ada"]) == ""


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=10), max_size=3))
def test_no_conversation_breaks_it(question, before, names):
    assert isinstance(completed(question, before, names), str)
