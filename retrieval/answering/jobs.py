"""An answer as a job: from a claimed row to its end, whatever happens in between."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db.models import Q

from kb_project.errors import KBError
from kb_project.llm import halting
from kb_project.llm.halting import Halt
from kb_project.sql import run_sql
from retrieval import answering_sql as sql
from retrieval.answering import cache, flow, keeping, partial, planning, turns
from retrieval.answering.drafts import Asking, Draft, Earlier, Suggested
from retrieval.answering.events import AnsweredBeforeError, StoredReporter, TakenOverError
from retrieval.answering.greeting import is_greeting
from retrieval.models import Answer, AnswerState, Question
from retrieval.search.reporting import EventKind, StoppedError
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.models import Workspace

logger = logging.getLogger(__name__)

MOST_EARLIER: Final = 8
"""Questions of a conversation that the next one is understood by."""


@dataclass(frozen=True, slots=True)
class Begun:
    """``earlier`` is the same answer given before, if there is one."""

    asking: Asking
    place: cache.Place
    earlier: Answer | None


def _nothing() -> None: ...


def run_answer(workspace_id: UUID, answer_id: UUID, begun: Callable[[], None] = _nothing) -> None:
    """Make an answer that this worker has claimed; how it ends is in its row.

    ``begun`` is called when all is read that it begins with: whoever holds a transaction open for
    that commits it then. Raises nothing but what nobody foresaw, and what comes of a database that
    is away.
    """
    with ExitStack() as beginning:
        # One transaction for all that comes before the search: many wait for it.
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
    """Make an answer that nobody else may take up. Raises what making it raises, once kept."""
    reporter = reporter_of(answer)
    try:
        answer_now(answer, asking, reporter)
    except StoppedError:
        stop(answer, reporter)
    except KBError as error:
        _fail(answer, reporter, error)
        raise


def reporter_of(answer: Answer) -> StoredReporter:
    """After the event that it waits, which is there since it was asked for."""
    return StoredReporter(
        answer.workspace_id,
        answer.pk,
        worker=answer.worker,
        halt=halting.current() or Halt(),
        sequence=1,
    )


def answer_now(answer: Answer, asking: Asking, reporter: StoredReporter) -> None:
    """Make it and keep it. Raises whatever making it raises; the answer is still running then.

    It is told as soon as it stands: nobody waits for what can be asked next.
    """
    with access.in_workspace(asking.workspace.pk):
        begun = _begin(asking, reporter)
    _answer_begun(answer, begun, reporter)


def _begin(asking: Asking, reporter: StoredReporter) -> Begun:
    """In the workspace's scope. Where many wait, the first step is told with what comes of it."""
    reporter.emit(EventKind.STATE, {"state": AnswerState.RUNNING.value})
    place = cache.place_of(asking)
    earlier = None if asking.earlier else cache.found(asking, place.key(asking.question))
    if earlier is None:
        tell = reporter.hold if turns.is_crowded() else reporter.emit
        tell(EventKind.STEP, planning.first_step(asking))
    return Begun(replace(asking, ports=place.ports, is_told=True), place, earlier)


def _answer_begun(answer: Answer, begun: Begun, reporter: StoredReporter) -> None:
    asking, place = begun.asking, begun.place
    try:
        draft = _drafted(begun, reporter)
    except AnsweredBeforeError as known:
        reporter.flush()
        with access.lasting_work():
            keeping.repeat(answer, known.earlier, standalone=known.standalone)
        logger.info("question answered as before question=%s", asking.question_id)
        return
    key = place.key(draft.standalone or asking.question)
    with access.lasting_work():
        keeping.keep(answer, draft, reporter, cache_key=key)
    suggested = _suggested(answer, draft)
    with access.lasting_work():
        keeping.finish(answer, suggested)
    logger.info(
        "question answered workspace=%s question=%s mode=%s supported=%s ms=%s",
        answer.workspace_id,
        asking.question_id,
        draft.mode,
        draft.is_supported,
        draft.trace.get("total_ms"),
    )


def _drafted(begun: Begun, reporter: StoredReporter) -> Draft:
    """Raises AnsweredBeforeError. In a conversation the plan says what the question means."""
    asking, place = begun.asking, begun.place
    if begun.earlier is not None:
        raise AnsweredBeforeError(begun.earlier)
    if asking.earlier:
        reporter.answered_before = lambda question: cache.found(asking, place.key(question))
    return flow.draft_answer(asking, reporter)


def _suggested(answer: Answer, draft: Draft) -> Suggested:
    """Nothing where that fails or is stopped: the answer stands."""
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
    """In the workspace's scope. An answer may be asked for in another mode than the question."""
    return Asking(
        workspace=workspace,
        question_id=question.pk,
        question=question.text,
        mode=answer.mode or question.mode,
        scope=Scope.from_json(question.scope),
        earlier=earlier_than(question),
    )


def earlier_than(question: Question) -> tuple[Earlier, ...]:
    """The questions before it in its conversation that were answered, oldest first."""
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
    """Most do not, and this is a fraction of reading what was answered."""
    values = {
        "workspace": question.workspace_id,
        "conversation": question.conversation_id,
        "before": question.created_at,
    }
    return bool(run_sql(sql.HAS_EARLIER, values)[0][0])


def stop(answer: Answer, reporter: StoredReporter) -> None:
    """Keep what is there, as far as it was written."""
    reporter.flush()
    sentences = partial.sentences_of(reporter.text, reporter.passages)
    keeping.stop(answer, sentences, partial.citations_of(sentences, reporter.passages))
    logger.info("answer stopped answer=%s", answer.pk)


def _fail(answer: Answer, reporter: StoredReporter, error: KBError) -> None:
    """What was stopped fails in many ways, all of which mean that it was stopped."""
    if reporter.is_stopped:
        stop(answer, reporter)
        return
    reporter.flush()
    keeping.fail(answer, keeping.problem_of(error))
    logger.warning("answer failed answer=%s code=%s", answer.pk, error.code)
