"""Answers whose passages are shown wait for those without: in the worker, to their end."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connections

from kb_project.jobs import claims
from kb_project.sql import run_sql
from retrieval.answering import flow, jobs, scheduler
from retrieval.conversations import asking
from retrieval.models import AnswerState
from retrieval.worker import new_worker
from tests.patience import NEVER, PATIENCE, wait_until
from tests.retrieval.answering.asked import fresh, kinds_of, make_asked_cast, queue
from tests.retrieval.test_worker import only_called as only_called, serving, wait_for
from workspaces import access

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]

THREADS = 12
SLOW = "What does the slow lamp burn?"


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


@pytest.fixture
def desk():
    """A worker in threads of this process, many of them."""
    with serving(threads=THREADS) as made:
        yield made


@pytest.fixture
def slow(monkeypatch):
    """While it is not set, the slow question is being looked for; nobody loses patience."""
    go_on, real = threading.Event(), flow._find
    monkeypatch.setattr(scheduler, "PATIENCE", NEVER)
    monkeypatch.setattr(scheduler, "FRESH", NEVER)

    def find(asked, reporter):
        if asked.question == SLOW:
            assert go_on.wait(PATIENCE)
        return real(asked, reporter)

    monkeypatch.setattr(flow, "_find", find)
    yield go_on
    go_on.set()


def begun_slowly(cast):
    answer = queue(cast, SLOW)
    wait_for(answer, AnswerState.RUNNING)
    return answer


def waiting(cast, question="Who keeps the Skarrow light?"):
    """An answer whose passages are shown, and that waits."""
    answer = queue(cast, question)
    wait_until(lambda: "passages" in kinds_of(answer))
    return answer


def is_written(answer):
    return "answer" in kinds_of(answer)


def test_passages_are_shown_at_once_and_the_answer_waits_for_others(cast, desk, slow):
    begun_slowly(cast)
    answers = [waiting(cast, "Who keeps the Skarrow light" + "?" * n) for n in range(1, 7)]

    time.sleep(0.3)
    assert not any(is_written(answer) for answer in answers)
    slow.set()

    for answer in answers:
        assert wait_for(answer, AnswerState.DONE).sentences


def test_what_waits_holds_no_connection(cast, desk, slow):
    begun_slowly(cast)
    before = connections_of()

    for number in range(6):
        waiting(cast, f"Who keeps light number {number}?")

    wait_until(lambda: connections_of() <= before)


def connections_of() -> int:
    [(count,)] = run_sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
    return int(count)


def test_threads_that_are_done_hold_no_connection(cast, desk):
    before = connections_of()

    for answer in [queue(cast, f"Who keeps light number {number}?") for number in range(10)]:
        wait_for(answer, AnswerState.DONE)

    wait_until(lambda: connections_of() <= before + 2)


def test_what_waits_can_be_stopped(cast, only_called, desk, slow):
    begun_slowly(cast)
    answer, other = waiting(cast), waiting(cast, "What does the lamp burn?")

    asking.answer_stop(workspace=cast.workspace, user=cast.bob, answer_id=answer.pk)
    wait_for(answer, AnswerState.STOPPED)

    assert kinds_of(answer)[-1] == "stopped"
    assert fresh(other).state == AnswerState.RUNNING
    slow.set()
    wait_for(other, AnswerState.DONE)


def test_what_waits_keeps_its_lease(cast, desk, slow):
    begun_slowly(cast)
    answer = waiting(cast)

    def lease() -> float:
        until = fresh(answer).lease_until
        return until.timestamp() if until else 0.0

    before = lease()
    wait_until(lambda: lease() > before)
    assert before


def test_what_waits_in_a_worker_that_died_is_ended_by_the_next(cast, desk, slow):
    begun_slowly(cast)
    answer = waiting(cast)
    dead = f"{claims.worker_name().partition(':')[0]}:1:17"
    with access.in_workspace(cast.workspace.pk):
        run_sql(
            "UPDATE retrieval_answer SET worker = %s WHERE workspace_id = %s AND id = %s",
            [dead, cast.workspace.pk, answer.pk],
        )

    new_worker().take_stock()

    ended = fresh(answer)
    assert (ended.state, (ended.problem or {})["code"]) == (AnswerState.FAILED, "interrupted")
    assert "passages" in kinds_of(answer)
    slow.set()
    time.sleep(0.5)
    assert kinds_of(answer)[-1] == "failed"


def test_a_worker_that_is_told_to_stop_ends_what_waits(cast, desk, slow):
    begun_slowly(cast)
    answer = waiting(cast)

    desk.interrupt_all()

    assert (wait_for(answer, AnswerState.FAILED).problem or {})["code"] == "interrupted"


def test_what_fails_while_others_wait_lets_them_go_on(cast, desk, slow, monkeypatch):
    begun_slowly(cast)
    answer = waiting(cast)
    real = jobs.flow._find

    def broken(asked, reporter):
        real(asked, reporter)
        raise ZeroDivisionError

    monkeypatch.setattr(jobs.flow, "_find", broken)
    failing = queue(cast, "Who broke the lamp?")
    wait_for(failing, AnswerState.FAILED)
    slow.set()

    wait_for(answer, AnswerState.DONE)


def test_nobody_waits_for_ever(cast, desk, slow, monkeypatch):
    monkeypatch.setattr(scheduler, "PATIENCE", 0.5)
    begun_slowly(cast)

    wait_for(waiting(cast), AnswerState.DONE)

    assert not slow.is_set()


def test_of_fifty_at_once_none_is_lost_and_each_shows_its_passages_first(cast, desk):
    answers = [queue(cast, f"Who keeps light number {number}?") for number in range(50)]

    for answer in answers:
        wait_for(answer, AnswerState.DONE)

    for answer in answers:
        kinds = kinds_of(answer)
        assert kinds.index("passages") < kinds.index("answer")
        assert (kinds[0], kinds[1], kinds[-1]) == ("state", "state", "done")
    connections.close_all()
