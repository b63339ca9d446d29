from __future__ import annotations

import pytest

from kb_project.jobs import notify
from kb_project.jobs.notify import Call
from kb_project.llm.halting import Halt
from retrieval.answering import events, jobs
from retrieval.answering.events import StoredReporter, TakenOverError
from retrieval.conversations import asking
from retrieval.search.reporting import EventKind, StoppedError
from tests.retrieval.answering.asked import (
    WORKER,
    call_of,
    events_of,
    kinds_of,
    make_asked_cast,
    queue,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def answer(fake_embedder):
    made = queue(make_asked_cast())
    assert jobs.QUEUE.claim(call_of(made), WORKER)
    return made


def reporter_of(answer, *, worker=WORKER, halt=None):
    return StoredReporter(
        answer.workspace_id, answer.pk, worker=worker, halt=halt or Halt(), sequence=1
    )


def test_pieces_of_text_are_gathered_and_none_is_lost(answer, monkeypatch):
    monkeypatch.setattr(events, "SECONDS_TO_GATHER", 1e9)
    reporter = reporter_of(answer)
    reporter._flushed = events.time.monotonic()
    for number in range(300):
        reporter.emit(EventKind.TEXT, {"text": f"word{number} "})
    reporter.emit(EventKind.STEP, {"name": "check"})

    pieces = [one.payload["text"] for one in events_of(answer) if one.kind == "text"]
    assert "".join(pieces) == "".join(f"word{number} " for number in range(300)) == reporter.text
    assert len(pieces) < 20
    assert kinds_of(answer)[-1] == "step"


def test_a_piece_that_comes_after_a_while_is_written_at_once(answer, monkeypatch):
    monkeypatch.setattr(events, "SECONDS_TO_GATHER", 0.0)
    reporter = reporter_of(answer)

    for word in ("Ada ", "keeps ", "it."):
        reporter.emit(EventKind.TEXT, {"text": word})

    assert kinds_of(answer).count("text") == 3


def test_who_is_halted_hears_it_at_the_next_event(answer):
    halt = Halt()
    reporter = reporter_of(answer, halt=halt)
    reporter.check()
    halt.set()

    with pytest.raises(StoppedError):
        reporter.check()
    with pytest.raises(StoppedError):
        reporter.emit(EventKind.STEP, {"name": "read"})


def test_a_wish_to_stop_is_read_back_with_the_next_event(answer):
    workspace, who = answer.question.workspace, answer.question.asked_by
    asking.answer_stop(workspace=workspace, user=who, answer_id=answer.pk)

    with pytest.raises(StoppedError):
        reporter_of(answer).emit(EventKind.STEP, {"name": "read"})


def test_another_workers_answer_is_not_written_to(answer):
    with pytest.raises(TakenOverError):
        reporter_of(answer, worker="other:1:1").emit(EventKind.STEP, {"name": "read"})

    assert kinds_of(answer) == ["state"]


def test_messages_are_read_as_they_were_sent(answer):
    call = Call(notify.STOP, answer.workspace_id, answer.pk)

    assert notify.call_in(f"stop {answer.workspace_id} {answer.pk}") == call


def test_a_plan_is_written_together_with_what_follows_it(answer):
    reporter = reporter_of(answer)

    reporter.emit(EventKind.STATE, {"state": "running"})
    reporter.emit(EventKind.PLAN, {"question": "Who?"})
    assert kinds_of(answer) == ["state"]
    reporter.emit(EventKind.STEP, {"name": "search"})

    told = events_of(answer)
    assert [(one.sequence, one.kind) for one in told[1:]] == [
        (1, "state"),
        (2, "plan"),
        (3, "step"),
    ]
    assert reporter.sequence == 4


def test_what_is_held_can_be_written_before_the_end(answer):
    reporter = reporter_of(answer)
    reporter.emit(EventKind.STATE, {"state": "running"})

    reporter.flush()
    reporter.flush()

    assert kinds_of(answer) == ["state", "state"]
