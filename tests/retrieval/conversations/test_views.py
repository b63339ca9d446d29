from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from django.urls import reverse

from ingestion.models import Document
from kb_project.jobs.notify import Call
from retrieval.answering import jobs
from retrieval.models import Answer, Citation, Conversation, Outcome, Question
from retrieval.search.modes import MODES
from tests.retrieval.pages import address, client_of, page_of
from tests.rows import (
    Cast,
    chunks_of,
    make_cast,
    make_collection,
    make_document,
)
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = (
    "Skarrow Light was built by Josiah Gault. It was first lit on 3 October 1869.\n\n"
    "The keepers called the lens the Old Lady."
)
CITED = "It was first lit on 3 October 1869."
VECTORS = {"code": "vectors_pending", "sentence": "Vectors are being made."}
UNSURE = "Your documents may not answer this. These passages come closest."
NOTHING = "Your documents say nothing about this."


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def light(cast: Cast) -> Document:
    return make_document(
        cast.workspace, "The light", TEXT, names={"Skarrow Light": "FAC", "Josiah Gault": "PERSON"}
    )


def asked(
    cast: Cast,
    *,
    outcome: Outcome = Outcome.ANSWERED,
    scope: dict[str, Any] | None = None,
    notes: Sequence[dict[str, str]] = (VECTORS,),
) -> Question:
    """A question with an answer of one cited sentence and one that nothing supports."""
    is_supported = outcome == Outcome.ANSWERED
    near = [] if outcome == Outcome.NOTHING else [{"start": 0, "end": 40}]
    document = light(cast)
    chunk = chunks_of(document)[0]
    start = TEXT.index(CITED)
    sentences = [
        {"text": CITED, "citations": [1], "marked": [[20, 34]]},
        {"text": "It is tall.", "citations": [7]},
    ]
    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.create(
            workspace=cast.workspace,
            conversation=Conversation.objects.create(
                workspace=cast.workspace,
                title="When was the light first lit?",
                asked_by=cast.alice,
            ),
            text="When was the light first lit?",
            mode="lexical",
            scope=scope or {},
            asked_by=cast.alice,
        )
        answer = Answer.objects.create(
            workspace=cast.workspace,
            question=question,
            outcome=outcome,
            is_supported=is_supported,
            sentences=sentences if is_supported else [],
            nearest=[{"chunk": str(chunk.pk), **one} for one in near],
            trace={"notes": list(notes), "probability": 0.4},
        )
        if is_supported:
            Citation.objects.create(
                workspace=cast.workspace,
                answer=answer,
                number=1,
                document=document,
                chunk=chunk,
                start=start,
                end=start + len(CITED),
                quote=CITED,
            )
    return question


# --- the front door ------------------------------------------------------------------------------


def test_an_owner_of_an_empty_workspace_is_told_where_to_begin(cast):
    assert "Start with a few documents" in page_of(cast.alice, "home", cast)


def test_a_reader_of_an_empty_workspace_is_told_to_wait(cast):
    page = page_of(cast.bob, "home", cast)

    assert "Nothing to ask yet" in page
    assert "Add documents" not in page


def test_home_offers_the_box_and_asks_for_questions_to_begin_with(cast):
    light(cast)

    page = page_of(cast.bob, "home", cast)

    assert "Ask your documents" in page
    assert f'hx-get="{address("starters", cast)}"' in page
    assert "The light" in page


@pytest.mark.parametrize("name", ["home", "ask", "search"])
def test_an_outsider_finds_nothing(cast, name):
    light(cast)

    response = client_of(cast.charlie).get(address(name, cast))

    assert response.status_code == 404
    assert "The light" not in response.content.decode()


# --- answers -------------------------------------------------------------------------------------


def test_an_answer_cites_the_span_it_rests_on(cast):
    question = asked(cast)
    start = TEXT.index(CITED)

    page = page_of(cast.bob, "answer_detail", cast, question.pk)

    assert "It was first lit on <strong>3 October 1869</strong>." in page
    assert f"?start={start}&amp;end={start + len(CITED)}" in page
    assert 'data-cite="1"' in page
    assert f'data-card="1-{start}-{start + len(CITED)}"' in page


