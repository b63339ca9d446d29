from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.text.terms import terms
from retrieval.evaluation.cloze import GAP, LONGEST, Name, make


def named(text: str, *names: tuple[str, str]) -> list[Name]:
    found = []
    for name, kind in names:
        start = text.index(name)
        found.append(Name(start, start + len(name), kind))
    return found


def test_who_does_something_is_asked_for():
    text = "Ada Lind keeps the Skarrow light in Orran."

    made = make(text, named(text, ("Ada Lind", "person"), ("Orran", "place")))

    assert made is not None
    assert made.question == "Who keeps the Skarrow light in Orran?"
    assert made.answer == made.quote == text


def test_a_name_elsewhere_is_left_out_and_asked_for():
    text = "The Orran Lights Society was founded by Ada Lind after the storm."

    made = make(text, named(text, ("Ada Lind", "PERSON")))

    assert made is not None
    assert made.question == (
        f"Who is missing here: “The Orran Lights Society was founded by {GAP} after the storm.”"
    )


@pytest.mark.parametrize(
    ("text", "name", "kind", "asked"),
    [
        ("The new lamp was carried over the hills to Orran.", "Orran", "place", "Which place"),
        ("The old quarry belongs to Holm Brothers today, says the register.", "Holm Brothers",
         "organization", "Which organisation"),
        ("The tower was lit for the first time in 1869 by its builder.", "1869", "", "Which year"),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_named_by_its_kind(text, name, kind, asked):
    made = make(text, named(text, (name, kind)) if kind else [])

    assert made is not None
    assert made.question.startswith(f"{asked} is missing here")
    assert name not in made.question


def test_a_chinese_sentence_is_asked_about_in_chinese():
    text = "杭州联络处在2024年举办了三次关于灯塔保护的公开讲座。"

    made = make(text, named(text, ("杭州", "place")))

    assert made is not None
    assert made.question.startswith("这句话里缺了什么：") or "缺了什么" in made.question
    assert "杭州" not in made.question


@pytest.mark.parametrize(
    "text",
    [
        "She was born in Orran in the year of the great storm.",
        "However, Orran was rebuilt after the great storm by many hands.",
        "Contents of the chapter about Orran and the great storm",
        "| Orran | 1869 | storm | many hands | rebuilt |.",
        "Orran burns.",
        "In Orran " + "the storm went on and on and on " * 20 + "until morning.",
    ],
)
def test_a_sentence_that_cannot_stand_alone_is_not_asked_about(text):
    assert make(text, named(text, ("Orran", "place")) if "Orran" in text else []) is None


def test_kinds_that_nobody_asks_for_are_left_alone():
    text = "The new lamp burns whale oil in every season of the long year."

    assert make(text, named(text, ("whale oil", "substance"))) is None


def test_a_who_question_goes_before_a_gap():
    text = (
        "The society was founded in Orran after the storm of the century. "
        "Per Holm designed the tower and the keepers' house beside it."
    )

    made = make(text, named(text, ("Orran", "place"), ("Per Holm", "person")))

    assert made is not None
    assert made.question == "Who designed the tower and the keepers' house beside it?"


@given(st.text(max_size=400), st.lists(st.tuples(st.integers(0, 400), st.integers(1, 40))))
def test_whatever_the_text_a_question_rests_on_a_sentence_of_it(text, places):
    names = [Name(start, start + length, "person") for start, length in places]

    made = make(text, names)

    if made is not None:
        assert made.quote in text
        assert len(made.quote) <= LONGEST
        assert terms(made.question)
