"""A job's claim commits with what it begins with, and never before."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from kb_project.errors import InputError
from retrieval.answering import claims, persistence, worker
from retrieval.answering.claiming import Running, Taking
from retrieval.answering.worker import Desk
from retrieval.models import AnswerState
from tests.retrieval.answering.asked import WORKER, call_of, fresh, kinds_of, make_asked_cast, queue

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


def broken_at_first(monkeypatch, error):
    def load(*_ids):
        raise error

    monkeypatch.setattr(worker.import_string("retrieval.answering.jobs"), "load", load)


def test_a_job_is_ours_and_hears_of_stops_once_it_is_settled(cast):
    answer, running = queue(cast), Running()
    with Taking(call_of(answer), WORKER, running) as taking:
        assert taking.claim()
        assert running.calls() == []

        taking.settle()

        assert fresh(answer).state == AnswerState.RUNNING
        running.halt(call_of(answer))
        assert taking.halt.is_set

    taking.leave()
    assert running.calls() == []


def test_what_breaks_before_it_is_settled_undoes_the_claim(cast):
    answer = queue(cast)

    def begin() -> None:
        with Taking(call_of(answer), WORKER, Running()) as taking:
            taking.claim()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        begin()

    assert fresh(answer).state == AnswerState.QUEUED
    assert claims.claim(call_of(answer), "another:2:2")


def test_a_job_that_cannot_even_begin_fails_and_is_not_begun_for_ever(cast):
    answer = queue(cast)
    taking = Taking(call_of(answer), WORKER, Running())

    taking.fail(persistence.UNEXPECTED)

    assert fresh(answer).state == AnswerState.FAILED
    assert kinds_of(answer)[-1] == "failed"


@pytest.mark.parametrize(
    ("error", "code"),
    [(ZeroDivisionError("secret"), "internal"), (InputError("No.", code="odd"), "odd")],
)
def test_whoever_asked_is_told_of_an_answer_that_could_not_begin(cast, monkeypatch, error, code):
    broken_at_first(monkeypatch, error)
    answer = queue(cast)

    worker._do(Desk(name=WORKER), call_of(answer))

    assert (fresh(answer).problem or {})["code"] == code


def test_a_database_that_goes_away_at_the_beginning_leaves_the_job_to_be_begun_again(
    cast, monkeypatch
):
    broken_at_first(monkeypatch, OperationalError("gone"))
    answer = queue(cast)

    with pytest.raises(OperationalError):
        worker._do(Desk(name=WORKER), call_of(answer))

    assert fresh(answer).state == AnswerState.QUEUED


def test_what_another_worker_has_is_not_done(cast):
    answer = queue(cast)
    assert claims.claim(call_of(answer), "another:2:2")

    worker._do(Desk(name=WORKER), call_of(answer))

    assert fresh(answer).worker == "another:2:2"