def test_a_number_without_a_citation_never_reaches_the_reader(cast):
    page = page_of(cast.alice, "answer_detail", cast, asked(cast).pk)

    assert 'data-cite="7"' not in page
    assert "no source found" in page


def test_an_answer_says_that_its_sentences_were_chosen(cast):
    page = page_of(cast.alice, "answer_detail", cast, asked(cast).pk)

    assert "Extractive answer" in page
    assert "no chat model is set up" in page


def test_what_was_true_when_it_was_asked_is_told_only_with_how_it_was_found(cast):
    left_out = {"code": "reports_left_out", "sentence": "Two topics were not read."}
    lost = {"code": "reports_lost", "sentence": "One call got no answer."}
    question = asked(cast, notes=[VECTORS, left_out, lost])

    page = page_of(cast.alice, "answer_detail", cast, question.pk)

    answer, _, how = page.partition("How this was found")
    assert "Two topics were not read." in answer
    for sentence in (VECTORS["sentence"], lost["sentence"]):
        assert sentence not in answer
        assert sentence in how


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_an_unsure_answer_shows_the_nearest_passages_and_no_prose(cast, who):
    question = asked(cast, outcome=Outcome.UNSURE)

    page = page_of(getattr(cast, who), "answer_detail", cast, question.pk)

    quote = re.search(r'<blockquote class="passage">(.*?)</blockquote>', page, re.DOTALL)
    assert UNSURE in page
    assert NOTHING not in page
    assert quote is not None
    assert quote[1].strip() == "Skarrow Light was built by Josiah Gault."
    assert 'data-cite="nearest-1"' in page
    assert "?start=0&amp;end=40" in page
    assert 'class="answer__text"' not in page
    assert "1 document in Harbour." in page
    assert "Search all documents" not in page


def test_where_the_documents_say_nothing_no_passage_is_shown(cast):
    question = asked(cast, outcome=Outcome.NOTHING)

    page = page_of(cast.alice, "answer_detail", cast, question.pk)

    assert NOTHING in page
    assert "Try other words, or add a document that covers it." in page
    assert "Add a document" in page
    assert "Skarrow Light was built" not in page
    assert UNSURE not in page


@pytest.mark.parametrize("outcome", [Outcome.UNSURE, Outcome.NOTHING])
def test_an_outsider_does_not_learn_what_came_of_a_question(cast, outcome):
    question = asked(cast, outcome=outcome)

    for name in ("answer_detail", "answer_fragment"):
        response = client_of(cast.charlie).get(address(name, cast, question.pk))

        assert response.status_code == 404
        assert outcome.label not in response.content.decode()


def test_words_of_a_document_are_never_taken_for_mark_up(cast):
    question = asked(cast)
    sentence = {"text": "<b>Lit</b> & <script>x</script>", "citations": [1], "marked": [[0, 10]]}
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(sentences=[sentence])

    page = page_of(cast.bob, "answer_detail", cast, question.pk)

    assert "<strong>&lt;b&gt;Lit&lt;/b&gt;</strong> &amp; &lt;script&gt;" in page
    assert "<script>x" not in page


def test_a_question_before_says_in_the_conversation_what_came_of_it(cast):
    question = asked(cast, outcome=Outcome.UNSURE)
    with access.in_workspace(cast.workspace.pk):
        later = Question.objects.create(
            workspace=cast.workspace,
            conversation_id=question.conversation_id,
            text="And then?",
            mode="lexical",
            asked_by=cast.alice,
        )
        Answer.objects.create(workspace=cast.workspace, question=later, trace={"notes": []})

    page = page_of(cast.alice, "answer_detail", cast, later.pk)

    assert "Your documents may not answer this." in page


def test_a_reader_who_may_not_add_is_not_asked_to(cast):
    question = asked(cast, outcome=Outcome.NOTHING, scope={"collections": []})

    page = page_of(cast.bob, "answer_detail", cast, question.pk)

    assert "Add a document" not in page


def test_a_question_asked_of_a_part_can_be_asked_of_all(cast):
    shelf = make_collection(cast.workspace, "Logs")
    question = asked(cast, outcome=Outcome.NOTHING, scope={"collections": [str(shelf.pk)]})

    page = page_of(cast.alice, "answer_detail", cast, question.pk)

    assert "Search all documents" in page
    assert "narrowed by filters" in page


