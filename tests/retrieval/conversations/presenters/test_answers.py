"""Sentences of an answer with the chips behind them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from ingestion.knowledge.conflicts import SideSpan
from ingestion.models import Chunk, Document, DocumentVersion
from retrieval.answering import events
from retrieval.conversations import asking
from retrieval.conversations.presenters.answers import Piece, pieces_of, progress_of
from retrieval.conversations.presenters.paragraphs import Words, paragraphs
from retrieval.conversations.presenters.passages import CitedSources, ShownHit
from retrieval.models import Answer, AnswerState, Citation
from retrieval.search.reporting import EventKind
from tests import rows
from workspaces import access
from workspaces.models import Workspace

WORKSPACE = Workspace(name="Harbour", slug="harbour")


def cited(*numbers: int) -> CitedSources:
    document = Document(title="The log")
    rows = {
        number: Citation(number=number, document=document, start=10, end=20, quote="It burned.")
        for number in numbers
    }
    return CitedSources(WORKSPACE, rows, {})


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


def test_a_sentence_that_cites_both_sides_is_only_contradicted_by_the_other():
    version, conflict = DocumentVersion(number=1), uuid4()
    chunks = [Chunk(id=uuid4(), version=version) for _ in range(2)]
    rows = {
        number: Citation(number=number, chunk_id=chunk.pk, version_number=1, start=10, end=20)
        for number, chunk in enumerate(chunks, start=1)
    }
    sides = [
        SideSpan(
            conflict, "open", "", "values", "when", chunk.pk, uuid4(), 10, 20, day, day, f"On {day}"
        )
        for chunk, day in zip(chunks, ("21", "28"), strict=True)
    ]
    sources = CitedSources(WORKSPACE, rows, {one.pk: one for one in chunks}, sides)
    sentences = (said("A.", (1, 10, 20), (2, 10, 20)), said("B.", (2, 10, 20), (1, 10, 20)))

    assert [[one.value for one in sources.disputes(each)] for each in sentences] == [["28"], ["21"]]


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


pytestmark = pytest.mark.django_db

TEXT = "It was dark. Ada Lind lit the lamp."
QUESTION = "Who lit the lamp?"


@pytest.fixture
def cast():
    return rows.make_cast()


@pytest.fixture
def answer(cast) -> Answer:
    return asking.question_ask(
        workspace=cast.workspace, user=cast.alice, question=QUESTION, mode="lexical"
    )


def happened(cast, answer, kind, **payload):
    with access.in_workspace(cast.workspace.pk):
        events.add_last(cast.workspace.pk, answer.pk, kind, payload)


def passage_in(document, number=1):
    (chunk,) = rows.chunks_of(document)
    return {
        "number": number,
        "chunk": str(chunk.pk),
        "document": str(document.pk),
        "title": document.title,
        "start": 0,
        "end": len(TEXT),
        "headings": [],
        "page": None,
        "text": TEXT,
        "score": 1.0,
        "why": ["Mentions “lamp”"],
    }


def seen(cast, answer):
    with access.in_workspace(cast.workspace.pk):
        answer = Answer.objects.in_workspace(cast.workspace).get(pk=answer.pk)
        return progress_of(workspace=cast.workspace, question=answer.question, answer=answer)


def test_an_answer_that_was_just_asked_for_has_nothing_but_its_first_event(cast, answer):
    found = seen(cast, answer)

    assert (found.steps, found.passages, found.pieces, found.understood) == ((), (), (), "")
    assert not found.is_waiting
    assert found.sequence == 0


def test_steps_stand_in_their_order_each_once(cast, answer):
    for sentence in ("Looking.", "Writing.", "Writing."):
        happened(cast, answer, EventKind.STEP, name="x", sentence=sentence)

    assert seen(cast, answer).steps == ("Looking.", "Writing.")


def test_passages_are_shown_from_their_telling_sentence_and_have_no_number_yet(cast, answer):
    document = rows.make_document(cast.workspace, "The log", TEXT)
    happened(cast, answer, EventKind.PASSAGES, passages=[passage_in(document, number=4)])

    (passage,) = seen(cast, answer).passages

    assert (passage.number, passage.place, passage.title) == (0, 4, "The log")
    assert passage.text == "… Ada Lind lit the lamp."
    assert passage.url.endswith(f"?start=13&end={len(TEXT)}")
    assert passage.why == ("Mentions “lamp”",)


def test_passages_outlive_what_was_read_of_their_document(cast, answer):
    document = rows.make_document(cast.workspace, "The log", TEXT)
    happened(cast, answer, EventKind.PASSAGES, passages=[passage_in(document)])
    with access.in_workspace(cast.workspace.pk):
        Chunk.objects.in_workspace(cast.workspace).filter(document=document).delete()

    (passage,) = seen(cast, answer).passages

    assert (passage.title, passage.where) == ("The log", "")
    assert passage.text == "… Ada Lind lit the lamp."


def test_passages_go_with_a_document_that_is_deleted_for_good(cast, answer):
    document = rows.make_document(cast.workspace, "The log", TEXT)
    other = rows.make_document(cast.workspace, "The letter", TEXT)
    reported = [passage_in(document), passage_in(other, number=2)]
    happened(cast, answer, EventKind.PASSAGES, passages=reported)
    with access.in_workspace(cast.workspace.pk):
        type(document).objects.in_workspace(cast.workspace).filter(pk=document.pk).delete()

    assert [one.title for one in seen(cast, answer).passages] == ["The letter"]


def test_the_text_so_far_has_chips_where_passages_are_named(cast, answer):
    document = rows.make_document(cast.workspace, "The log", TEXT)
    happened(cast, answer, EventKind.PASSAGES, passages=[passage_in(document, number=7)])
    happened(cast, answer, EventKind.TEXT, text="Ada Lind ")
    happened(cast, answer, EventKind.TEXT, text="lit it [7], at")

    found = seen(cast, answer)

    assert [piece.text for piece in found.pieces] == ["Ada Lind lit it ", ", at"]
    assert found.pieces[0].passage == found.passages[0]
    assert found.passages[0].number == 1
    assert found.sequence == 3


def test_the_checked_answer_takes_the_place_of_the_text(cast, answer):
    happened(cast, answer, EventKind.TEXT, text="Bo lit it.")
    happened(cast, answer, EventKind.ANSWER, sentences=[], citations=[], supported=False)

    assert seen(cast, answer).pieces == ()


def test_the_question_as_it_was_understood_is_told_where_it_was_worded_anew(cast, answer):
    happened(cast, answer, EventKind.PLAN, question="Who lit the Skarrow lamp?", is_rewritten=True)
    assert seen(cast, answer).understood == "Who lit the Skarrow lamp?"

    happened(cast, answer, EventKind.PLAN, question=QUESTION, is_rewritten=False)
    assert seen(cast, answer).understood == ""


def test_a_question_that_nobody_takes_up_waits(cast, answer):
    long_ago = timezone.now() - timedelta(seconds=30)
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(created_at=long_ago)

    assert seen(cast, answer).is_waiting

    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(state=AnswerState.RUNNING)
    assert not seen(cast, answer).is_waiting


def test_an_answer_that_was_told_to_stop_is_stopping(cast, answer):
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(wants_stop=True)

    assert seen(cast, answer).is_stopping


def test_a_number_without_a_passage_is_left_out_of_the_text():
    one = ShownHit("The log", "", "/", "x", place=1)

    assert list(pieces_of("A [1] b [7] c [sic].", [one])) == [
        Piece("A ", replace(one, number=1)),
        Piece(" b ", None),
        Piece(" c [sic].", None),
    ]
    assert list(pieces_of("", [])) == []


def test_passages_are_numbered_in_the_order_in_which_the_text_names_them():
    found = [ShownHit("The log", "", "/", "x", place=place) for place in (1, 2, 7)]

    pieces = list(pieces_of("A [7]. B [2][7]. C [1].", found))

    named = [(one.passage.place, one.passage.number) for one in pieces if one.passage]
    assert named == [(7, 1), (2, 2), (7, 1), (1, 3)]
