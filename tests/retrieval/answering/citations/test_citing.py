from __future__ import annotations

from uuid import UUID

from hypothesis import given, strategies as st

from retrieval.answering.citations.citing import renumbered
from retrieval.answering.drafts import CitedPassage, SpanOf, WrittenSentence


def said(*numbers: int) -> WrittenSentence:
    return WrittenSentence("Said.", tuple(SpanOf(one, one, one + 1) for one in numbers))


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
    sentence = WrittenSentence("Said.", (SpanOf(5, 10, 20), SpanOf(5, 30, 40)))

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
