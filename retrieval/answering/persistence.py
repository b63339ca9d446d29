"""Store an answer and how it ended, in one transaction with the events that report it, and only by
the worker that still holds it.

An answer that is written stays running while follow-up questions are made. If anything ends it
then, it is done: it has already been shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from ingestion.models import Document
from kb_project.errors import KBError, Problem
from kb_project.sql import run_sql
from retrieval.answering import cache, events, sql
from retrieval.answering.citations import citing
from retrieval.answering.drafts import CitedPassage, Draft, Suggested, WrittenSentence
from retrieval.answering.events import StoredReporter, TakenOverError
from retrieval.models import Answer, AnswerState, Citation, Question
from retrieval.search.reporting import EventKind
from workspaces import access
from workspaces.models.people import TenantQuerySet

KEPT: Final = "The question and the passages found so far are kept."
INTERRUPTED: Final[Problem] = {
    "code": "interrupted",
    "happened": "The worker writing this answer stopped before it was finished.",
    "kept": KEPT,
    "next_step": "Try again.",
}
UNEXPECTED: Final[Problem] = {
    "code": "internal",
    "happened": "An unexpected error occurred.",
    "kept": KEPT,
    "next_step": "Try again. If it happens again, give the answer's id to your administrator.",
}


def problem_of(error: KBError) -> Problem:
    return error.problem(kept=KEPT, next_step="Try again.")


def keep(answer: Answer, draft: Draft, reporter: StoredReporter, *, cache_key: str) -> None:
    """Store the draft as the answer and report it. Raises TakenOverError if the answer has
    ended."""
    reporter.flush()
    sentences, passages = citing.renumbered(draft.sentences, draft.citations)
    with access.in_workspace(answer.workspace_id):
        _change(
            answer,
            mode=draft.mode,
            outcome=draft.outcome,
            is_supported=draft.is_supported,
            sentences=[sentence_json(one) for one in sentences],
            nearest=with_versions(answer.workspace_id, draft.nearest),
            trace=draft.trace,
            written_by=draft.written_by,
            cache_key=cache_key,
        )
        payload = _keep_citations(answer, passages)
        _note_standalone(answer, draft.standalone)
        reporter.sequence = 1 + _add_last(answer, EventKind.ANSWER, payload)
        _fold_text(answer)


def finish(answer: Answer, suggested: Suggested) -> None:
    """End an answer that is stored. Raises TakenOverError as above."""
    questions = list(suggested.questions)
    calls = {"calls": suggested.calls} if suggested.calls else {}
    with access.in_workspace(answer.workspace_id):
        _end(answer, AnswerState.DONE, follow_ups=questions, trace=answer.trace | calls)
        if questions:
            _add_last(answer, EventKind.FOLLOW_UPS, {"questions": questions})
        _add_last(answer, EventKind.DONE, {})


def repeat(answer: Answer, earlier: Answer, *, standalone: str = "") -> None:
    """Copy an earlier answer as this one. Raises TakenOverError as above."""
    with access.in_workspace(answer.workspace_id):
        _end(answer, AnswerState.DONE, **cache.copied(earlier))
        cache.copy_citations(earlier, answer)
        cache.copy_events(earlier, answer)
        _note_standalone(answer, standalone)
        _add_last(answer, EventKind.DONE, {})


def fail(answer: Answer, problem: Problem) -> None:
    """End the answer as failed. Raises TakenOverError if it has already ended."""
    with access.in_workspace(answer.workspace_id):
        if _finished_as_written(answer):
            return
        _end(answer, AnswerState.FAILED, problem=problem)
        _add_last(answer, EventKind.FAILED, problem)


def stop(
    answer: Answer, sentences: Sequence[WrittenSentence], citations: Sequence[CitedPassage]
) -> None:
    """End the answer as stopped, keeping what there was. Raises TakenOverError as above."""
    sentences, citations = citing.renumbered(sentences, citations)
    with access.in_workspace(answer.workspace_id):
        if _finished_as_written(answer):
            return
        _end(
            answer,
            AnswerState.STOPPED,
            sentences=[sentence_json(one) for one in sentences],
            is_supported=False,
        )
        payload = _keep_citations(answer, citations)
        if sentences:
            _add_last(answer, EventKind.ANSWER, payload)
            _fold_text(answer)
        _add_last(answer, EventKind.STOPPED, {})


def _end(answer: Answer, state: AnswerState, **values: Any) -> None:
    _change(answer, state=state, **_ended(), **values)


def _ended() -> dict[str, Any]:
    return {"finished_at": timezone.now(), "lease_until": None}


def _change(answer: Answer, **values: Any) -> None:
    if not _still_ours(answer).update(**values):
        raise TakenOverError("Another worker finished this answer.")
    for name, value in values.items():
        setattr(answer, name, value)


def _still_ours(answer: Answer) -> TenantQuerySet[Answer]:
    return Answer.objects.in_workspace(answer.workspace_id).filter(
        pk=answer.pk, state=AnswerState.RUNNING, worker=answer.worker
    )


def _finished_as_written(answer: Answer) -> bool:
    """End the answer as done if it was already written; return whether it was."""
    written = _still_ours(answer).filter(Answer.WRITTEN)
    if not written.update(state=AnswerState.DONE, **_ended()):
        return False
    answer.refresh_from_db(from_queryset=Answer.objects.in_workspace(answer.workspace_id))
    _add_last(answer, EventKind.DONE, {})
    return True


def _note_standalone(answer: Answer, standalone: str) -> None:
    if standalone:
        asked = Question.objects.in_workspace(answer.workspace_id).filter(pk=answer.question_id)
        asked.exclude(text=standalone).update(standalone=standalone)


def _add_last(answer: Answer, kind: EventKind, payload: Any) -> int:
    return events.add_last(answer.workspace_id, answer.pk, kind, payload)


def _fold_text(answer: Answer) -> None:
    run_sql(sql.FOLD_TEXT, {"workspace": answer.workspace_id, "answer": answer.pk})


def _keep_citations(answer: Answer, citations: Sequence[CitedPassage]) -> dict[str, Any]:
    """Store the citations, leaving out those of documents deleted meanwhile; return the payload of
    the event ``answer``."""
    ids = sorted({one.document_id for one in citations})
    values = {"workspace": answer.workspace_id, "documents": ids}
    titles: dict[UUID, str] = dict(run_sql(sql.HOLD_DOCUMENTS, values))
    kept = [one for one in citations if one.document_id in titles]
    versions = version_numbers(answer.workspace_id, kept)
    Citation.objects.bulk_create(
        Citation(
            workspace_id=answer.workspace_id,
            answer=answer,
            number=one.number,
            document_id=one.document_id,
            chunk_id=one.chunk_id,
            version_number=versions.get(one.number, 1),
            start=one.start,
            end=one.end,
            quote=one.quote,
            spans=[list(span) for span in one.spans],
        )
        for one in kept
    )
    return {
        "sentences": answer.sentences,
        "citations": [
            {
                "number": one.number,
                "document": str(one.document_id),
                "title": titles[one.document_id],
                "chunk": str(one.chunk_id),
                "version": versions.get(one.number, 1),
                "start": one.start,
                "end": one.end,
                "quote": one.quote,
                "spans": [list(span) for span in one.spans],
            }
            for one in kept
        ],
        "outcome": answer.written_outcome,
        "message": answer.message,
        "supported": answer.is_supported,
    }


def sentence_json(sentence: WrittenSentence) -> dict[str, Any]:
    """Build a sentence as ``Answer.sentences`` and the API have it."""
    check = sentence.check
    return {
        "text": sentence.text,
        "citations": list(sentence.numbers),
        "spans": [[span.number, span.start, span.end] for span in sentence.spans],
        "marked": [list(words) for words in sentence.marked],
        "check": check
        and {"verdict": check.verdict, "by": check.by, "score": round(check.score, 3)},
    }


def version_numbers(workspace_id: UUID, cited: Sequence[CitedPassage]) -> dict[int, int]:
    """Map each citation's number to the version its offsets refer to."""
    if not cited:
        return {}
    values = {
        "workspace": workspace_id,
        "numbers": [one.number for one in cited],
        "documents": [one.document_id for one in cited],
        "starts": [one.start for one in cited],
        "ends": [one.end for one in cited],
        "quotes": [one.quote for one in cited],
    }
    return dict(run_sql(sql.VERSIONS_QUOTED, values))


def with_versions(workspace_id: UUID, nearest: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return passages as in ``Answer.nearest``, with the version each one's offsets refer to."""
    if not nearest:
        return []
    documents = Document.objects.in_workspace(workspace_id)
    found = documents.filter(pk__in={one["document"] for one in nearest})
    numbers = {str(pk): number for pk, number in found.values_list("pk", "live_number")}
    return [one | {"version": numbers.get(str(one["document"]), 1)} for one in nearest]
