"""A job's claim commits with what it begins with, and never before."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from kb_project.errors import InputError
from kb_project.jobs.worker import Attempt
from retrieval.answering import jobs
from retrieval.models import AnswerState
from retrieval.worker import new_worker
from tests.retrieval.answering.asked import WORKER, call_of, fresh, kinds_of, make_asked_cast, queue

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


@pytest.fixture
def worker():
    return new_worker(name=WORKER)


def broken_at_first(monkeypatch, error):
    def load(*_ids):
        raise error

    monkeypatch.setattr(jobs, "load", load)


def test_a_job_is_ours_and_hears_of_stops_once_it_has_begun(cast, worker, monkeypatch):
    answer = queue(cast)
    seen: list[object] = []

    def drafted(_asking, reporter):
        seen.append(fresh(answer).state)
        worker.hear(f"stop {answer.workspace_id} {answer.pk}")
        seen.append(reporter.is_stopped)

    monkeypatch.setattr(jobs.flow, "draft_answer", drafted)
    worker.do(call_of(answer))

    assert seen == [AnswerState.RUNNING, True]
    assert worker.running == {}


def test_what_breaks_before_it_has_begun_undoes_the_claim(cast, worker, monkeypatch):
    broken_at_first(monkeypatch, ZeroDivisionError())
    answer = queue(cast)

    with pytest.raises(ZeroDivisionError):
        Attempt(jobs.QUEUE, call_of(answer), worker).run()

    assert fresh(answer).state == AnswerState.QUEUED
    assert jobs.QUEUE.claim(call_of(answer), "another:2:2")


def test_a_job_that_cannot_even_begin_fails_and_is_not_begun_for_ever(cast, worker):
    answer = queue(cast)

    Attempt(jobs.QUEUE, call_of(answer), worker).fail(ZeroDivisionError())

    assert fresh(answer).state == AnswerState.FAILED
    assert kinds_of(answer)[-1] == "failed"


@pytest.mark.parametrize(
    ("error", "code"),
    [(ZeroDivisionError("secret"), "internal"), (InputError("No.", code="odd"), "odd")],
)
def test_whoever_asked_is_told_of_an_answer_that_could_not_begin(
    cast, worker, monkeypatch, error, code
):
    broken_at_first(monkeypatch, error)
    answer = queue(cast)

    worker.do(call_of(answer))

    assert (fresh(answer).problem or {})["code"] == code


def test_a_database_that_goes_away_at_the_beginning_leaves_the_job_to_be_begun_again(
    cast, worker, monkeypatch
):
    broken_at_first(monkeypatch, OperationalError("gone"))
    answer = queue(cast)

    with pytest.raises(OperationalError):
        worker.do(call_of(answer))

    assert fresh(answer).state == AnswerState.QUEUED


def test_what_another_worker_has_is_not_done(cast, worker):
    answer = queue(cast)
    assert jobs.QUEUE.claim(call_of(answer), "another:2:2")

    worker.do(call_of(answer))

    assert fresh(answer).worker == "another:2:2"
