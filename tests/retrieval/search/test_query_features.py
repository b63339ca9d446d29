from __future__ import annotations

import pytest

from retrieval.search.query_features import Kind, is_filler, kind_of, read


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who was Scrooge's business partner?", Kind.PERSON),
        ("From whom did the Trust rent the house?", Kind.PERSON),
        ("When was the lens relit?", Kind.DATE),
        ("In which year did the fire happen?", Kind.DATE),
        ("Where did Coulson Wallop's father study?", Kind.PLACE),
        ("Which harbour does the firm work from?", Kind.PLACE),
        ("How many prisms were broken?", Kind.NUMBER),
        ("What is the price of the contract?", Kind.NUMBER),
        ("What did the pilot cutter Petrel cost?", Kind.NUMBER),
        ("Why did the door fail?", Kind.OPEN),
        ("What worries the trustees?", Kind.OPEN),
        ("朱元璋的父亲是谁？", Kind.PERSON),
        ("朱元璋出生于哪一年？", Kind.DATE),
        ("他在哪里出家？", Kind.PLACE),
        ("一共浇铸了多少块？", Kind.NUMBER),
        ("经费为什么减少？", Kind.OPEN),
    ],
)
def test_the_kind_is_what_the_question_word_asks_for(question, kind):
    assert kind_of(question) is kind


def test_names_are_the_capitalised_words_inside_the_sentence():
    sought = read("Which apprentice of the Trust met Jamie Flett in 2024?")

    assert sought.names == {"trust", "jami", "flett", "2024"}
    assert "apprentic" in sought.terms


def test_the_first_word_is_capitalised_anyway():
    assert read("Lighthouses are built why?").names == frozenset()


def test_words_that_ask_are_not_what_an_answer_must_hold():
    assert read("How many logbooks were lost during the fire?").terms == ("logbook", "lost", "fire")


def test_pairs_of_chinese_characters_that_straddle_words_are_filler():
    assert is_filler("璋的")
    assert not is_filler("父亲")
    assert not is_filler("where")


def test_a_question_of_little_words_seeks_nothing_in_particular():
    assert read("What is it?").terms == ()


def test_words_that_ask_for_the_whole_or_for_change_are_not_sought():
    assert read("What are the main lessons of the fire?").terms == ("fire",)
    assert read("How has the budget changed since 2022?").terms == ("budget", "2022")
    assert read("What are these documents about?").terms == ()


def test_the_same_words_are_sought_where_they_are_the_subject():
    assert read("Who changed the documents?").terms == ("chang", "document")
