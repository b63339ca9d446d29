"""Run an answer as a job: from a claimed row to its end, whatever happens in between."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from kb_project.errors import KBError, PauseError, Problem
from kb_project.jobs.claims import LeasedRows
from kb_project.jobs.notify import Call
from kb_project.jobs.worker import JobQueue
from kb_project.llm import halting
from kb_project.llm.halting import Halt
from kb_project.sql import run_sql
from retrieval.answering import cache, flow, persistence, scheduler, sql
from retrieval.answering.citations.citing import sentences_in
from retrieval.answering.citations.labels import GENERAL
from retrieval.answering.citations.markers import MarkerFilter
from retrieval.answering.drafts import (
    Asking,
    CitedPassage,
    Draft,
    Earlier,
    SpanOf,
    Suggested,
    WrittenSentence,
)
from retrieval.answering.events import AnsweredBeforeError, StoredReporter, TakenOverError
from retrieval.answering.greeting import is_greeting
from retrieval.answering.options import AnswerOptions
from retrieval.models import Answer, AnswerState, Question
from retrieval.search.reporting import EventKind, StoppedError
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.models import Workspace

Passages = Sequence[Mapping[str, Any]]

logger = logging.getLogger(__name__)

KIND: Final = "answer"
"""Of calls to the worker, and in ``retrieval_unfinished_jobs``."""
LEASE_SECONDS: Final = 20.0
"""A worker silent for this long is considered dead. It renews its leases every second."""
ADMITTED: Final = 64
"""Answers in progress at a time; all but a few of them have shown their passages, and wait."""
MOST_EARLIER: Final = 8
"""The earlier questions of a conversation used to understand the next one."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A started answer; ``earlier`` is the same answer given before, if there is one."""

    asking: Asking
    conditions: cache.Conditions
    earlier: Answer | None


def _nothing() -> None: ...


def run_answer(workspace_id: UUID, answer_id: UUID, begun: Callable[[], None] = _nothing) -> None:
    """Make an answer that this worker has claimed; its row records how it ends.

    ``begun`` is called once everything needed at the start is read: a caller that holds a
    transaction open for that commits it then. Raises only unexpected errors and those of an
    unavailable database.
    """
    with ExitStack() as beginning:
        # One transaction for everything before the search: many answers may be waiting for it.
        beginning.enter_context(access.in_workspace(workspace_id))
        answer, asking = load(workspace_id, answer_id)
        reporter = reporter_of(answer)
        try:
            ready = _begin(asking, reporter)
            beginning.close()
            begun()
            _answer_begun(answer, ready, reporter)
        except TakenOverError:
            logger.warning("answer lost to another worker answer=%s", answer_id)
        except StoppedError:
            stop(answer, reporter)
        except KBError as error:
            _fail(answer, reporter, error)


def run_here(answer: Answer, asking: Asking) -> None:
    """Make an answer that no worker may take up. Raises its errors, after storing them."""
    reporter = reporter_of(answer)
    try:
        answer_now(answer, asking, reporter)
    except StoppedError:
        stop(answer, reporter)
    except KBError as error:
        _fail(answer, reporter, error)
        raise


def reporter_of(answer: Answer) -> StoredReporter:
    """Return a reporter that continues after the event "queued", stored when the question was
    asked."""
    return StoredReporter(
        answer.workspace_id,
        answer.pk,
        worker=answer.worker,
        halt=halting.current() or Halt(),
        sequence=1,
    )


def answer_now(answer: Answer, asking: Asking, reporter: StoredReporter) -> None:
    """Make the answer and store it. Raises any error in making it, with the answer still running.

    It is shown as soon as it is written: no one waits for the follow-up questions.
    """
    with access.in_workspace(asking.workspace.pk):
        begun = _begin(asking, reporter)
    _answer_begun(answer, begun, reporter)


