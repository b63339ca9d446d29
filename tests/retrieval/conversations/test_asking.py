from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.models import Chunk, DocumentVersion
from kb_project.errors import InputError
from kb_project.ports import build_ports
from retrieval.conversations import asking, queries
from retrieval.models import Answer, AnswerEvent, Citation, Conversation, Question
from retrieval.search.scope import Scope
from tests import rows
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

KEEPERS = (
    "Ada Lind keeps the Skarrow light.\nShe came to Skarrow on 11 May 1987.\n\n"
    "The lamp burns oil, which the boat brings on Fridays."
)


@pytest.fixture
def cast(fake_embedder):
    cast = rows.make_cast()
    embedder = build_ports().embedder
    rows.make_document(
        cast.workspace, "Keepers", KEEPERS, embedder=embedder, names={"Ada Lind": "person"}
    )
    rows.make_document(
        cast.workspace, "Roads", "The quarry road is closed in winter.", embedder=embedder
    )
    rows.make_snapshot(cast.workspace)
    return cast


def ask(cast, question="Who keeps the Skarrow light?", mode="hybrid", scope=None):
    return asking.ask(
        workspace=cast.workspace, user=cast.bob, question=question, mode=mode, scope=scope
    )


def rows_of(model, cast):
    with access.in_workspace(cast.workspace.pk):
        return list(model.objects.in_workspace(cast.workspace))


@pytest.mark.parametrize("mode", ["walk", "hybrid", "local", "dense", "lexical"])
def test_an_answer_is_a_sentence_of_the_documents_with_its_place(cast, mode):
    answer = ask(cast, mode=mode)

    citations = rows_of(Citation, cast)
    texts = {version.document_id: version.text for version in rows_of(DocumentVersion, cast)}
    assert answer.is_supported
    first = answer.sentences[0]
    assert (first["text"], first["citations"]) == ("Ada Lind keeps the Skarrow light.", [1])
    assert citations
    for one in citations:
        assert texts[one.document_id][one.start : one.end] == one.quote


def test_question_and_answer_are_kept_with_who_asked(cast):
    answer = ask(cast, scope=Scope(media_types=("text/plain",)))

    (question,) = rows_of(Question, cast)
    assert (question.text, question.mode) == ("Who keeps the Skarrow light?", "hybrid")
    assert question.asked_by == cast.bob
    assert question.scope == {"media_types": ["text/plain"]}
    assert [row.pk for row in rows_of(Answer, cast)] == [answer.pk]


def test_every_number_in_a_sentence_is_a_citation(cast):
    answer = ask(cast, "Who keeps the Skarrow light, and what does the lamp burn?")

    numbers = {number for sentence in answer.sentences for number in sentence["citations"]}
    assert numbers == {citation.number for citation in rows_of(Citation, cast)}
    assert len(answer.sentences) > 1


@pytest.mark.parametrize(
    "question", ["Who is the president of Mars?", "What does a zeppelin weigh?", "谁写了红楼梦？"]
)
def test_what_the_documents_do_not_answer_is_said_with_what_is_nearest(cast, question):
    answer = ask(cast, question)

    assert not answer.is_supported
    assert answer.sentences == []
    assert rows_of(Citation, cast) == []


def test_the_nearest_passages_can_be_opened(cast):
    answer = ask(cast, "Who painted the Skarrow light in Zanzibar with Tesla?")

    view = queries.answer_view(workspace=cast.workspace, answer=answer)
    assert not view["supported"]
    nearest = view["nearest"][0]
    assert nearest["text"] == "Ada Lind keeps the Skarrow light."
    assert nearest["title"] == "Keepers"


def test_the_trace_tells_how_the_answer_was_found_and_holds_no_text(cast):
    trace = ask(cast).trace

    assert trace["mode"] == "hybrid"
    assert 0 < trace["probability"] <= 1
    assert trace["sentences_chosen"] >= 1
    assert trace["total_ms"] >= trace["search_ms"]
    assert "Ada" not in str(trace)


def test_the_scope_is_kept_to(cast):
    answer = ask(cast, scope=Scope(tags=("none such",)))

    assert not answer.is_supported
    assert answer.trace["notes"][0]["code"] == "scope_empty"


def test_an_answer_outlives_the_chunks_it_was_made_from(cast):
    answer = ask(cast)
    with access.in_workspace(cast.workspace.pk):
        Chunk.objects.in_workspace(cast.workspace).delete()

    view = queries.answer_view(workspace=cast.workspace, answer=answer)

    assert view["answer"].startswith("Ada Lind keeps the Skarrow light.")
    assert view["citations"][0]["title"] == "Keepers"
    assert view["citations"][0]["quote"].startswith("Ada Lind keeps")


@pytest.mark.parametrize(("question", "mode"), [("???", "hybrid"), ("Who?", "telepathy")])
def test_what_cannot_be_asked_leaves_nothing_behind(cast, question, mode):
    with pytest.raises(InputError):
        ask(cast, question, mode)

    assert rows_of(Question, cast) == []


def test_another_workspace_knows_nothing_of_it(cast):
    stranger = rows.make_workspace("Elsewhere")

    answer = asking.ask(
        workspace=stranger, user=None, question="Who keeps the Skarrow light?", mode="hybrid"
    )

    assert not answer.is_supported
    assert answer.nearest == []


def test_a_question_is_kept_with_its_conversation_and_a_first_event_by_one_statement(cast):
    with access.in_workspace(cast.workspace.pk), CaptureQueriesContext(connection) as asked:
        answer = asking.question_ask(
            workspace=cast.workspace, user=cast.bob, question="Who keeps it?", mode="hybrid"
        )

    assert sum("INSERT" in one["sql"] for one in asked) == 1
    [question], [conversation] = rows_of(Question, cast), rows_of(Conversation, cast)
    [event] = rows_of(AnswerEvent, cast)
    assert (question.text, question.mode, question.scope) == ("Who keeps it?", "hybrid", {})
    assert question.conversation_id == conversation.pk
    assert conversation.title == "Who keeps it?"
    assert {question.asked_by_id, conversation.asked_by_id} == {cast.bob.pk}
    assert (event.sequence, event.kind, event.payload) == (0, "state", {"state": "queued"})
    [kept] = rows_of(Answer, cast)
    same = [one.attname for one in Answer._meta.concrete_fields]
    assert [getattr(kept, one) for one in same] == [getattr(answer, one) for one in same]


def test_asking_on_in_a_conversation_begins_no_other(cast):
    first = asking.question_ask(
        workspace=cast.workspace, user=cast.bob, question="Who keeps it?", mode="hybrid"
    )
    asking.question_ask(
        workspace=cast.workspace,
        user=cast.bob,
        question="Since when?",
        mode="hybrid",
        conversation_id=first.question.conversation_id,
    )

    assert len(rows_of(Conversation, cast)) == 1
    assert len(rows_of(Question, cast)) == 2


def test_asking_again_keeps_an_answer_and_no_second_question(cast):
    first = ask(cast)

    again = asking.answer_again(
        workspace=cast.workspace, user=cast.bob, question_id=first.question_id, mode="lexical"
    )

    assert (again.question_id, again.mode) == (first.question_id, "lexical")
    assert len(rows_of(Question, cast)) == 1
    assert len(rows_of(Answer, cast)) == 2