def test_an_outsider_cannot_read_an_answer(cast):
    response = client_of(cast.charlie).get(address("answer_detail", cast, asked(cast).pk))

    assert response.status_code == 404
    assert CITED not in response.content.decode()


def test_an_answer_is_not_found_through_another_workspace(cast):
    question = asked(cast)
    other = make_cast("Elsewhere")

    response = client_of(cast.alice).get(address("answer_detail", other, question.pk))

    assert response.status_code == 404


def test_only_a_persons_own_questions_are_listed(cast):
    asked(cast)

    assert "When was the light" in page_of(cast.alice, "ask", cast)
    assert "When was the light" not in page_of(cast.bob, "ask", cast)


# --- asking --------------------------------------------------------------------------------------


def send(user, cast: Cast, **data: object):
    return client_of(user).post(address("ask", cast), data, follow=True)


def newest(cast: Cast) -> Answer:
    with access.in_workspace(cast.workspace.pk):
        rows = Answer.objects.in_workspace(cast.workspace).select_related("question")
        found = rows.order_by("-created_at").first()
    assert found is not None
    return found


def work(cast: Cast) -> Answer:
    """What a worker does when it is called."""
    answer = newest(cast)
    call = Call(jobs.KIND, cast.workspace.pk, answer.pk)
    assert jobs.QUEUE.claim(call, "worker")
    jobs.run_answer(cast.workspace.pk, answer.pk)
    return newest(cast)


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_ask_and_get_a_cited_answer(cast, who):
    light(cast)
    person = getattr(cast, who)

    response = send(person, cast, question="When was Skarrow Light first lit?", mode="lexical")

    waiting = response.content.decode()
    answer = work(cast)
    page = page_of(person, "answer_detail", cast, answer.question_id)
    assert response.status_code == 200
    assert "When was Skarrow Light first lit?" in waiting
    assert f"/answers/{answer.pk}/events/" in waiting
    assert f"/answers/{answer.pk}/stop/" in waiting
    assert "/events/" not in page
    assert "3 October 1869" in page
    assert 'data-cite="1"' in page


def test_an_outsider_cannot_ask(cast):
    light(cast)

    response = send(cast.charlie, cast, question="When was it lit?")

    assert response.status_code == 404
    with access.in_workspace(cast.workspace.pk):
        assert not Question.objects.in_workspace(cast.workspace).exists()


def test_a_question_without_a_word_is_refused_and_kept_in_the_box(cast):
    light(cast)

    page = send(cast.alice, cast, question="?!").content.decode()

    assert "The question contains no words." in page
    assert "?!</textarea>" in page


# --- search --------------------------------------------------------------------------------------


def test_search_ranks_passages_and_links_them_to_the_reader(cast):
    document = light(cast)

    page = page_of(cast.bob, "search", cast, q="Old Lady", mode="lexical")

    reader = reverse("ingestion:document_detail", args=[cast.workspace.slug, document.pk])
    assert "The keepers called the lens the Old Lady." in page
    assert f"{reader}?start=" in page


def test_search_stays_in_the_chosen_collection(cast):
    shelf = make_collection(cast.workspace, "Logs")
    make_document(cast.workspace, "A log", "The old lady of the log.", collection=shelf)
    light(cast)

    page = page_of(cast.bob, "search", cast, q="old lady", mode="lexical", collections=shelf.pk)

    assert "A log" in page
    assert "The keepers called" not in page


def test_finding_nothing_is_said_with_what_to_try(cast):
    light(cast)

    assert "Nothing was found" in page_of(cast.bob, "search", cast, q="zeppelin", mode="lexical")


def test_an_unknown_way_to_search_falls_back_to_the_first(cast):
    page = page_of(cast.bob, "search", cast, mode="magic", collections="no-id")

    assert re.search(rf'value="{next(iter(MODES))}"\s+selected', page)


def test_a_search_for_no_word_is_told_in_words(cast):
    light(cast)

    assert "contains no words" in page_of(cast.bob, "search", cast, q="...", mode="lexical")
