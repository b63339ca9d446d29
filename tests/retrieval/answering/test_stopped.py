from __future__ import annotations

from uuid import UUID

from hypothesis import given, strategies as st

from retrieval.answering.jobs import citations_of, sentences_of

TEXT = "Ada Lind keeps the light. The lamp burns oil."
PASSAGES = [
    {
        "number": number,
        "chunk": str(UUID(int=number)),
        "document": str(UUID(int=100 + number)),
        "start": 10 * number,
        "end": 10 * number + len(TEXT),
        "text": TEXT,
    }
    for number in (1, 2)
]


def told(text):
    return [(one.text, one.numbers) for one in sentences_of(text, PASSAGES)]


def test_each_sentence_keeps_the_passages_it_names():
    assert told("Ada keeps it [1][2]. The lamp burns oil. [2] It is") == [
        ("Ada keeps it.", (1, 2)),
        ("The lamp burns oil.", (2,)),
        ("It is", ()),
    ]


def test_a_number_without_a_passage_and_the_mark_of_general_knowledge_are_left_out():
    assert told("Ada keeps it [7]. Oil burns [G].") == [("Ada keeps it.", ()), ("Oil burns.", ())]


def test_what_looks_like_a_number_in_code_or_an_address_stays_text():
    assert told("Call `rows[1]` for it [2].") == [("Call `rows[1]` for it.", (2,))]
    assert told("See https://x.org/a[1] for it.") == [("See https://x.org/a[1] for it.", ())]


def test_what_was_cut_off_in_the_middle_of_a_mark_is_kept():
    assert told("Ada keeps it [1]. The lamp [") == [("Ada keeps it.", (1,)), ("The lamp [", ())]


def test_nothing_said_is_no_sentence():
    assert sentences_of("", PASSAGES) == sentences_of(" \n", PASSAGES) == []


def test_a_passage_is_cited_once_and_whole():
    [one] = citations_of(sentences_of("Ada keeps it [2]. She does [2].", PASSAGES), PASSAGES)

    assert (one.number, one.start, one.end, one.quote) == (2, 20, 20 + len(TEXT), TEXT)
    assert one.spans == ((20, 20 + len(TEXT)),)


@given(st.text(alphabet="Ab. [1G]`\n(", max_size=60))
def test_whatever_was_said_every_number_has_a_passage(text):
    sentences = sentences_of(text, PASSAGES)

    assert {number for one in sentences for number in one.numbers} <= {1, 2}
    assert len(citations_of(sentences, PASSAGES)) <= 2
