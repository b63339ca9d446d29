"""Ask: a question in, an answer of cited sentences out, both kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from retrieval import services
from retrieval.models import Answer, Citation, Question
from retrieval.search import answer as answering
from retrieval.search import assemble, cite, sought, support
from retrieval.search.answer import Scored
from retrieval.search.hits import Hit
from retrieval.search.query import Query
from retrieval.search.scope import Scope
from retrieval.search.sought import Sought
from retrieval.search.support import Support
from retrieval.search.weights import weigh
from workspaces import access
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)

PASSAGES: Final = 12
"""How many passages an answer may be made of."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before it is stored. ``read`` counts the sentences looked at."""

    sought: Sought
    hits: Sequence[Hit]
    chosen: Sequence[Scored]
    nearest: Sequence[Scored]
    support: Support
    read: int


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
    started = time.perf_counter()
    scope = scope or Scope()
    found = services.search(
        workspace=workspace, question=question, mode=mode, top_k=PASSAGES, scope=scope
    )
    query = found.query
    can_compare = found.mode.uses_vectors and bool(found.hits)
    everyday = support.everyday_vectors(query) if can_compare else ()
    with access.in_workspace(workspace.pk):
        draft = write(query, found.hits, everyday)
    trace = found.trace | _trace(draft) | {"total_ms": _milliseconds(started)}
    asked = Question(
        workspace=workspace,
        text=query.question,
        mode=mode,
        scope=scope.as_json(),
        asked_by=user,
    )
    with access.in_workspace(workspace.pk):
        answer = _keep(asked, draft, trace)
    logger.info(
        "question answered workspace=%s question=%s mode=%s supported=%s ms=%s",
        workspace.pk,
        asked.pk,
        mode,
        answer.is_supported,
        trace["total_ms"],
    )
    return answer


def write(query: Query, hits: Sequence[Hit], everyday: Sequence[str]) -> Draft:
    """Choose from the passages found. Reads what the words and names are worth, writes nothing."""
    wanted = sought.read(query.question)
    sentences = assemble.sentences(hits, assemble.mentions_in(query.workspace_id, hits))
    weights = weigh(wanted, sentences, support.frequencies(query, wanted.terms))
    chosen = answering.choose(sentences, wanted, weights)
    nearness = support.nearness(query, everyday) if everyday else None
    verdict = support.judge(chosen, weights, nearness)
    return Draft(
        sought=wanted,
        hits=hits,
        chosen=chosen if verdict.is_enough else (),
        nearest=()
        if verdict.is_enough
        else cite.nearest(answering.rank(sentences, wanted, weights)),
        support=verdict,
        read=len(sentences),
    )


def _keep(asked: Question, draft: Draft, trace: dict[str, Any]) -> Answer:
    sentences, spans = cite.cite(draft.chosen, draft.hits)
    asked.save(force_insert=True)
    answer = Answer.objects.create(
        workspace_id=asked.workspace_id,
        question=asked,
        is_supported=draft.support.is_enough,
        sentences=[{"text": one.text, "citations": list(one.citations)} for one in sentences],
        nearest=[_nearest(one) for one in draft.nearest],
        trace=trace,
    )
    Citation.objects.bulk_create(
        Citation(
            workspace_id=asked.workspace_id,
            answer=answer,
            number=span.number,
            document_id=span.document_id,
            chunk_id=span.chunk_id,
            start=span.start,
            end=span.end,
            quote=span.quote,
        )
        for span in spans
    )
    return answer


def _nearest(one: Scored) -> dict[str, Any]:
    sentence = one.sentence
    return {
        "chunk": str(sentence.chunk_id),
        "document": str(sentence.document_id),
        "start": sentence.start,
        "end": sentence.end,
        "score": round(one.score, 4),
    }


def _trace(draft: Draft) -> dict[str, Any]:
    """How the answer came about, in figures; no text of any document."""
    nearness = draft.support.nearness
    return {
        "asks_for": draft.sought.kind.value,
        "passages": len(draft.hits),
        "sentences_read": draft.read,
        "sentences_chosen": len(draft.chosen),
        "known": round(draft.support.known, 3),
        "coverage": round(draft.support.coverage, 3),
        "nearness": None if nearness is None else round(nearness, 4),
    }


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
