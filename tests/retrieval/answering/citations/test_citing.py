from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from retrieval.answering.citations.citing import find, locate, quoted, renumbered, units
from retrieval.answering.drafts import CitedPassage, SpanOf, WrittenSentence
from retrieval.search.results import Hit


def said(*numbers: int) -> WrittenSentence:
    return WrittenSentence("ModelSentence.", tuple(SpanOf(one, one, one + 1) for one in numbers))


def passage(number: int) -> CitedPassage:
    """Its id tells its number before."""
    return CitedPassage(number, UUID(int=number), UUID(int=0), number, number + 1, "x", ())


def test_citations_are_numbered_in_the_order_in_which_they_appear():
    sentences, citations = renumbered(
        [said(7), said(), said(2, 7), said(9)], [passage(2), passage(7), passage(9)]
    )

    assert [one.numbers for one in sentences] == [(1,), (), (2, 1), (3,)]
    assert [(one.number, one.chunk_id.int) for one in citations] == [(1, 7), (2, 2), (3, 9)]


def test_spans_of_one_passage_keep_one_number_and_their_places():
    sentence = WrittenSentence("ModelSentence.", (SpanOf(5, 10, 20), SpanOf(5, 30, 40)))

    [numbered], _ = renumbered([sentence], [passage(5)])

    assert numbered.spans == (SpanOf(1, 10, 20), SpanOf(1, 30, 40))


def test_nothing_cited_is_nothing_numbered():
    assert renumbered([said()], []) == ([said()], [])


@given(st.lists(st.lists(st.integers(1, 30), max_size=4), max_size=8))
def test_numbers_first_appear_as_1_2_3_whatever_is_cited(cited):
    passages = [passage(number) for number in sorted({one for each in cited for one in each})]

    sentences, citations = renumbered([said(*each) for each in cited], passages)

    appearing = list(dict.fromkeys(number for one in sentences for number in one.numbers))
    assert appearing == [one.number for one in citations] == list(range(1, len(passages) + 1))
    before = {one.number: one.chunk_id.int for one in citations}
    assert [[before[span.number] for span in one.spans] for one in sentences] == cited


TEXT = (
    "Ada Lind keeps the Skarrow light. She came on 11 May 1987.\n\nThe lamp burns oil. A boat"
    " brings it on Fridays, “never on a Monday”, says the log. 灯塔的灯烧的是油。"
)


def hit(text=TEXT, start=500):
    return Hit(UUID(int=1), UUID(int=2), "Log", (), None, start, start + len(text), 1.0, text, ())


def cited_text(sentence, text=TEXT, likeness=None):
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
    assert cited_text(sentence) == spans


def test_without_a_shared_word_the_embedder_tells():
    def likeness(text):
        return float("burns" in text)

    assert cited_text("Petroleum heizt ihn.", likeness=likeness) == ["The lamp burns oil."]


def test_a_passage_of_one_long_line_is_cited_whole_only_because_it_is_one_sentence():
    assert cited_text("The lamp", "the lamp burns " * 20) == [("the lamp burns " * 20).strip()]


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
