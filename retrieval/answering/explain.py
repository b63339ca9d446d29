"""Explain for ``Answer.trace`` how an answer came about: figures, ids and names, no document
text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Q, Sum

from retrieval.answering.citations.markers import Counts
from retrieval.answering.context import Context
from retrieval.answering.drafts import Asking
from retrieval.search.services import SearchResult
from workspaces import access
from workspaces.models import ModelCall

MOST: Final = 60
"""Most seeds, and most records, in a trace."""
LONGEST: Final = 200
NO_CALLS: Final = {
    "count": 0,
    "cached": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "cost": 0.0,
}


def trace(
    asking: Asking,
    found: SearchResult,
    *,
    citations: Mapping[str, int],
    check: Mapping[str, Any],
    context: Context | None = None,
    cited: Collection[UUID] = (),
) -> dict[str, Any]:
    """Build the trace; reads the ledger, in a transaction of its own.

    ``context`` is None on the local tier, where an answer uses the ``cited`` passages.
    """
    sections = context.sections if context else ()
    items = (item for one in sections for item in one.used)
    spent = (
        {item.id: item.tokens for item in items if item.id is not None}
        if context
        else dict.fromkeys(cited, 0)
    )
    return {
        "plan": plan(asking, found),
        "seeds": [
            {
                "kind": seed.kind,
                "id": str(seed.id) if seed.id else None,
                "name": seed.name[:LONGEST],
                "weight": round(seed.weight, 4),
            }
            for seed in found.found.seeds[:MOST]
        ],
        "records": [
            {
                "kind": record.kind.value,
                "id": str(record.id),
                "title": record.title[:LONGEST],
                "score": round(record.score, 6),
                "tokens": spent.get(record.id, 0),
                "used": record.id in spent,
            }
            for record in found.found.records[:MOST]
        ],
        "ranked": [
            {
                "number": number,
                "chunk": str(hit.chunk_id),
                "document": str(hit.document_id),
                "score": round(hit.score, 6),
                "why": list(hit.why),
                "tokens": spent.get(hit.chunk_id, 0),
                "used": hit.chunk_id in spent,
            }
            for number, hit in enumerate(found.hits, start=1)
        ],
        "sections": [
            {
                "name": one.name,
                "items": len(one.used),
                "tokens": one.tokens,
                "budget": one.budget,
            }
            for one in sections
            if one.budget or one.used
        ],
        "calls": calls(found),
        "citations": Counts().as_json() | dict(citations),
        "check": dict(check),
    }


def plan(asking: Asking, found: SearchResult) -> dict[str, Any]:
    """Return what was searched for, and how."""
    keywords = [seed.name[:LONGEST] for seed in found.found.seeds if seed.kind == "keyword"]
    return {
        "question": found.query.question,
        "is_rewritten": " ".join(asking.question.split()) != found.query.question,
        "asked_mode": asking.mode,
        "mode": found.mode.name,
        "reason": found.found.reason,
        "keywords": keywords[:MOST],
    }


def calls(found: SearchResult) -> dict[str, Any]:
    query = found.query
    return calls_of(query.workspace_id, query.question_id if query.writer else None)


def calls_of(workspace_id: UUID, question_id: UUID | None) -> dict[str, Any]:
    """Return the model calls made for this question so far, from the ledger."""
    if question_id is None:
        return dict(NO_CALLS)
    with access.in_workspace(workspace_id):
        rows = ModelCall.objects.in_workspace(workspace_id).filter(question_id=question_id)
        sums = rows.aggregate(
            count=Count("pk"),
            cached=Count("pk", filter=Q(state=ModelCall.State.CACHED)),
            prompt_tokens=Sum("prompt_tokens"),
            completion_tokens=Sum("completion_tokens"),
            cost=Sum("cost"),
        )
    return {
        name: float(sums[name] or 0) if name == "cost" else sums[name] or 0 for name in NO_CALLS
    }
