from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from retrieval.answering.citations.spans import find, locate, quoted, units
from retrieval.search.hits import Hit

TEXT = (
    "Ada Lind keeps the Skarrow light. She came on 11 May 1987.\n\nThe lamp burns oil. A boat"
    " brings it on Fridays, “never on a Monday”, says the log. 灯塔的灯烧的是油。"
)


def hit(text=TEXT, start=500):
    return Hit(UUID(int=1), UUID(int=2), "Log", (), None, start, start + len(text), 1.0, text, ())


def said(sentence, text=TEXT, likeness=None):
    one = hit(text)
    return [text[a - 500 : b - 500] for a, b in locate(sentence, one, likeness).spans]


@pytest.mark.parametrize(
    ("sentence", "spans"),
    [
        ("Ada Lind keeps the Skarrow light.", ["Ada Lind keeps the Skarrow light."]),
        ("The log says it comes “never on a Monday”.", ["never on a Monday"]),
        ("The lamp burns", ["The lamp burns oil."]),
        ('It "brings it  on\nfridays", they say.', ["brings it on Fridays"]),
        ("The keeper is Ada Lind.", ["Ada Lind keeps the Skarrow light."]),
        ("In May 1987 she arrived.", ["She came on 11 May 1987."]),
        ("灯烧的是油。", ["灯塔的灯烧的是油。"]),
        (
            "Ada Lind keeps the light, and the lamp burns oil.",
            ["Ada Lind keeps the Skarrow light.", "The lamp burns oil."],
        ),
    ],
)
def test_a_sentence_is_found_where_it_is_said(sentence, spans):
    assert said(sentence) == spans


def test_without_a_shared_word_the_embedder_tells():
    def likeness(text):
        return float("burns" in text)

    assert said("Petroleum heizt ihn.", likeness=likeness) == ["The lamp burns oil."]


def test_a_passage_of_one_long_line_is_cited_whole_only_because_it_is_one_sentence():
    assert said("The lamp", "the lamp burns " * 20) == [("the lamp burns " * 20).strip()]


def test_a_quotation_must_be_long_enough_to_mean_anything():
    assert quoted('They call it "it" or "a".') == []
    assert quoted("He wrote «la lampe brûle de l'huile».") == ["la lampe brûle de l'huile"]
    assert find("oil", TEXT) is None


@given(sentence=st.text(max_size=80), text=st.text(min_size=1, max_size=400))
def test_a_span_is_always_inside_the_passage(sentence, text):
    for start, end in locate(sentence, hit(text)).spans:
        assert 500 <= start < end <= 500 + len(text)


@given(text=st.text(alphabet="ab .!?\n", min_size=1, max_size=200))
def test_never_the_whole_passage_where_a_sentence_will_do(text):
    found = locate("a b a", hit(text))

    if len(units(text)) > 1 and not found.is_quote:
        assert all((a, b) != (500, 500 + len(text)) for a, b in found.spans)
