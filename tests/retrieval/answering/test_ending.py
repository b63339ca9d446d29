"""Two who would end an answer, or write to it, at the same moment."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connections

from kb_project.llm.halting import Halt
from retrieval.answering import jobs, persistence
from retrieval.answering.events import StoredReporter, TakenOverError
from retrieval.conversations import asking
from retrieval.models import AnswerState
from retrieval.search.reporting import EventKind
from tests.retrieval.answering.asked import (
    WORKER,
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
A_MOMENT = 0.4


class Beside(threading.Thread):
    """Does something on a connection of its own; ``error`` is what came of it."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self._work = work
        self.error: BaseException | None = None
        self.start()

    def run(self):
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  it is what the test looks at
            self.error = error
        finally:
            connections.close_all()


@pytest.fixture
def answer(fake_embedder):
    made = queue(make_asked_cast())
    assert jobs.QUEUE.claim(call_of(made), WORKER)
    return fresh(made)


def step_of(answer):
    reporter = StoredReporter(
        answer.workspace_id, answer.pk, worker=WORKER, halt=Halt(), sequence=1
    )
    return lambda: reporter.emit(EventKind.STEP, {"name": "read", "sentence": "Reading."})


def test_an_event_waits_for_whoever_is_ending_the_answer(answer):
    with access.in_workspace(answer.workspace_id):
        persistence.fail(answer, persistence.INTERRUPTED)
        writing = Beside(step_of(answer))
        time.sleep(A_MOMENT)
    writing.join()

    assert isinstance(writing.error, TakenOverError)
    assert kinds_of(answer) == ["state", "failed"]


def test_whoever_ends_the_answer_waits_for_an_event_that_is_being_written(answer):
    with access.in_workspace(answer.workspace_id):
        step_of(answer)()
        ending = Beside(lambda: jobs.QUEUE.interrupt(call_of(answer), WORKER))
        time.sleep(A_MOMENT)
    ending.join()

    assert ending.error is None
    assert kinds_of(answer) == ["state", "step", "failed"]
    assert [one.sequence for one in events_of(answer)] == [0, 1, 2]


def test_of_two_who_end_it_one_does(answer):
    with access.in_workspace(answer.workspace_id):
        persistence.fail(answer, persistence.INTERRUPTED)
        late = Beside(lambda: persistence.fail(answer, persistence.UNEXPECTED))
        time.sleep(A_MOMENT)
    late.join()

    assert isinstance(late.error, TakenOverError)
    ended = fresh(answer)
    assert (ended.state, ended.problem) == (AnswerState.FAILED, persistence.INTERRUPTED)


def test_what_is_stopped_while_it_waits_is_taken_up_by_nobody(fake_embedder):
    cast = make_asked_cast()
    waiting = queue(cast)
    taken: list[bool] = []
    with access.in_workspace(cast.workspace.pk):
        asking.answer_stop(workspace=cast.workspace, user=cast.bob, answer_id=waiting.pk)
        claiming = Beside(lambda: taken.append(jobs.QUEUE.claim(call_of(waiting), WORKER)))
        time.sleep(A_MOMENT)
    claiming.join()

    assert (taken, claiming.error) == ([False], None)
    assert fresh(waiting).state == AnswerState.STOPPED
