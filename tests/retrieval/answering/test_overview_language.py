from __future__ import annotations

from uuid import UUID

import pytest

from retrieval.answering.overview_language import (
    LONGEST_ASKED,
    Named,
    Section,
    Target,
    asked,
    sought_in_documents,
)

LIGHT, RULES, TIDES = UUID(int=1), UUID(int=2), UUID(int=3)
TITLES = [
    Named(LIGHT, "A Short History of Skarrow Light", "skarrow-history.en.pdf"),
    Named(
        RULES,
        "4.2. The Keeper's Handbook",
        "handbook-2.1.pdf",
        ((1, "Chapter 1. Lamps", 0), (1, "Chapter 2. Ropes and nets", 900), (2, "2.1. Lamps", 950)),
    ),
    Named(TIDES, "潮汐手册", "tides.md"),
]


@pytest.mark.parametrize("question", [
    "What are these documents about?",
    "what are the documents about",
    "Can you tell me what these files are about, please?",
    "Summarise everything",
    "Please summarize all the documents.",
    "Give me an overview",
    "What is this workspace about?",
    "What can I find here?",
    "What are the main topics?",
    "What are the main topics here?",
    "What can you tell me about these documents?",
    "Which topics do these documents cover?",
    "What is this collection of documents about?",
    "What does this set of files contain?",
    "What kind of documents are these?",
    "这些文件讲什么？",
    "这里都讲了些什么",
    "请概述一下所有文件",
    "所有文件的主要内容是什么？",
])  # fmt: skip
def test_everything_is_asked_for(question: str):
    target = asked(question, TITLES)

    assert target
    assert (target.documents, target.section) == ((), None)


@pytest.mark.parametrize(("question", "document"), [
    ("Summarise A Short History of Skarrow Light", LIGHT),
    ("What is the history of Skarrow about?", LIGHT),
    ("Give me a brief overview of skarrow-history.en.pdf", LIGHT),
    ("What does the handbook cover?", RULES),
    ("What is “The Keeper’s Handbook” about?", RULES),
    ("Keeper's handbook summary", RULES),
    ("what do we have on the keeper's handbook", RULES),
    ("Is there anything about Skarrow Light?", LIGHT),
    ("What was decided in the history of Skarrow Light?", LIGHT),
    ("can someone give me the highlights of the keeper's handbook", RULES),
    ("pls run us through the keeper's handbook, briefly", RULES),
    ("What are the key takeaways from the keeper's handbook?", RULES),
    ("what does the keeper's handbook say", RULES),
    ("What is the mail about Skarrow Light about?", LIGHT),
    ("概述一下潮汐手册", TIDES),
    ("《潮汐手册》讲了什么？", TIDES),
])  # fmt: skip
def test_a_document_is_meant_by_its_title_or_its_file(question: str, document: UUID):
    target = asked(question, TITLES)

    assert target
    assert target.documents == (document,)


@pytest.mark.parametrize(("question", "start"), [
    ("Summarise the chapter on ropes", 900),
    ("What does the section about ropes and nets cover?", 900),
    ("Give me an overview of chapter 2 of the handbook", 900),
    ("What is the chapter on lamps about?", 0),
])  # fmt: skip
def test_a_section_is_meant_by_its_heading(question: str, start: int):
    target = asked(question, TITLES)

    assert target
    assert target.section == Section(RULES, start)


@pytest.mark.parametrize("question", [
    "What is Skarrow Light?",
    "Who is Ada Lind?",
    "When was the light built?",
    "What does the keeper do about fog?",
    "Summarise the storm of 1866",
    "What is Ada angry about?",
    "What is in /usr/share?",
    "How do I get an overview of the sea?",
    "What does the handbook say about lamps?",
    "What is the main point of contact for the keeper's handbook?",
    "Walk me through trimming the lamps",
    "Ada Lind说了什么？",
    "灯塔是什么时候建的？",
    "",
])  # fmt: skip
def test_other_questions_are_not_for_an_overview(question: str):
    assert asked(question, TITLES) is None


def test_a_word_that_many_titles_hold_is_no_title():
    titles = [Named(UUID(int=n), f"Skarrow {n} log", f"{n}.txt") for n in range(9)]

    assert asked("What is Skarrow about?", titles) is None
    assert asked("Summarise Skarrow 3 log", titles) == Target((UUID(int=3),))


def test_who_pastes_a_page_asks_for_no_overview():
    assert asked("Summarise " + "the light " * LONGEST_ASKED, TITLES) is None


def test_the_answer_is_in_the_question_s_language():
    assert asked("这些文件讲什么？", []) == Target(is_chinese=True)


@pytest.mark.parametrize(("question", "phrase"), [
    ("Which documents mention Ada Lind?", "Ada Lind"),
    ("what files talk about the lamp", "the lamp"),
    ("Please tell me which of the reports are about “mild steel”.", "mild steel"),
    ("In which documents is Skarrow mentioned?", "Skarrow"),
    ("Where is the reef discussed?", "the reef"),
    ("Which papers contain the word wick?", "wick"),
    ("哪些文件提到了阿达？", "阿达"),
    ("Which keepers mention Ada Lind?", ""),
    ("Where is the reef?", ""),
    ("Which documents are about to expire?", ""),
])  # fmt: skip
def test_documents_that_mention_something_are_asked_for(question: str, phrase: str):
    assert sought_in_documents(question) == phrase


@pytest.mark.parametrize("asked_for", ["ADR 17", "adr 0017"])
def test_a_number_in_a_name_is_meant_with_and_without_its_zeros(asked_for: str):
    target = asked(f"Summarise {asked_for}", [Named(LIGHT, "ADR 0017: Queues", "adr.md")])

    assert target
    assert target.documents == (LIGHT,)
