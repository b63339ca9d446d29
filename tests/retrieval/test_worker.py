"""The worker in this process: woken by the database, side by side, stopped and mended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from django.db import OperationalError, connections

from kb_project.database.outages import Listener
from kb_project.errors import EndpointError
from kb_project.jobs import claims, notify, worker
from kb_project.jobs.claims import LeasedRows
from kb_project.jobs.worker import Worker
from kb_project.sql import run_sql
from retrieval.answering import jobs
from retrieval.conversations import asking
from retrieval.evaluation import runs
from retrieval.models import AnswerState
from retrieval.search.reporting import EventKind
from retrieval.worker import new_worker
from tests.patience import NEVER, PATIENCE, wait_until
from tests.retrieval.answering.asked import (
    call_of,
    events_of,
    fresh,
    kinds_of,
    make_asked_cast,
    queue,
)
from workspaces import access

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


@pytest.fixture
def only_called(monkeypatch):
    """A worker that is told of everything, or never gets to know: it does not look itself."""
    monkeypatch.setattr(worker, "SECONDS_BETWEEN_RENEWALS", NEVER)


@pytest.fixture
def desk():
    """A worker that serves in threads of this process until the test ends."""
    with serving(threads=2) as made:
        yield made


@contextmanager
def serving(*, threads: int) -> Iterator[Worker]:
    made = new_worker(name="test-host:2:2")
    listener = Listener(notify.WORK, hear=made.hear)
    listener.start()
    wait_until(lambda: listener.is_listening)
    work: list[Callable[[], None]] = [
        made.tend,
        *[partial(made.serve, made.queues[jobs.KIND])] * threads,
    ]
    running = [threading.Thread(target=in_thread(one)) for one in work]
    for thread in running:
        thread.start()
    yield made
    made.stopping.set()
    for _ in running:
        made.todo[jobs.KIND].put(None)
    for thread in running:
        thread.join(PATIENCE)
    listener.stop()


def in_thread(work: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    return run


def wait_for(answer, state):
    wait_until(lambda: fresh(answer).state == state)
    return fresh(answer)


def test_a_question_is_answered_as_soon_as_it_is_committed(cast, desk):
    answer = wait_for(queue(cast), AnswerState.DONE)

    assert answer.sentences[0]["text"] == "Ada Lind keeps the Skarrow light."
    assert answer.worker == desk.name


def test_several_are_answered_side_by_side(cast, desk, monkeypatch):
    both = threading.Barrier(2, timeout=PATIENCE)
    real = jobs.flow.draft_answer
    monkeypatch.setattr(jobs.flow, "draft_answer", lambda *given: (both.wait(), real(*given))[1])

    answers = [queue(cast), queue(cast, "What does the lamp burn?")]

    for answer in answers:
        wait_for(answer, AnswerState.DONE)


def test_what_nobody_was_called_to_is_found_by_looking(cast, desk, monkeypatch):
    monkeypatch.setattr(notify, "call_to", lambda *_: "")
    answer = queue(cast)

    desk.look()

    wait_for(answer, AnswerState.DONE)


def test_a_database_that_stays_away_costs_no_seat(cast, desk, monkeypatch):
    real, tries = LeasedRows.claim, iter(range(100))

    def claim(*given):
        if next(tries) < 2:
            raise OperationalError("The server is starting up.")
        return real(*given)

    monkeypatch.setattr(LeasedRows, "claim", claim)
    monkeypatch.setattr(worker, "through_outages", lambda work: work())
    monkeypatch.setattr(worker, "LOOK_EVERY", 1)

    answers = [queue(cast), queue(cast, "What does the lamp burn?")]

    for answer in answers:
        wait_for(answer, AnswerState.DONE)


def test_one_answer_is_claimed_once_however_often_it_is_called(cast):
    answer = queue(cast)

    claimed = [jobs.QUEUE.claim(call_of(answer), name) for name in ("a:1:1", "b:2:2", "a:1:1")]

    assert claimed == [True, False, False]


def test_stopping_reaches_the_worker_that_is_at_it(cast, only_called, desk, monkeypatch):
    begun = threading.Event()

    def endless(_asking, reporter):
        reporter.emit(EventKind.TEXT, {"text": "Ada keeps it."})
        begun.set()
        while True:
            time.sleep(0.01)
            reporter.check()

    monkeypatch.setattr(jobs.flow, "draft_answer", endless)
    answer = queue(cast)
    assert begun.wait(PATIENCE)

    asking.answer_stop(workspace=cast.workspace, user=cast.bob, answer_id=answer.pk)
    stopped = wait_for(answer, AnswerState.STOPPED)

    assert [one["text"] for one in stopped.sentences] == ["Ada keeps it."]


def test_a_stop_that_nobody_heard_is_seen_with_the_lease(cast, desk, monkeypatch):
    begun = threading.Event()

    def endless(_asking, reporter):
        begun.set()
        while True:
            time.sleep(0.01)
            reporter.check()

    monkeypatch.setattr(jobs.flow, "draft_answer", endless)
    answer = queue(cast)
    assert begun.wait(PATIENCE)
    monkeypatch.setattr(notify, "wake", lambda *_: None)
    asking.answer_stop(workspace=cast.workspace, user=cast.bob, answer_id=answer.pk)

    wait_for(answer, AnswerState.STOPPED)


def test_what_nobody_foresaw_ends_the_answer_and_not_the_worker(cast, desk, monkeypatch, caplog):
    def broken(asking_, _reporter):
        raise ZeroDivisionError(f"dividing {asking_.question}")

    with monkeypatch.context() as patched:
        patched.setattr(jobs.flow, "draft_answer", broken)
        answer = wait_for(queue(cast, "Who keeps the secret light?"), AnswerState.FAILED)

    assert (answer.problem or {})["code"] == "internal"
    assert kinds_of(answer)[-1] == "failed"
    assert "ZeroDivisionError" in caplog.text
    assert "secret light" not in caplog.text
    wait_for(queue(cast), AnswerState.DONE)


def test_a_model_that_fails_is_told_and_the_worker_goes_on(cast, desk, monkeypatch):
    def away(_asking, _reporter):
        raise EndpointError("The endpoint does not answer.")

    with monkeypatch.context() as patched:
        patched.setattr(jobs.flow, "draft_answer", away)
        answer = wait_for(queue(cast), AnswerState.FAILED)

    assert (answer.problem or {})["code"] == "endpoint_down"
    wait_for(queue(cast), AnswerState.DONE)


def test_the_lease_is_renewed_while_it_works(cast, desk, monkeypatch):
    go_on, real = threading.Event(), jobs.flow.draft_answer

    def slow(asking_, reporter):
        assert go_on.wait(PATIENCE)
        return real(asking_, reporter)

    monkeypatch.setattr(jobs.flow, "draft_answer", slow)
    answer = queue(cast)
    lease = wait_for(answer, AnswerState.RUNNING).lease_until

    wait_until(lambda: fresh(answer).lease_until > lease)
    go_on.set()
    wait_for(answer, AnswerState.DONE)


def test_what_a_dead_worker_left_behind_is_ended_by_the_next_that_looks(cast):
    answer = queue(cast)
    assert jobs.QUEUE.claim(call_of(answer), dead_worker())

    assert new_worker().take_stock() == []

    ended = fresh(answer)
    assert (ended.state, (ended.problem or {})["code"]) == (AnswerState.FAILED, "interrupted")
    assert events_of(answer)[-1].payload["next_step"] == "Try again."


def test_what_a_living_worker_has_is_left_alone_until_its_lease_runs_out(cast):
    answer = queue(cast)
    jobs.QUEUE.claim(call_of(answer), "elsewhere:7:7")
    new_worker().take_stock()
    assert fresh(answer).state == AnswerState.RUNNING

    with access.in_workspace(cast.workspace.pk):
        run_sql(
            "UPDATE retrieval_answer SET lease_until = now() - interval '1 second'"
            " WHERE workspace_id = %s AND id = %s",
            [cast.workspace.pk, answer.pk],
        )
    new_worker().take_stock()

    assert fresh(answer).state == AnswerState.FAILED


def dead_worker() -> str:
    """On this host, with the start time of no process."""
    host = claims.worker_name().partition(":")[0]
    return f"{host}:1:17"


def test_what_is_queued_is_found_in_every_workspace(cast):
    other = make_asked_cast(name="Elsewhere")
    wanted = {call_of(queue(cast)), call_of(queue(other))}

    assert set(new_worker().take_stock()) == wanted


def test_a_message_that_makes_no_sense_is_passed_over():
    desk = new_worker()

    for message in ("", "answer", "answer x y", "dance " + "0" * 32 + " " + "0" * 32):
        desk.hear(message)

    assert all(waiting.empty() for waiting in desk.todo.values())


def test_stopping_what_is_not_there_does_nothing(cast):
    new_worker().hear(f"stop {cast.workspace.pk} {cast.workspace.pk}")


def test_what_is_missed_is_added_once_while_it_waits(cast):
    desk = new_worker()
    queue(cast)
    queue(cast, "And the lamp?")

    desk.look()
    desk.look()

    assert desk.todo[jobs.KIND].qsize() == 2
    assert desk.todo[runs.KIND].empty()


def test_an_evaluation_waits_in_a_line_of_its_own(cast):
    desk = new_worker()

    desk.hear(f"evaluation {cast.workspace.pk} {cast.workspace.pk}")

    assert desk.todo[jobs.KIND].empty()
    assert desk.todo[runs.KIND].qsize() == 1
