"""A question's page while it is answered and after: who sees it, stops it, asks again."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.utils.html import escape

from kb_project.jobs.notify import Call
from retrieval.answering import events, jobs
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerState, Citation, Question
from retrieval.search.modes import MODES
from retrieval.search.reporting import EventKind
from tests.retrieval import pages
from tests.retrieval.pages import QUESTION, TEXT, address, answers, change, client_of, page_of
from tests.rows import Cast
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return pages.cast_with_light()


@pytest.fixture
def queued(cast: Cast) -> Answer:
    return pages.asked_by_alice(cast)


def work(cast: Cast, answer: Answer) -> None:
    assert jobs.QUEUE.claim(Call(jobs.KIND, cast.workspace.pk, answer.pk), "worker")
    jobs.run_answer(cast.workspace.pk, answer.pk)


def happened(cast: Cast, answer: Answer, kind: EventKind, **payload: Any) -> None:
    with access.in_workspace(cast.workspace.pk):
        events.add_last(cast.workspace.pk, answer.pk, kind, payload)


def find_passages(cast: Cast, answer: Answer) -> None:
    passage = {
        "number": 1,
        "chunk": str(uuid4()),
        "document": str(uuid4()),
        "title": "The light",
        "start": 0,
        "end": len(TEXT),
        "text": TEXT,
        "why": [],
    }
    happened(cast, answer, EventKind.PASSAGES, passages=[passage])


# --- while it is made ----------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_follow_an_answer_and_can_look_again_without_script(cast, queued, who):
    page = page_of(getattr(cast, who), "answer_detail", cast, queued.question_id)

    assert f"/answers/{queued.pk}/events/" in page
    assert "Look again" in page
    assert "<noscript>" in page


def test_an_outsider_follows_nothing(cast, queued):
    for name in ("answer_detail", "answer_fragment"):
        response = client_of(cast.charlie).get(address(name, cast, queued.question_id))

        assert response.status_code == 404
        assert QUESTION not in response.content.decode()


def test_whoever_asked_may_stop_and_another_reader_is_not_offered_it(cast, queued):
    assert "data-stop" in page_of(cast.alice, "answer_fragment", cast, queued.question_id)
    assert "data-stop" not in page_of(cast.bob, "answer_fragment", cast, queued.question_id)


def test_the_part_that_changes_is_fetched_alone(cast, queued):
    happened(cast, queued, EventKind.STEP, name="search", sentence="Searching for passages.")

    page = page_of(cast.bob, "answer_fragment", cast, queued.question_id, answer=queued.pk)

    assert "<html" not in page
    assert 'id="answer"' in page
    assert "Searching for passages." in page
    assert 'data-sequence="1"' in page


def test_passages_come_before_any_text(cast, queued):
    find_passages(cast, queued)

    page = page_of(cast.bob, "answer_fragment", cast, queued.question_id)

    assert "Skarrow Light was built by Josiah Gault." in page
    assert 'data-chip="1"' in page


def test_the_answer_of_another_question_is_not_found_under_this_one(cast, queued):
    other = asking.ask(
        workspace=cast.workspace, user=cast.alice, question="When was it lit?", mode="lexical"
    )

    response = client_of(cast.alice).get(
        address("answer_fragment", cast, queued.question_id), {"answer": str(other.pk)}
    )

    assert response.status_code == 404


# --- stopping ------------------------------------------------------------------------------------


def test_stopping_leads_back_to_the_answer(cast, queued):
    response = client_of(cast.alice).post(address("answer_stop", cast, queued.pk), follow=True)

    assert answers(cast)[0].state == AnswerState.STOPPED
    assert "This answer was stopped." in response.content.decode()
    assert "Ask again" in response.content.decode()


def test_a_page_that_follows_the_answer_is_told_nothing_but_that_it_worked(cast, queued):
    response = client_of(cast.alice).post(
        address("answer_stop", cast, queued.pk), headers={"HX-Request": "true"}
    )

    assert response.status_code == 204


def test_another_reader_may_not_stop_it_and_is_told_who_may(cast, queued):
    response = client_of(cast.bob).post(address("answer_stop", cast, queued.pk))

    assert response.status_code == 403
    assert "Only the person who asked, or an admin" in response.content.decode()
    assert answers(cast)[0].state == AnswerState.QUEUED


def test_an_outsider_stops_nothing(cast, queued):
    response = client_of(cast.charlie).post(address("answer_stop", cast, queued.pk))

    assert response.status_code == 404
    assert answers(cast)[0].state == AnswerState.QUEUED


def test_stopping_and_asking_again_are_not_done_by_a_link(cast, queued):
    for name, pk in (("answer_stop", queued.pk), ("question_again", queued.question_id)):
        assert client_of(cast.alice).get(address(name, cast, pk)).status_code == 405


# --- asking again --------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_a_question_is_answered_again_in_another_way_and_both_answers_stay(cast, queued, who):
    work(cast, queued)

    response = client_of(getattr(cast, who)).post(
        address("question_again", cast, queued.question_id), {"mode": "hybrid"}, follow=True
    )

    first, second = answers(cast)
    page = response.content.decode()
    assert (first.state, second.mode, second.state) == ("done", "hybrid", "queued")
    assert f"?answer={first.pk}" in page
    assert f"?answer={second.pk}" in page
    assert f"/answers/{second.pk}/events/" in page
    assert "Josiah Gault" in page_of(
        cast.bob, "answer_detail", cast, queued.question_id, answer=first.pk
    )


def test_an_outsider_asks_nothing_again(cast, queued):
    response = client_of(cast.charlie).post(address("question_again", cast, queued.question_id))

    assert response.status_code == 404
    assert len(answers(cast)) == 1


def test_a_way_there_is_not_is_refused_in_words(cast, queued):
    response = client_of(cast.alice).post(
        address("question_again", cast, queued.question_id), {"mode": "telepathy"}
    )

    assert response.status_code == 400
    assert "no search mode" in response.content.decode()
    assert len(answers(cast)) == 1


def test_every_way_is_offered_for_asking_again(cast, queued):
    work(cast, queued)

    page = page_of(cast.bob, "answer_fragment", cast, queued.question_id)

    assert all(f'value="{name}"' in page for name in MODES)


# --- how it ended --------------------------------------------------------------------------------


def test_a_failure_says_what_happened_and_keeps_passages_and_text(cast, queued):
    find_passages(cast, queued)
    happened(cast, queued, EventKind.TEXT, text="It was built by [1]")
    problem = {
        "code": "interrupted",
        "happened": "The worker stopped.",
        "kept": "The question is kept.",
        "next_step": "Try again.",
    }
    change(cast, queued, state=AnswerState.FAILED, problem=problem)

    page = page_of(cast.bob, "answer_detail", cast, queued.question_id)

    assert "The worker stopped." in page
    assert "The question is kept." in page
    assert "Try again" in page
    assert "It was built by" in page
    assert "Skarrow Light was built by Josiah Gault." in page
    assert "/events/" not in page


def test_a_checked_sentence_carries_what_was_found_out(cast, queued):
    work(cast, queued)
    with access.in_workspace(cast.workspace.pk):
        citation = Citation.objects.in_workspace(cast.workspace).get()
    span = [citation.number, citation.start, citation.start + 7]
    sentences = [
        {"text": text, "citations": numbers, "spans": spans, "check": check and {"verdict": check}}
        for text, numbers, spans, check in (
            ("Built by Gault.", [1], [span], "supported"),
            ("It is tall.", [1], [span], "unsupported"),
            ("Towers are round.", [], [], "general"),
            ("It was lit twice.", [1], [span], "conflict"),
            ("It is old.", [], [], "unsupported"),
            ("The light:", [], [], None),
        )
    ]
    change(cast, queued, sentences=sentences, is_supported=True)

    page = page_of(cast.bob, "answer_detail", cast, queued.question_id)

    for tag in ("not supported by its source", "verify", "the sources differ", "no source found"):
        assert page.count(f">{tag}") == 1
    assert f"?start={citation.start}&amp;end={citation.start + 7}" in page
    assert f'data-card="1-{citation.start}-{citation.start + 7}"' in page


def test_follow_ups_are_asked_in_the_same_conversation(cast, queued):
    work(cast, queued)
    change(cast, queued, follow_ups=["When was it first lit?"])
    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.in_workspace(cast.workspace).get()

    page = page_of(cast.alice, "answer_detail", cast, question.pk)
    client_of(cast.alice).post(
        address("ask", cast),
        {"question": "When was it first lit?", "conversation": question.conversation_id},
    )

    with access.in_workspace(cast.workspace.pk):
        asked = Question.objects.in_workspace(cast.workspace).order_by("created_at").last()
    assert 'value="When was it first lit?"' in page
    assert asked is not None
    assert asked.conversation_id == question.conversation_id
    assert "Earlier in this conversation" in page_of(cast.alice, "answer_detail", cast, asked.pk)


def test_a_question_worded_anew_says_how_it_was_understood(cast, queued):
    work(cast, queued)
    with access.in_workspace(cast.workspace.pk):
        Question.objects.in_workspace(cast.workspace).update(standalone="Who built the tower?")

    page = page_of(cast.bob, "answer_detail", cast, queued.question_id)

    assert "Understood as:" in page
    assert "Who built the tower?" in page


@pytest.mark.parametrize(("who", "goes_on"), [("alice", True), ("bob", False)])
def test_what_was_understood_wrongly_is_corrected_in_the_box(cast, queued, who, goes_on):
    work(cast, queued)
    with access.in_workspace(cast.workspace.pk):
        Question.objects.in_workspace(cast.workspace).update(standalone="Who built the tower?")
        conversation = Question.objects.in_workspace(cast.workspace).get().conversation_id
    page = page_of(getattr(cast, who), "answer_detail", cast, queued.question_id)
    link = re.search(r'href="([^"]+)">Correct it', page)
    assert link is not None

    box = client_of(getattr(cast, who)).get(unescape(link[1])).content.decode()

    assert "Who built the tower?" in box
    assert (str(conversation) in box) is goes_on


def test_the_page_explains_how_the_answer_was_found(cast, queued):
    work(cast, queued)

    page = page_of(cast.bob, "answer_detail", cast, queued.question_id)

    assert "How this was found" in page
    assert escape(MODES["lexical"].explanation) in page


def test_a_long_question_is_folded_and_a_short_one_is_not(cast, queued):
    assert "long-question" not in page_of(cast.bob, "answer_detail", cast, queued.question_id)
    with access.in_workspace(cast.workspace.pk):
        Question.objects.in_workspace(cast.workspace).update(text="light " * 660)

    page = page_of(cast.bob, "answer_detail", cast, queued.question_id)

    assert '<details class="long-question">' in page
    assert "The whole question" in page
