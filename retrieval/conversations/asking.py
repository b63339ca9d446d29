"""Ask a question and get an answer of cited sentences; both are kept.

``question_ask`` leaves the work to the answering worker; ``ask`` does it in this process.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, LiteralString
from uuid import UUID

from django.utils import timezone

from kb_project.errors import ForbiddenError, found
from kb_project.jobs import claims, notify
from kb_project.sql import run_sql
from retrieval.answering import bypass, context_only, events, jobs
from retrieval.answering.drafts import Asking
from retrieval.answering.options import AnswerOptions
from retrieval.conversations import queries
from retrieval.models import Answer, AnswerState, Conversation, Question
from retrieval.search import scope_entities
from retrieval.search.modes import ANSWER_MODES, BYPASS, mode_named
from retrieval.search.query import clean_question
from retrieval.search.reporting import EventKind
from retrieval.search.scope import Scope
from workspaces import access, limits
from workspaces.models import Capability, Membership, User, Workspace
from workspaces.ports import ports_for

# Insert a question and everything that goes with it in one statement: many may ask at once and wait
# for each other's statements. No one can know the answer's id yet, so its first event notifies no
# one.
KEEP_ASKED: Final[LiteralString] = """
WITH conversation AS (
    INSERT INTO retrieval_conversation
           (workspace_id, id, title, asked_by_id, created_at, updated_at)
    SELECT %(workspace)s, %(conversation)s, %(title)s::text, %(person)s::bigint,
           %(now)s::timestamptz, %(now)s::timestamptz
     WHERE %(begins_conversation)s
), question AS (
    INSERT INTO retrieval_question
           (workspace_id, id, conversation_id, text, mode, scope, asked_by_id, created_at)
    SELECT %(workspace)s, %(question)s, %(conversation)s::uuid, %(text)s::text, %(mode)s::text,
           %(scope)s::jsonb, %(person)s::bigint, %(now)s::timestamptz
     WHERE %(is_new)s
), answer AS (
    INSERT INTO retrieval_answer
           (workspace_id, id, question_id, state, mode, options, is_supported, sentences, nearest,
            trace, written_by, worker, lease_until, created_at)
    VALUES (%(workspace)s, %(answer)s, %(question)s, %(state)s, %(answer_mode)s,
            %(options)s::jsonb, false, '[]', '[]', '{}', '', %(worker)s, %(lease_until)s, %(now)s)
), event AS (
    INSERT INTO retrieval_answerevent
           (workspace_id, answer_id, sequence, kind, payload, created_at)
    VALUES (%(workspace)s, %(answer)s, 0, 'state', '{"state": "queued"}', %(now)s)
)
SELECT pg_notify(%(channel)s::text, %(call)s::text) WHERE %(call)s::text <> ''
"""


logger = logging.getLogger(__name__)

LONGEST_TITLE: Final = 120
SECONDS_HERE: Final = 600.0
"""Seconds an answer made in this process may take before it counts as interrupted."""


def question_ask(  # noqa: PLR0913  what is asked, where to look, and how to answer
    *,
    workspace: Workspace,
    user: User | None,
    question: str,
    mode: str,
    scope: Scope | None = None,
    options: AnswerOptions | None = None,
    conversation_id: UUID | None = None,
) -> Answer:
    """Keep the question, and have a worker answer it as soon as the transaction commits.

    Raises InputError for an unusable question or mode, ConflictError for a mode that may not be
    used, NotFoundError for an unknown conversation, ForbiddenError for someone else's, LimitError
    if too many questions are being answered.
    """
    question = clean_question(question)
    _check_mode(workspace, mode)
    with access.within(workspace.pk):
        asked = _question(workspace, user, question, mode, scope or Scope(), conversation_id)
        return _queued(asked, options or AnswerOptions(), is_new=True)


def ask(  # noqa: PLR0913  as above
    *,
    workspace: Workspace,
    user: User | None,
    question: str,
    mode: str,
    scope: Scope | None = None,
    options: AnswerOptions | None = None,
    conversation_id: UUID | None = None,
) -> Answer:
    """Answer a question in this process, and keep question, answer and citations.

    An answer that the documents do not support is kept too, with the nearest passages. Raises what
    ``question_ask`` raises, and any error in making the answer, which is stored as its outcome.
    """
    question = clean_question(question)
    _check_mode(workspace, mode)
    with access.in_workspace(workspace.pk):
        asked = _question(workspace, user, question, mode, scope or Scope(), conversation_id)
        answer = _begun(asked, options or AnswerOptions())
        asking = jobs.asking_of(workspace, asked, answer)
    jobs.run_here(answer, asking)
    return answer


def context_for(  # noqa: PLR0913  what is asked, where to look, and what of it
    *,
    workspace: Workspace,
    user: User | None,
    question: str,
    mode: str,
    only: str,
    scope: Scope | None = None,
    options: AnswerOptions | None = None,
    conversation_id: UUID | None = None,
) -> dict[str, Any]:
    """Return what an answer would be written from, as ``context_only`` does; store nothing.

    Raises what ``question_ask`` raises, and any error in finding it.
    """
    question = clean_question(question)
    _check_mode(workspace, mode)
    scope = scope or Scope()
    with access.in_workspace(workspace.pk):
        limits.check_questions(workspace.pk, user_id=user.pk if user else None)
        asked = _question(workspace, user, question, mode, scope, conversation_id)
        asked.created_at = timezone.now()
        earlier = jobs.earlier_than(asked) if conversation_id else ()
    return context_only.context_only(
        Asking(workspace, None, question, mode, scope, options or AnswerOptions(), earlier), only
    )


def answer_stop(*, workspace: Workspace, user: User, answer_id: UUID) -> Answer:
    """Stop an answer in progress, including its model call; what has been written is kept.

    A finished answer is left as it is. Raises NotFoundError, and ForbiddenError for an answer to
    someone else's question, unless the person administers the workspace.
    """
    with access.in_workspace(workspace.pk):
        answer = queries.answer_of(workspace=workspace, answer_id=answer_id)
        _check_whose(answer.question, user)
        this = Answer.objects.in_workspace(workspace).filter(pk=answer_id)
        if this.filter(state=AnswerState.QUEUED).update(
            state=AnswerState.STOPPED, wants_stop=True, finished_at=timezone.now()
        ):
            events.add_last(workspace.pk, answer_id, EventKind.STOPPED, {})
        elif this.filter(state=AnswerState.RUNNING).update(wants_stop=True):
            notify.wake(notify.STOP, workspace.pk, answer_id)
        answer.refresh_from_db(from_queryset=Answer.objects.in_workspace(workspace))
    logger.info("answer stop requested answer=%s", answer_id)
    return answer


def answer_again(
    *,
    workspace: Workspace,
    user: User,
    question_id: UUID,
    mode: str = "",
    options: Mapping[str, Any] | None = None,
) -> Answer:
    """Have a worker make a new answer to the same question, in another mode if one is given, and
    with the options of its newest answer where ``options`` do not replace them.

    Raises NotFoundError, InputError for an unknown mode, ConflictError if it may not be used.
    """
    if mode:
        _check_mode(workspace, mode)
    with access.in_workspace(workspace.pk):
        rows = Question.objects.in_workspace(workspace).filter(pk=question_id)
        question = found(rows.first(), "question")
        before = queries.newest_options(question=question)
        wanted = AnswerOptions.from_json({**before, **(options or {})})
        answer = _queued(question, wanted, mode=mode)
    logger.info("question asked again question=%s by=%s", question_id, user.pk)
    return answer


def _check_mode(workspace: Workspace, name: str) -> None:
    if mode_named(name, ANSWER_MODES) is BYPASS:
        bypass.allowed_chat(ports_for(workspace.pk))


def _question(
    workspace: Workspace,
    user: User | None,
    text: str,
    mode: str,
    scope: Scope,
    conversation_id: UUID | None,
) -> Question:
    """Build the question without saving it. Raises if it is invalid."""
    scope_entities.resolved(workspace.pk, scope)  # refuse it now, not when a worker takes it up
    return Question(
        workspace=workspace,
        conversation=_conversation(workspace, user, text, conversation_id),
        text=text,
        mode=mode,
        scope=scope.as_json(),
        asked_by=user,
    )


def _conversation(
    workspace: Workspace, user: User | None, text: str, conversation_id: UUID | None
) -> Conversation:
    """Return the conversation; a new one is saved with its first question."""
    if conversation_id is None:
        return Conversation(workspace=workspace, title=title_of(text), asked_by=user)
    rows = Conversation.objects.in_workspace(workspace).filter(pk=conversation_id)
    conversation = found(rows.first(), "conversation")
    if conversation.asked_by_id != (user and user.pk):
        raise ForbiddenError(
            "This conversation belongs to someone else.",
            kept="Nothing was asked.",
            next_step="Ask in one of your own conversations.",
        )
    return conversation


def title_of(question: str) -> str:
    """
    >>> title_of("Who keeps the light?"), title_of("long " * 40)[-6:]
    ('Who keeps the light?', ' long…')
    """
    if len(question) <= LONGEST_TITLE:
        return question
    return question[:LONGEST_TITLE].rpartition(" ")[0] + "…"


def _queued(
    question: Question, options: AnswerOptions, *, mode: str = "", is_new: bool = False
) -> Answer:
    answer = Answer(
        workspace_id=question.workspace_id,
        question=question,
        state=AnswerState.QUEUED,
        mode=mode,
        options=options.as_json(),
        written_by="",
    )
    call = notify.call_to(jobs.KIND, answer.workspace_id, answer.pk, question.asked_by_id)
    _keep(answer, is_new=is_new, call=call)
    return answer


def _begun(question: Question, options: AnswerOptions) -> Answer:
    """Create an answer that is already running, so that no worker takes it up."""
    answer = Answer(
        workspace_id=question.workspace_id,
        question=question,
        state=AnswerState.RUNNING,
        options=options.as_json(),
        written_by="",
        worker=f"{claims.worker_name()}~here",
        lease_until=timezone.now() + timedelta(seconds=SECONDS_HERE),
    )
    _keep(answer, is_new=True, call="")
    return answer


def _keep(answer: Answer, *, is_new: bool, call: str) -> None:
    """Save the answer with its first event, and its question and conversation if they are new.

    Raises LimitError if too many questions are being answered.
    """
    question, now = answer.question, timezone.now()
    limits.check_questions(answer.workspace_id, user_id=question.asked_by_id)
    conversation = question.conversation if is_new else None
    begins = conversation is not None and conversation._state.adding  # noqa: SLF001  as below
    values = {
        "workspace": answer.workspace_id,
        "conversation": question.conversation_id,
        "begins_conversation": begins,
        "title": conversation.title if conversation else "",
        "person": question.asked_by_id,
        "question": question.pk,
        "is_new": is_new,
        "text": question.text,
        "mode": question.mode,
        "scope": json.dumps(question.scope),
        "answer": answer.pk,
        "answer_mode": answer.mode,
        "options": json.dumps(answer.options),
        "state": answer.state,
        "worker": answer.worker,
        "lease_until": answer.lease_until,
        "now": now,
        "channel": notify.WORK,
        "call": call,
    }
    run_sql(KEEP_ASKED, values)
    if conversation is not None and not begins:
        conversation.save(update_fields=["updated_at"])
    for row in (answer, question) if is_new else (answer,):
        row.created_at = now
        row._state.adding = False  # noqa: SLF001  Django's documented flag for a saved row


def _check_whose(question: Question, user: User) -> None:
    if question.asked_by_id in (None, user.pk):
        return
    membership = Membership.objects.in_workspace(question.workspace_id).filter(user=user).first()
    if membership is not None and user.token is not None:
        membership.narrow_to(user.token)
    if membership is None or not membership.may(Capability.ADMINISTER):
        raise ForbiddenError(
            "Someone else asked this question.",
            kept="The answer is still being written.",
            next_step="Only the person who asked, or an admin, can stop it.",
        )
