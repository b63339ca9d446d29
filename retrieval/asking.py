"""Ask: a question in, an answer of cited sentences out, both kept."""

from __future__ import annotations

import logging
from typing import Any

from django.utils import timezone

from retrieval.answering import flow
from retrieval.answering.drafts import Asking, Draft, WrittenSentence
from retrieval.models import Answer, AnswerState, Citation, Question
from retrieval.search.query import clean_question
from retrieval.search.reporting import SILENT
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)


def ask(
    *,
    workspace: Workspace,
    user: User | None,
    question: str,
    mode: str,
    scope: Scope | None = None,
) -> Answer:
    """Answer a question from the documents, and keep question, answer and citations.

    An answer that the documents do not support is kept too, with the nearest passages. Raises
    InputError where question, mode or scope cannot be used.
    """
    scope, question = scope or Scope(), clean_question(question)
    asked = Question(
        workspace=workspace, text=question, mode=mode, scope=scope.as_json(), asked_by=user
    )
    draft = flow.draft_answer(Asking(workspace, asked.pk, question, mode, scope), SILENT)
    with access.in_workspace(workspace.pk):
        answer = _keep(asked, draft)
    logger.info(
        "question answered workspace=%s question=%s mode=%s supported=%s ms=%s",
        workspace.pk,
        asked.pk,
        mode,
        answer.is_supported,
        draft.trace["total_ms"],
    )
    return answer


def _keep(asked: Question, draft: Draft) -> Answer:
    asked.standalone = draft.standalone
    asked.save(force_insert=True)
    answer = Answer.objects.create(
        workspace_id=asked.workspace_id,
        question=asked,
        state=AnswerState.DONE,
        mode=draft.mode,
        is_supported=draft.is_supported,
        sentences=[sentence_json(one) for one in draft.sentences],
        nearest=list(draft.nearest),
        trace=draft.trace,
        follow_ups=list(draft.follow_ups),
        written_by=draft.written_by,
        finished_at=timezone.now(),
    )
    Citation.objects.bulk_create(
        Citation(
            workspace_id=asked.workspace_id,
            answer=answer,
            number=one.number,
            document_id=one.document_id,
            chunk_id=one.chunk_id,
            start=one.start,
            end=one.end,
            quote=one.quote,
            spans=[list(span) for span in one.spans],
        )
        for one in draft.citations
    )
    return answer


def sentence_json(sentence: WrittenSentence) -> dict[str, Any]:
    """As ``Answer.sentences`` and the API have it."""
    check = sentence.check
    return {
        "text": sentence.text,
        "citations": list(sentence.numbers),
        "spans": [[span.number, span.start, span.end] for span in sentence.spans],
        "check": check
        and {"verdict": check.verdict, "by": check.by, "score": round(check.score, 3)},
    }
