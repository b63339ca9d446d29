"""Sentences of an answer with the chips behind them."""

from __future__ import annotations

import pytest

from ingestion.models import Document
from retrieval.conversations.presenters.answers import Cited, Words, paragraphs
from retrieval.models import Citation
from workspaces.models import Workspace

WORKSPACE = Workspace(name="Harbour", slug="harbour")


def cited(*numbers: int) -> Cited:
    document = Document(title="The log")
    rows = {
        number: Citation(number=number, document=document, start=10, end=20, quote="It burned.")
        for number in numbers
    }
    return Cited(WORKSPACE, rows, {})


def said(text: str, *spans: tuple[int, int, int], verdict: str = "supported"):
    return {
        "text": text,
        "citations": [number for number, *_ in spans],
        "spans": [list(span) for span in spans],
        "check": {"verdict": verdict} if verdict else None,
    }


def shown(*rows, numbers=(1, 2), each_alone=False):
    return paragraphs(rows, cited(*numbers), each_alone=each_alone)


def test_a_chip_opens_the_span_of_its_own_sentence():
    (one,) = shown(said("A.", (1, 11, 15)), said("B.", (1, 16, 20)))

    first, second = (sentence.chips[0] for sentence in one.sentences)

    assert first.url.endswith("?start=11&end=15&version=1")
    assert second.url.endswith("?start=16&end=20&version=1")
    assert (first.number, second.number) == (1, 1)
    assert first.card != second.card


def test_several_spans_of_one_passage_are_one_chip():
    (one,) = shown(said("A.", (1, 11, 15), (1, 16, 20), (2, 1, 2)))

    assert [chip.number for chip in one.sentences[0].chips] == [1, 2]
    assert one.sentences[0].chips[0].url.endswith("?start=11&end=15&version=1")


def test_a_number_that_no_citation_has_is_no_chip():
    (one,) = shown(said("A.", (7, 1, 2)))

    assert one.sentences[0].chips == ()


def test_a_sentence_without_spans_opens_its_citation():
    (one,) = shown({"text": "A.", "citations": [2]})

    assert one.sentences[0].chips[0].url.endswith("?start=10&end=20&version=1")
    assert one.sentences[0].verdict == ""


def test_each_span_has_one_card():
    rows = [said("A.", (1, 11, 15)), said("B.", (1, 11, 15), (2, 1, 2))]

    cards = cited(1, 2).cards(rows)

    assert [card.key for card in cards] == ["1-11-15", "2-1-2"]
    assert cards[0].passage.quote == "It burned."


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (said("A.", (1, 1, 2), verdict="unsupported"), "unsupported"),
        (said("A.", verdict="unsupported"), "uncited"),
        (said("A.", verdict="general"), "general"),
        (said("A heading:", verdict=""), ""),
        ({"text": "A.", "citations": [7]}, "uncited"),
    ],
)
def test_what_checking_said_is_told_of_each_sentence(row, verdict):
    assert shown(row)[0].sentences[0].verdict == verdict


def test_a_line_break_before_a_sentence_begins_a_paragraph():
    found = shown(said("A."), said("B."), said("\n\nC."))

    assert [[one.text for one in part.sentences] for part in found] == [["A.", "B."], ["C."]]


def test_headings_and_entries_of_a_list_are_told_apart():
    found = shown(said("## Oil"), said("\n- Whale."), said("\n• Seal."), said("\nAnd so on."))

    assert [part.kind for part in found] == ["heading", "entry", "entry", ""]
    assert [part.sentences[0].text for part in found] == ["Oil", "Whale.", "Seal.", "And so on."]


def test_sentences_of_the_documents_stand_each_alone():
    found = shown(said("A."), said("- B."), each_alone=True)

    assert [part.kind for part in found] == ["", ""]
    assert len(found) == 2


def words_of(text: str, *marked: str, **more):
    """Words of a sentence shown with the given words marked."""
    spans = [[text.index(one), text.index(one) + len(one)] for one in marked]
    (part,) = shown({**said(text), "marked": spans, **more})
    return part.sentences[0].words


def test_the_words_that_answer_are_told_apart():
    assert words_of("It was lit in 1869 by Ada.", "1869", "Ada") == (
        Words("It was lit in "),
        Words("1869", is_marked=True),
        Words(" by "),
        Words("Ada", is_marked=True),
        Words("."),
    )
    assert words_of("It was lit.") == (Words("It was lit."),)


def test_words_that_answer_are_marked_through_markdown():
    assert words_of("• Lit by **Ada Lind** in 1869.", "Ada Lind", "1869") == (
        Words("Lit by "),
        Words("Ada Lind", is_marked=True),
        Words(" in "),
        Words("1869", is_marked=True),
        Words("."),
    )


def test_marks_that_fall_into_a_links_address_mark_nothing():
    assert words_of("See [the log](log-1869.md) of it.", "1869") == (Words("See the log of it."),)


def test_private_characters_of_a_document_mark_nothing():
    found = words_of("Lit \ue000in\ue001 1869.", "1869")

    assert [one.text for one in found if one.is_marked] == ["1869"]
    assert "".join(one.text for one in found) == "Lit \ufffdin\ufffd 1869."
