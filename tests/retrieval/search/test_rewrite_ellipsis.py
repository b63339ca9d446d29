from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from retrieval.answering.drafts import Earlier
from retrieval.search.rewrite_ellipsis import (
    LONGEST_ITEM,
    MOST_ITEMS,
    completed,
    listed,
    picked,
    with_article,
)


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


SPIRITS = Earlier(
    "What are the three spirits that visit Scrooge?",
    "The Ghost of Christmas Past, a phantom showing things past\n"
    "The Ghost of Christmas Present, a spirit of a generous nature\n"
    "The Ghost of Christmas Yet to Come",
)
TASKS = Earlier("联络处有哪些任务？", "1. 联系供应商\n2. 安排学徒互访\n3. 翻译文件")
OTHER = Earlier("When was Skarrow Light automated?", "It was automated on 30 June 1988.")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("The keepers:\n- Ada Lind, from 1866\n- Bram Oost (1890)", ("Ada Lind", "Bram Oost")),
        ("1. **The cliff.** It crumbles.\n2. **The roof.** It leaks.", ("The cliff", "The roof")),
        ("Lights, led by Magnus Okafor\nBoats, led by Owen Lacey", ("Lights", "Boats")),
        ("Servers run Stable, Testing, or Unstable.", ("Stable", "Testing", "Unstable")),
        ("灯塔有斯卡罗、特恩岩和凯尔德角。", ("斯卡罗", "特恩岩", "凯尔德角")),
        ("She kept the light.\nIt burned oil.", ()),
        ("- only one", ()),
        ("", ()),
    ],
)
def test_entries_and_names_that_a_sentence_joins_are_a_list(text, items):
    assert listed(text) == items


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When does the second one appear?", "When does The Ghost of Christmas Present appear?"),
        ("What does the first spirit show?", "What does The Ghost of Christmas Past show?"),
        ("Is the last a ghost?", "Is The Ghost of Christmas Yet to Come a ghost?"),
        ("And the third?", "And The Ghost of Christmas Yet to Come?"),
        (
            "Which of them is silent?",
            "Which of The Ghost of Christmas Past, The Ghost of Christmas Present and "
            "The Ghost of Christmas Yet to Come is silent?",
        ),
    ],
)
def test_what_is_meant_of_a_list_takes_its_place(question, said):
    assert picked(question, [SPIRITS, OTHER]) == said


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("第二个是什么时候开始的？", "安排学徒互访是什么时候开始的？"),
        ("其中哪个最重要？", "联系供应商、安排学徒互访、翻译文件中哪个最重要？"),
    ],
)
def test_chinese_lists_are_understood(question, said):
    assert picked(question, [TASKS]) == said


@pytest.mark.parametrize(
    "question",
    [
        "Who was the first keeper of Skarrow?",
        "When was the second railway built?",
        "What happened in the fourth?",
        "Where was Ada Lind born?",
    ],
)
def test_a_question_that_means_nothing_of_the_list_is_left_alone(question):
    assert picked(question, [SPIRITS]) == ""


def test_what_a_question_sets_side_by_side_comes_before_what_its_answer_names():
    earlier = Earlier(
        "What is the difference between Stable and Testing?",
        "Debian Stable, Experimental and Unstable are suites of the archive.",
    )

    found = picked("And which of them should a server use?", [earlier])

    assert found == "And which of Stable and Testing should a server use?"


def test_an_article_is_kept_where_somebody_said_it():
    assert with_article("Society", "Who founded the society?") == "the Society"
    assert with_article("Ada", "Who is Ada? Then there is the Adams family.") == "Ada"


@given(st.text(max_size=400))
def test_lists_are_short_distinct_and_more_than_one(text):
    items = listed(text)

    assert len(items) != 1
    assert len(items) <= MOST_ITEMS
    assert len(set(items)) == len(items)
    assert all(0 < len(item) <= LONGEST_ITEM for item in items)


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_whatever_was_said_a_question_stays_a_question_or_is_left_alone(question, asked, answer):
    found = picked(question, [Earlier(asked, answer)])

    assert found == "" or found != question
