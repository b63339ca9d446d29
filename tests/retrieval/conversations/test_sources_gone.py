"""Answers whose sources are put away or deleted, while they are made and afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion.documents import lifecycle
from ingestion.history.recording import ChangeContext
from ingestion.models import Document
from retrieval.answering.events import StoredReporter
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerEvent, AnswerState, Citation
from retrieval.search.reporting import EventKind
from tests import rows
from tests.api import address, client
from tests.retrieval.answering.asked import QUESTION, make_asked_cast, queue, run
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]


@pytest.fixture
def cast(fake_embedder: None) -> rows.Cast:
    return make_asked_cast()


def documents(cast: rows.Cast) -> list[Document]:
    with access.in_workspace(cast.workspace.pk):
        return list(Document.objects.in_workspace(cast.workspace))


def delete_all(cast: rows.Cast) -> None:
    lifecycle.documents_delete(
        change=ChangeContext(cast.workspace, cast.alice), documents=documents(cast)
    )


def trash_all(cast: rows.Cast) -> None:
    lifecycle.documents_trash(
        change=ChangeContext(cast.workspace, cast.alice), documents=documents(cast)
    )


def ask(cast: rows.Cast) -> Answer:
    return asking.ask(
        workspace=cast.workspace, user=cast.alice, question=QUESTION, mode="hybrid", scope=None
    )


def citations_of(cast: rows.Cast, answer: Answer) -> list[Citation]:
    with access.in_workspace(cast.workspace.pk):
        cited = Citation.objects.in_workspace(cast.workspace).select_related("document")
        return list(cited.filter(answer=answer))


def shown(cast: rows.Cast, answer: Answer) -> dict[str, Any]:
    response = client(cast.alice).get(address(cast.workspace, f"answers/{answer.pk}/"))
    assert response.status_code == 200, response.content
    return response.json()


def page(cast: rows.Cast, answer: Answer, browser: Any) -> str:
    browser.force_login(cast.alice)
    with access.in_workspace(cast.workspace.pk):
        question = Answer.objects.in_workspace(cast.workspace).get(pk=answer.pk).question_id
    response = browser.get(f"/w/{cast.workspace.slug}/questions/{question}/")
    assert response.status_code == 200
    return response.content.decode()


def test_a_citation_keeps_its_number_and_loses_what_it_quoted(cast: rows.Cast):
    answer = ask(cast)
    before = citations_of(cast, answer)
    assert before
    assert all(one.quote for one in before)

    delete_all(cast)

    after = citations_of(cast, answer)
    assert [one.number for one in after] == [one.number for one in before]
    assert all(one.quote == "" and one.document is None for one in after)
    assert all("deleted on" in one.title for one in after)


def test_page_and_api_say_that_the_source_was_deleted(cast: rows.Cast, client: Any):
    answer = ask(cast)

    delete_all(cast)

    told = shown(cast, answer)["citations"]
    assert [(one["document"], one["quote"]) for one in told] == [(None, "")] * len(told)
    assert "A document that was deleted on" in page(cast, answer, client)


def test_nothing_of_its_passages_is_left_in_what_was_told(cast: rows.Cast):
    answer = run(queue(cast))

    delete_all(cast)

    with access.in_workspace(cast.workspace.pk):
        events = AnswerEvent.objects.in_workspace(cast.workspace).filter(answer=answer)
        told = {event.kind: event.payload for event in events}
    assert told["passages"]["passages"] == []
    assert all(one["quote"] == "" for one in told["answer"]["citations"])


def test_what_is_in_the_trash_is_still_quoted_where_it_was_cited(cast: rows.Cast, client: Any):
    answer = ask(cast)
    quotes = [one.quote for one in citations_of(cast, answer)]

    trash_all(cast)

    assert [one.quote for one in citations_of(cast, answer)] == quotes
    assert page(cast, answer, client)


def test_the_same_question_is_answered_anew_once_its_source_is_in_the_trash(cast: rows.Cast):
    assert ask(cast).is_supported

    trash_all(cast)

    assert not ask(cast).is_supported


@pytest.mark.parametrize("gone", [trash_all, delete_all], ids=["trash", "deleted"])
@pytest.mark.parametrize("at", ["plan", "passages", "text", "answer"])
def test_an_answer_under_way_ends_in_a_clear_state(
    cast: rows.Cast, client: Any, monkeypatch: pytest.MonkeyPatch, gone: Any, at: str
):
    emit = StoredReporter.emit

    def interrupted(self: StoredReporter, kind: EventKind, payload: Any) -> None:
        emit(self, kind, payload)
        if kind.value == at and documents(cast):
            gone(cast) if any(row.is_live for row in documents(cast)) else None

    monkeypatch.setattr(StoredReporter, "emit", interrupted)

    answer = run(queue(cast))

    assert answer.state in (AnswerState.DONE, AnswerState.FAILED)
    assert answer.state == AnswerState.DONE or answer.problem
    assert page(cast, answer, client)
    shown(cast, answer)


def test_the_next_answer_says_that_nothing_is_known(cast: rows.Cast, client: Any):
    delete_all(cast)

    answer = ask(cast)

    assert (answer.state, answer.is_supported) == (AnswerState.DONE, False)
    assert page(cast, answer, client)