def _begin(asking: Asking, reporter: StoredReporter) -> Begun:
    """Start an answer, in the workspace's scope. When busy, hold the first step for the next
    event."""
    reporter.emit(EventKind.STATE, {"state": AnswerState.RUNNING.value})
    conditions = cache.conditions_of(asking)
    earlier = None if asking.earlier else cache.found(asking, conditions.key(asking.question))
    if earlier is None:
        tell = reporter.hold if scheduler.is_crowded() else reporter.emit
        tell(EventKind.STEP, flow.first_step(asking))
    return Begun(replace(asking, ports=conditions.ports, is_announced=True), conditions, earlier)


def _answer_begun(answer: Answer, begun: Begun, reporter: StoredReporter) -> None:
    asking, conditions = begun.asking, begun.conditions
    try:
        draft = _drafted(begun, reporter)
    except AnsweredBeforeError as known:
        reporter.flush()
        with access.lasting_work():
            persistence.repeat(answer, known.earlier, standalone=known.standalone)
        logger.info("question answered as before question=%s", asking.question_id)
        return
    key = conditions.key(draft.standalone or asking.question)
    with access.lasting_work():
        persistence.keep(answer, draft, reporter, cache_key=key)
    suggested = _suggested(answer, draft)
    with access.lasting_work():
        persistence.finish(answer, suggested)
    logger.info(
        "question answered workspace=%s question=%s mode=%s supported=%s ms=%s",
        answer.workspace_id,
        asking.question_id,
        draft.mode,
        draft.is_supported,
        draft.trace.get("total_ms"),
    )


def _drafted(begun: Begun, reporter: StoredReporter) -> Draft:
    """Draft the answer, or raise AnsweredBeforeError. In a conversation, look it up by the plan."""
    asking, conditions = begun.asking, begun.conditions
    if begun.earlier is not None:
        raise AnsweredBeforeError(begun.earlier)
    if asking.earlier:
        reporter.answered_before = lambda question: cache.found(asking, conditions.key(question))
    return flow.draft_answer(asking, reporter)


def _suggested(answer: Answer, draft: Draft) -> Suggested:
    """Return follow-up questions, or none if making them fails or is stopped: the answer is
    kept."""
    try:
        return draft.suggest()
    except KBError as error:
        logger.info("nothing suggested answer=%s code=%s", answer.pk, error.code)
        return Suggested()


def load(workspace_id: UUID, answer_id: UUID) -> tuple[Answer, Asking]:
    with access.in_workspace(workspace_id):
        answers = Answer.objects.in_workspace(workspace_id)
        answer = answers.select_related("question", "workspace").get(pk=answer_id)
        return answer, asking_of(answer.workspace, answer.question, answer)


def asking_of(workspace: Workspace, question: Question, answer: Answer) -> Asking:
    """Call in the workspace's scope. An answer may use another mode than its question."""
    return Asking(
        workspace=workspace,
        question_id=question.pk,
        question=question.text,
        mode=answer.mode or question.mode,
        scope=Scope.from_json(question.scope),
        options=AnswerOptions.from_json(answer.options),
        earlier=earlier_than(question),
    )


def earlier_than(question: Question) -> tuple[Earlier, ...]:
    """Return the answered questions before it in its conversation, oldest first."""
    if question.conversation_id is None or not _follows_others(question):
        return ()
    before = (
        Answer.objects.in_workspace(question.workspace_id)
        .filter(
            Q(state=AnswerState.DONE) | Q(state=AnswerState.RUNNING) & Answer.WRITTEN,
            question__conversation_id=question.conversation_id,
            question__created_at__lt=question.created_at,
        )
        .select_related("question")
        .order_by("-question__created_at", "-created_at")
    )
    newest: dict[UUID, Earlier] = {}
    for answer in before[: MOST_EARLIER * 3]:
        if is_greeting(answer.question.text):
            continue
        said = "\n".join(sentence["text"].strip() for sentence in answer.sentences)
        asked = answer.question.standalone or answer.question.text
        is_same = answer.question.scope == question.scope
        newest.setdefault(answer.question_id, Earlier(asked, said, is_same))
    return tuple(reversed(list(newest.values())[:MOST_EARLIER]))


