"""Ask: a question in, an answer of cited sentences out, both kept.

``question_ask`` leaves the work to the answering worker; ``ask`` does it here and now.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from ingestion import leases
from kb_project.errors import ForbiddenError, NotFoundError
from retrieval.answering import events, jobs, wake
from retrieval.models import Answer, AnswerState, Conversation, Question
from retrieval.search import scope_entities
from retrieval.search.modes import mode_named
from retrieval.search.query import clean_question
from retrieval.search.reporting import EventKind
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.models import Capability, Membership, User, Workspace

logger = logging.getLogger(__name__)

LONGEST_TITLE: Final = 120
SECONDS_HERE: Final = 600.0
"""How long an answer that is made at once may take, before it counts as interrupted."""


def question_ask(
    *,
    workspace: Workspace,
    user: User | None,
    question: str,
    mode: str,
    scope: Scope | None = None,
    conversation_id: UUID | None = None,
) -> Answer:
    """Keep the question, and have a worker answer it as soon as the transaction commits.

    Raises InputError where question or mode cannot be used, NotFoundError for a conversation that
    is not there, ForbiddenError for somebody else's.
    """
    question = clean_question(question)
    mode_named(mode)
    with access.in_workspace(workspace.pk):
        asked = _question(workspace, user, question, mode, scope or Scope(), conversation_id)
        return _queued(asked)


def ask(
    *,
    workspace: Workspace,
    user: User | None,
    question: str,
    mode: str,
    scope: Scope | None = None,
    conversation_id: UUID | None = None,
) -> Answer:
    """Answer a question in this process, and keep question, answer and citations.

    An answer that the documents do not support is kept too, with the nearest passages. Raises as
    ``question_ask`` does, and whatever making an answer raises: that is kept as its end.
    """
    question = clean_question(question)
    mode_named(mode)
    with access.in_workspace(workspace.pk):
        asked = _question(workspace, user, question, mode, scope or Scope(), conversation_id)
        answer = _begun(asked)
        asking = jobs.asking_of(workspace, asked, answer)
    jobs.run_here(answer, asking)
    return answer


def answer_stop(*, workspace: Workspace, user: User, answer_id: UUID) -> Answer:
    """Stop an answer that is being made, its model call included; what is there is kept.

    One that has ended stays as it is. Raises NotFoundError, and ForbiddenError for an answer to
    somebody else's question, unless the person administers the workspace.
    """
    with access.in_workspace(workspace.pk):
        answer = _answer(workspace, answer_id)
        _check_whose(answer.question, user)
        this = Answer.objects.in_workspace(workspace).filter(pk=answer_id)
        if this.filter(state=AnswerState.QUEUED).update(
            state=AnswerState.STOPPED, wants_stop=True, finished_at=timezone.now()
        ):
            events.add_last(workspace.pk, answer_id, EventKind.STOPPED, {})
        elif this.filter(state=AnswerState.RUNNING).update(wants_stop=True):
            wake.wake(wake.STOP, workspace.pk, answer_id)
        answer.refresh_from_db(from_queryset=Answer.objects.in_workspace(workspace))
    logger.info("answer stop requested answer=%s", answer_id)
    return answer


def answer_again(*, workspace: Workspace, user: User, question_id: UUID, mode: str = "") -> Answer:
    """A new answer to the same question, made by a worker; in another mode where one is named.

    Raises NotFoundError, and InputError for a mode there is not.
    """
    if mode:
        mode_named(mode)
    with access.in_workspace(workspace.pk):
        question = Question.objects.in_workspace(workspace).filter(pk=question_id).first()
        if question is None:
            raise NotFoundError("There is no such question in this workspace.")
        answer = _queued(question, mode=mode)
    logger.info("question asked again question=%s by=%s", question_id, user.pk)
    return answer


def _question(
    workspace: Workspace,
    user: User | None,
    text: str,
    mode: str,
    scope: Scope,
    conversation_id: UUID | None,
) -> Question:
    scope_entities.resolved(workspace.pk, scope)  # refused now, and not when somebody works on it
    return Question.objects.create(
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
    if conversation_id is None:
        return Conversation.objects.create(workspace=workspace, title=title_of(text), asked_by=user)
    found = Conversation.objects.in_workspace(workspace).filter(pk=conversation_id).first()
    if found is None:
        raise NotFoundError("There is no such conversation in this workspace.")
    if found.asked_by_id != (user and user.pk):
        raise ForbiddenError(
            "This is somebody else's conversation.",
            kept="Nothing was asked.",
            next_step="Ask in a conversation of your own.",
        )
    found.save(update_fields=["updated_at"])
    return found


def title_of(question: str) -> str:
    """
    >>> title_of("Who keeps the light?"), title_of("long " * 40)[-6:]
    ('Who keeps the light?', ' long…')
    """
    if len(question) <= LONGEST_TITLE:
        return question
    return question[:LONGEST_TITLE].rpartition(" ")[0] + "…"


def _queued(question: Question, *, mode: str = "") -> Answer:
    answer = Answer.objects.create(
        workspace_id=question.workspace_id,
        question=question,
        state=AnswerState.QUEUED,
        mode=mode,
        written_by="",
    )
    _first_event(answer)
    wake.wake(wake.ANSWER, question.workspace_id, answer.pk)
    return answer


def _begun(question: Question) -> Answer:
    """Running already: no worker takes it up."""
    answer = Answer.objects.create(
        workspace_id=question.workspace_id,
        question=question,
        state=AnswerState.RUNNING,
        written_by="",
        worker=f"{leases.worker_name()}~here",
        lease_until=timezone.now() + timedelta(seconds=SECONDS_HERE),
    )
    _first_event(answer)
    return answer


def _first_event(answer: Answer) -> None:
    state = {"state": AnswerState.QUEUED.value}
    events.add_last(answer.workspace_id, answer.pk, EventKind.STATE, state)


def _answer(workspace: Workspace, answer_id: UUID) -> Answer:
    found = (
        Answer.objects.in_workspace(workspace)
        .filter(pk=answer_id)
        .select_related("question")
        .first()
    )
    if found is None:
        raise NotFoundError("There is no such answer in this workspace.")
    return found


def _check_whose(question: Question, user: User) -> None:
    if question.asked_by_id in (None, user.pk):
        return
    membership = Membership.objects.in_workspace(question.workspace_id).filter(user=user).first()
    if membership is None or not membership.may(Capability.ADMINISTER):
        raise ForbiddenError(
            "Somebody else asked this question.",
            kept="The answer is being made.",
            next_step="Whoever asked may stop it, and so may an admin.",
        )
