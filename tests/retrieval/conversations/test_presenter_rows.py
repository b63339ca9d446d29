"""What the pages show of rows: citations, hits, nearest passages, the box and the front door."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from ingestion.models import Chunk, DocumentState, DocumentVersion
from retrieval.conversations import asking, queries
from retrieval.conversations.presenters import answers, ask_box, pages, passages
from retrieval.models import Answer
from retrieval.search import services
from retrieval.search.modes import DEFAULT_MODE
from retrieval.search.scope import Scope
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

KEEPERS = "**Ada Lind** keeps the Skarrow light.\n\nThe lamp burns oil."
SUPPORTED = "Who keeps the Skarrow light?"
UNSUPPORTED = "Who painted the Skarrow light in Zanzibar with Tesla?"


@pytest.fixture
def cast():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Keepers", KEEPERS)
    return cast


def answered(cast, question=SUPPORTED, scope=None):
    answer = asking.ask(
        workspace=cast.workspace, user=cast.alice, question=question, mode="lexical", scope=scope
    )
    return shown_again(cast, answer)


def shown_again(cast, answer):
    with access.in_workspace(cast.workspace.pk):
        asked = queries.asked(workspace=cast.workspace, question_id=answer.question_id)
        return answers.shown_answer(workspace=cast.workspace, asked=asked)


def hits_of(cast, question):
    found = services.search(
        workspace=cast.workspace, question=question, mode="lexical", top_k=5
    ).hits
    with access.in_workspace(cast.workspace.pk):
        return passages.shown_hits(workspace=cast.workspace, question=question, hits=found), found


def box_of(cast, **options):
    with access.in_workspace(cast.workspace.pk):
        return ask_box.ask_box(workspace=cast.workspace, **options)


# --- answers -------------------------------------------------------------------------------------


def test_a_sentence_is_shown_plain_with_the_citation_it_rests_on(cast):
    answer = answered(cast)

    (sentence,) = answer.sentences
    assert sentence.text == "Ada Lind keeps the Skarrow light."
    assert [chip.url for chip in sentence.chips] == [answer.citations[0].url]
    assert [card.key for card in answer.cards] == [chip.card for chip in sentence.chips]
    assert answer.citations[0].passage.quote == "Ada Lind keeps the Skarrow light."
    assert answer.citations[0].url.endswith("?start=0&end=37&version=1")


def test_a_citation_is_shown_by_its_quote_once_its_chunk_is_gone(cast):
    answer = asking.ask(workspace=cast.workspace, user=None, question=SUPPORTED, mode="lexical")
    with access.in_workspace(cast.workspace.pk):
        Chunk.objects.in_workspace(cast.workspace).delete()

    (citation,) = shown_again(cast, answer).citations

    assert citation.title == "Keepers"
    assert citation.passage == passages.Passage("Ada Lind keeps the Skarrow light.")


def test_a_citation_says_under_which_heading_it_stands(cast):
    with access.in_workspace(cast.workspace.pk):
        DocumentVersion.objects.in_workspace(cast.workspace).update(headings=[[1, "The crew", 0]])

    assert answered(cast).citations[0].where == "The crew"


def test_an_answer_without_a_trace_has_no_reason_and_no_notes(cast):
    answer = asking.ask(workspace=cast.workspace, user=None, question=SUPPORTED, mode="lexical")
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(trace={})

    found = shown_again(cast, answer)

    assert (found.reason, found.note, found.remarks) == ("", "", ())


def test_an_answer_written_by_a_model_says_by_which(cast):
    answer = asking.ask(workspace=cast.workspace, user=None, question=SUPPORTED, mode="lexical")
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(written_by="harbour-7b")

    found = shown_again(cast, answer)

    assert found.kind_label == "Written answer"
    assert "harbour-7b" in found.kind_explanation
    assert found.kind_explanation != answers.EXTRACTIVE


def test_an_unanswered_question_shows_the_nearest_passages_and_what_they_lack(cast):
    answer = answered(cast, UNSUPPORTED)

    nearest = answer.nearest[0]
    assert not answer.is_supported
    assert (answer.sentences, answer.citations) == ((), ())
    assert nearest.title == "Keepers"
    assert nearest.text == "Ada Lind keeps the Skarrow light."
    assert "“painted”" in nearest.why[0]
    assert "“Zanzibar”" in nearest.why[0]


def test_an_unanswered_question_says_where_was_looked(cast):
    everywhere = answered(cast, UNSUPPORTED)
    a_part = answered(cast, UNSUPPORTED, Scope(media_types=("text/plain",)))

    assert everywhere.searched == "1 document in Harbour."
    assert not everywhere.is_narrowed
    assert a_part.searched == "1 document in Harbour, narrowed by filters."
    assert a_part.is_narrowed


def test_a_scope_that_holds_nothing_is_told_apart_from_no_answer(cast):
    answer = answered(cast, scope=Scope(tags=("none such",)))

    assert (answer.is_scope_empty, answer.note, answer.nearest) == (True, "", ())
    assert not answered(cast, UNSUPPORTED).is_scope_empty


# --- hits ----------------------------------------------------------------------------------------


def test_a_hit_links_to_the_sentence_that_made_it_a_hit(cast):
    text = "It was dark. Per Holm mended the quarry road."
    rows.make_document(cast.workspace, "Roads", text)

    (hit,), _ = hits_of(cast, "Who mended the quarry road?")

    start = text.index("Per Holm")
    assert hit.title == "Roads"
    assert hit.text == "… Per Holm mended the quarry road."
    assert hit.url.endswith(f"?start={start}&end={len(text)}")


def test_a_hit_from_the_first_sentence_on_begins_without_dots(cast):
    (hit, *_), _ = hits_of(cast, SUPPORTED)

    assert hit.text.startswith("Ada Lind keeps")
    assert hit.why


def test_a_hit_whose_passage_has_gone_is_not_shown(cast):
    _, found = hits_of(cast, SUPPORTED)
    gone = [replace(found[0], chunk_id=uuid4()), *found[1:]]

    with access.in_workspace(cast.workspace.pk):
        left = passages.shown_hits(workspace=cast.workspace, question=SUPPORTED, hits=gone)

    assert len(left) == len(found) - 1


def test_a_long_passage_is_cut_at_a_word():
    snippet = passages.visible_from("lantern " * 200, 8)

    assert len(snippet) <= passages.SNIPPET + 2
    assert set(snippet.split()) == {"lantern", "…"}
    assert passages.visible_from("short", 0) == "short"


# --- the box -------------------------------------------------------------------------------------


def test_the_box_says_which_part_was_chosen(cast):
    logs, plans = (str(rows.make_collection(cast.workspace, name).pk) for name in ("Logs", "Plans"))

    assert box_of(cast).scope.label == "All documents"
    assert box_of(cast, filters={"collections": [logs]}).scope.label == "Logs"
    assert box_of(cast, filters={"collections": [logs, plans]}).scope.label == "2 filters"
    assert box_of(cast, filters={"collections": ["gone"]}).scope.label == "All documents"


def test_the_box_counts_the_documents_and_falls_back_to_the_first_mode(cast):
    box = box_of(cast, mode="telepathy", question="Who?")

    assert (box.mode.name, box.documents, box.question) == (DEFAULT_MODE, 1, "Who?")


def test_the_box_under_an_answer_keeps_the_choice_and_not_the_question(cast):
    logs = rows.make_collection(cast.workspace, "Logs")
    answer = asking.ask(
        workspace=cast.workspace,
        user=cast.alice,
        question=SUPPORTED,
        mode="lexical",
        scope=Scope(collections=(logs.pk,)),
    )

    with access.in_workspace(cast.workspace.pk):
        box = ask_box.ask_next(workspace=cast.workspace, user=cast.alice, question=answer.question)

    assert box.conversation == answer.question.conversation_id
    assert (box.mode.name, box.scope.label, box.question) == ("lexical", "Logs", "")


# --- the front door ------------------------------------------------------------------------------


def test_the_front_door_lists_what_stopped_and_what_one_asked_oneself(cast):
    stopped = rows.make_document(cast.workspace, "Torn", "x")
    with access.in_workspace(cast.workspace.pk):
        type(stopped).objects.in_workspace(cast.workspace).filter(pk=stopped.pk).update(
            state=DocumentState.ATTENTION
        )
    answered(cast)

    with access.in_workspace(cast.workspace.pk):
        alices = pages.home(workspace=cast.workspace, user=cast.alice)
        bobs = pages.home(workspace=cast.workspace, user=cast.bob)

    assert [row.document.title for row in alices.attention] == ["Torn"]
    assert alices.counts.documents == 2
    assert [question.text for question in alices.questions] == [SUPPORTED]
    assert bobs.questions == []
