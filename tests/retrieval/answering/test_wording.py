from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from retrieval.answering.wording import LONGEST, Form, of_heading, of_sentence

KNOWN = {
    "ada lind": "person",
    "walter groat": "PERSON",
    "ian murdock": "person",
    "skarrow light": "place",
    "trust": "organization",
    "debian": "product",
    "朱元璋": "person",
}


def asked(said: str) -> list[str]:
    return [one.question for one in of_sentence(said, KNOWN)]


@pytest.mark.parametrize(
    ("said", "question"),
    [
        (
            "Ada Lind founded the Orran Lights Society at that meeting, on 11 May 1987.",
            "Who founded the Orran Lights Society?",
        ),
        ("Ada Lind followed Walter Groat in January 2020.", "Who followed Walter Groat?"),
        (
            "Ada Lind is the skipper of the *Agnes Tulloch*.",
            "Who is the skipper of the Agnes Tulloch?",
        ),
        (
            "The Debian Project was created by Ian Murdock, then a student.",
            "Who created the Debian Project?",
        ),
        (
            "Skarrow Light was automated on 30 June 1988, and Ada Lind left.",
            "When was Skarrow Light automated?",
        ),
        (
            "The Debian Project was officially founded by Ian Murdock on August 16th, 1993.",
            "When was the Debian Project officially founded?",
        ),
        ("The Trust has five departments.", "How many departments does the Trust have?"),
        ("The Trust employs thirty-one people.", "How many people does the Trust employ?"),
        ("Debian is a free operating system.", "What is Debian?"),
        ("Ada Lind is an engineer.", "Who is Ada Lind?"),
        ("The Long Line is the oldest sea record of the isles.", "What is the Long Line?"),
        ("临江光学工坊（Linjiang）创办于1958年，原名玻璃厂。", "临江光学工坊是什么时候创办的？"),
        ("联络处只有两名工作人员：主任和翻译。", "联络处有多少名工作人员？"),
        ("斯卡罗灯塔由工程师高尔特建造。", "斯卡罗灯塔是由谁建造的？"),
        ("朱元璋是明朝的开国皇帝。", "朱元璋是谁？"),
    ],
)
def test_what_a_sentence_states_is_asked_as_a_person_would(said, question):
    assert question in asked(said)


@pytest.mark.parametrize(
    "said",
    [
        "She founded the Orran Lights Society in 1987.",
        "It was automated on 30 June 1988.",
        "The tower was closed in 1988.",
        "In 1994 the Society took a lease of the tower.",
        "Ada Lind kept it.",
        "Ada Lind retired in December 2019.",
        "This is a free operating system.",
        "The price is a problem.",
        "Unstable is the solution for this group of people.",
        "十四块毛坯没有一块破损。",
        "双方于2024年4月11日签订合同。",
        "他是明朝的皇帝。",
        "",
    ],
)
def test_what_does_not_stand_by_itself_is_not_asked_about(said):
    assert asked(said) == []


@pytest.mark.parametrize(
    ("heading", "question", "form"),
    [
        ("2.1 How do I file a bug?", "How do I file a bug?", Form.ASKED),
        ("How a book is scanned", "How is a book scanned?", Form.ASKED),
        ("How to back up", "How do I back up?", Form.ASKED),
        ("How to Reconcile the account", "How do I reconcile the account?", Form.ASKED),
        ("5. Risks that keep us awake", "What are the risks that keep us awake?", Form.ASKED),
        (
            "1.3. The Inner Workings of the Debian Project",
            "What are the inner workings of the Debian Project?",
            Form.ASKED,
        ),
        ("Going to sea", "What does “Staff handbook” say about going to sea?", Form.SECTION),
        ("三、遇到的问题", "关于遇到的问题，《Staff handbook》说了什么？", Form.SECTION),
    ],
)
def test_a_heading_is_asked_about_in_the_words_that_read_right(heading, question, form):
    made = of_heading(heading, "Staff handbook", KNOWN)

    assert made is not None
    assert (made.question, made.form) == (question, form)


@pytest.mark.parametrize(
    "heading",
    [
        "Introduction",
        "1.2 Overview",
        "What is it?",
        "Chapter 8",
        "4.7",
        "ITP, is_DFSG(x",
        "",
        "前言",
    ],
)
def test_a_heading_that_says_nothing_by_itself_is_not_asked_about(heading):
    assert of_heading(heading, "Staff handbook", KNOWN) is None


def test_a_files_name_is_no_title_to_ask_by():
    assert of_heading("Going to sea", "fhs-3.0", KNOWN) is None
    made = of_heading("Going to sea", "1.3. The handbook", KNOWN)
    assert made is not None
    assert made.question == "What does “The handbook” say about going to sea?"


@given(st.text(max_size=LONGEST), st.text(max_size=60))
def test_whatever_is_written_a_question_is_one_line_with_a_mark(said, title):
    made = [*of_sentence(said, KNOWN), of_heading(said, title, KNOWN)]

    for one in made:
        if one is not None:
            assert one.question.endswith(("?", "？"))
            assert "\n" not in one.question