def _follows_others(question: Question) -> bool:
    """Check for earlier questions first: most have none, and this is cheaper than reading
    answers."""
    values = {
        "workspace": question.workspace_id,
        "conversation": question.conversation_id,
        "before": question.created_at,
    }
    return bool(run_sql(sql.HAS_EARLIER, values)[0][0])


def stop(answer: Answer, reporter: StoredReporter) -> None:
    """Keep what has been written so far."""
    reporter.flush()
    sentences = sentences_of(reporter.text, reporter.passages)
    persistence.stop(answer, sentences, citations_of(sentences, reporter.passages))
    logger.info("answer stopped answer=%s", answer.pk)


@dataclass(frozen=True, slots=True)
class _Known:
    """Implements ``citations.markers.Labels`` for text that was already filtered once."""

    passages: Mapping[int, Mapping[str, Any]]
    kinds: frozenset[str] = frozenset({"", GENERAL})

    def numbers(self, label: str, said: str) -> tuple[int, ...]:
        if label == GENERAL:
            return (0,)
        return (int(label),) if int(label) in self.passages else ()


def sentences_of(text: str, passages: Passages) -> list[WrittenSentence]:
    """Return the sentences so far, unchecked. ``passages`` are the event's; ``text`` has
    ``[n]``."""
    known = {int(one["number"]): one for one in passages}
    sieve = MarkerFilter(_Known(known))
    sieve.feed(text)
    sieve.close()
    return [
        WrittenSentence(one.text, tuple(_whole(known[number]) for number in one.numbers if number))
        for one in sentences_in(sieve.text, sieve.placed)
    ]


def _whole(passage: Mapping[str, Any]) -> SpanOf:
    return SpanOf(int(passage["number"]), int(passage["start"]), int(passage["end"]))


def citations_of(sentences: Sequence[WrittenSentence], passages: Passages) -> list[CitedPassage]:
    """Return the passages that the sentences cite, whole."""
    named = {number for sentence in sentences for number in sentence.numbers}
    return [
        CitedPassage(
            number=int(one["number"]),
            chunk_id=UUID(str(one["chunk"])),
            document_id=UUID(str(one["document"])),
            start=int(one["start"]),
            end=int(one["end"]),
            quote=str(one["text"]),
            spans=((int(one["start"]), int(one["end"])),),
        )
        for one in passages
        if int(one["number"]) in named
    ]


def _fail(answer: Answer, reporter: StoredReporter, error: KBError) -> None:
    """A stopped answer can fail in many ways; all of them count as stopped."""
    if reporter.is_stopped:
        stop(answer, reporter)
        return
    _say_to_ask_again(error)
    reporter.flush()
    persistence.fail(answer, persistence.problem_of(error))
    logger.warning("answer failed answer=%s code=%s", answer.pk, error.code)


def _say_to_ask_again(error: KBError) -> None:
    """Add to what holds up other work that a question does not wait for its end."""
    if isinstance(error, PauseError) and error.next_step:
        error.next_step = f"{error.next_step} Ask again then."


def _fail_claimed(call: Call, worker: str, error: Exception) -> None:
    """End an answer that could not be made, for a reason that ``run_answer`` does not handle."""
    if isinstance(error, KBError):
        _say_to_ask_again(error)
        _end(call, worker, persistence.problem_of(error))
    else:
        _end(call, worker, persistence.UNEXPECTED)


def _interrupt(call: Call, worker: str) -> None:
    _end(call, worker, persistence.INTERRUPTED)


def _end(call: Call, worker: str, problem: Problem) -> None:
    answer = Answer(workspace_id=call.workspace_id, pk=call.id, worker=worker)
    try:
        persistence.fail(answer, problem)
    except TakenOverError:
        return
    logger.warning("answer failed answer=%s code=%s", call.id, problem["code"])


QUEUE: Final = JobQueue(
    kind=KIND,
    rows=LeasedRows(
        table="retrieval_answer",
        access=access,
        seconds=LEASE_SECONDS,
        wants_stop=access.WANTS_STOP,
    ),
    run=run_answer,
    fail=_fail_claimed,
    interrupt=_interrupt,
    threads=ADMITTED,
)
