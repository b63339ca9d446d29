"""Asking without waiting, stopping and asking again through the API."""

from __future__ import annotations

import uuid

import pytest

from retrieval.answering import jobs
from retrieval.models import Answer, AnswerState
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.retrieval.answering.asked import (
    QUESTION,
    WORKER,
    call_of,
    fresh,
    kinds_of,
    make_asked_cast,
    queue,
    run,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


def post(user, workspace, path, body=None):
    return client(user).post(address(workspace, path), body or {})


def get(user, workspace, path):
    return client(user).get(address(workspace, path))


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_owner_and_reader_ask_and_are_told_where_to_follow(cast, who):
    response = post(getattr(cast, who), cast.workspace, "questions/", {"question": QUESTION})

    assert response.status_code == 202
    body = response.json()
    assert set(body) == {"id", "question_id", "conversation", "state", "events"}
    assert body["state"] == "queued"
    expected = address(cast.workspace, f"answers/{body['id']}/events/")
    assert body["events"] == expected


def test_a_stranger_asks_nothing(cast):
    assert_nothing_there(post(cast.charlie, cast.workspace, "questions/", {"question": QUESTION}))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_input"),
        ({"question": "???"}, "question_empty"),
        ({"question": QUESTION, "mode": "telepathy"}, "invalid_input"),
        ({"question": "a" * 5_000}, "invalid_input"),
        ({"question": QUESTION, "scope": {"tags": "x"}}, "invalid_input"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(cast, body, code):
    assert_problem(post(cast.bob, cast.workspace, "questions/", body), 400, code)


def test_a_question_goes_on_with_ones_own_conversation_only(cast):
    first = post(cast.bob, cast.workspace, "questions/", {"question": QUESTION}).json()
    again = {"question": "And when did she come?", "conversation": first["conversation"]}

    mine = post(cast.bob, cast.workspace, "questions/", again)
    hers = post(cast.alice, cast.workspace, "questions/", again)
    lost = post(cast.bob, cast.workspace, "questions/", again | {"conversation": str(uuid.uuid4())})

    assert mine.json()["conversation"] == first["conversation"]
    assert_problem(hers, 403, "forbidden")
    assert_problem(lost, 404, "not_found")


def test_an_answer_on_its_way_shows_its_state(cast):
    answer = queue(cast)

    body = get(cast.alice, cast.workspace, f"answers/{answer.pk}/").json()

    assert (body["state"], body["answer"], body["problem"]) == ("queued", "", None)
    assert (body["question"], body["finished_at"]) == (QUESTION, None)


def test_an_answer_that_is_there_shows_all_of_it(cast):
    answer = run(queue(cast))

    body = get(cast.bob, cast.workspace, f"answers/{answer.pk}/").json()

    assert (body["state"], body["supported"]) == ("done", True)
    assert (body["mode"], body["mode_used"]) == ("hybrid", "hybrid")
    sentence = body["sentences"][0]
    assert sentence["citations"] == [1]
    assert sentence["spans"] == [[1, 0, 33]]
    assert sentence["check"]["verdict"] == "supported"
    assert body["citations"][0]["spans"][0] == [0, 33]
    assert body["follow_ups"] == answer.follow_ups
    assert body["conversation"] == str(answer.question.conversation_id)


def test_an_answer_that_failed_says_why(cast):
    answer = queue(cast)
    jobs.QUEUE.claim(call_of(answer), WORKER)
    jobs.QUEUE.interrupt(call_of(answer), WORKER)

    body = get(cast.bob, cast.workspace, f"answers/{answer.pk}/").json()

    assert body["state"] == "failed"
    assert set(body["problem"]) == {"code", "happened", "kept", "next_step"}
    assert body["problem"]["code"] == "interrupted"


def test_of_two_answers_the_one_that_was_asked_for_is_shown(cast):
    first = run(queue(cast))
    second = post(cast.bob, cast.workspace, f"questions/{first.question_id}/again/").json()

    for wanted, state in ((str(first.pk), "done"), (second["id"], "queued")):
        body = get(cast.bob, cast.workspace, f"answers/{wanted}/").json()
        assert (body["id"], body["state"]) == (wanted, state)


@pytest.mark.parametrize("path", ["", "events/"])
def test_a_stranger_sees_no_answer(cast, path):
    answer = queue(cast)

    assert_nothing_there(get(cast.charlie, cast.workspace, f"answers/{answer.pk}/{path}"))


def test_who_asked_stops_what_waits(cast):
    answer = queue(cast)

    response = post(cast.bob, cast.workspace, f"answers/{answer.pk}/stop/")

    assert (response.status_code, response.json()["state"]) == (202, "stopped")
    assert fresh(answer).finished_at
    assert kinds_of(answer) == ["state", "stopped"]
    assert not jobs.QUEUE.claim(call_of(answer), WORKER)


def test_what_is_being_made_is_told_to_stop(cast):
    answer = queue(cast)
    jobs.QUEUE.claim(call_of(answer), WORKER)

    response = post(cast.bob, cast.workspace, f"answers/{answer.pk}/stop/")

    assert response.json()["state"] == "running"
    assert fresh(answer).wants_stop


def test_what_has_ended_stays_as_it_is(cast):
    answer = run(queue(cast))

    response = post(cast.bob, cast.workspace, f"answers/{answer.pk}/stop/")

    assert (response.status_code, response.json()["state"]) == (202, "done")
    assert not fresh(answer).wants_stop


def test_an_owner_stops_anybodys_and_a_reader_only_their_own(cast):
    hers = queue(cast, user=cast.alice)
    his = queue(cast, user=cast.bob)

    refused = post(cast.bob, cast.workspace, f"answers/{hers.pk}/stop/")
    allowed = post(cast.alice, cast.workspace, f"answers/{his.pk}/stop/")

    assert_problem(refused, 403, "forbidden")
    assert allowed.json()["state"] == "stopped"
    assert fresh(hers).state == AnswerState.QUEUED


def test_a_stranger_stops_and_repeats_nothing(cast):
    answer = queue(cast)

    assert_nothing_there(post(cast.charlie, cast.workspace, f"answers/{answer.pk}/stop/"))
    again = post(cast.charlie, cast.workspace, f"questions/{answer.question_id}/again/")
    assert_nothing_there(again)
    assert fresh(answer).state == AnswerState.QUEUED


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_a_question_is_answered_again(cast, who):
    first = run(queue(cast))

    response = post(
        getattr(cast, who),
        cast.workspace,
        f"questions/{first.question_id}/again/",
        {"mode": "lexical"},
    )

    assert response.status_code == 202
    assert response.json()["question_id"] == str(first.question_id)
    assert response.json()["id"] != str(first.pk)


@pytest.mark.parametrize("path", ["answers/{}/stop/", "questions/{}/again/"])
def test_what_is_not_there_is_not_found(cast, path):
    response = post(cast.bob, cast.workspace, path.format(uuid.uuid4()))

    assert_problem(response, 404, "not_found")


def test_an_unknown_mode_is_no_way_to_ask_again(cast):
    first = queue(cast)

    response = post(
        cast.bob, cast.workspace, f"questions/{first.question_id}/again/", {"mode": "x"}
    )

    assert_problem(response, 400, "invalid_input")


def test_nobody_does_anything_without_signing_in(cast):
    answer = queue(cast)

    for path in (
        "questions/",
        f"answers/{answer.pk}/stop/",
        f"questions/{answer.question_id}/again/",
    ):
        assert_problem(post(None, cast.workspace, path), 401, "not_authenticated")


def test_the_schema_describes_all_of_it():
    schema = client().get("/api/v1/schema/", HTTP_ACCEPT="application/json").json()

    place = "/api/v1/workspaces/{workspace_id}"
    events = schema["paths"][f"{place}/answers/{{answer_id}}/events/"]["get"]
    assert "text/event-stream" in events["responses"]["200"]["content"]
    for path in ("questions/", "questions/{question_id}/again/", "answers/{answer_id}/stop/"):
        assert "202" in schema["paths"][f"{place}/{path}"]["post"]["responses"]


def test_a_question_with_a_key_is_queued_once(cast):
    def send(question):
        given, body = address(cast.workspace, "questions/"), {"question": question}
        return client(cast.bob).post(given, body, headers={"Idempotency-Key": "once"})

    first, again, other = send(QUESTION), send(QUESTION), send("Who bought the oil?")

    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json() == first.json()
    assert_problem(other, 409, "idempotency_key_reused")
    assert Answer.objects.in_workspace(cast.workspace).count() == 1
