"""What came of processing documents: counts, and what a model left unread or said unsupported."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, QuerySet

from ingestion.documents.queries import live_warnings
from ingestion.models import (
    Chunk,
    ChunkExtraction,
    Document,
    Evidence,
    IngestionJob,
    Mention,
)
from ingestion.models.jobs import UNFINISHED
from workspaces.models import Workspace

EXCERPT: Final = 160
# Rejection reasons in words: for one fact, and for several.
REASONS: Final = {
    "quote_not_found": (
        "fact cites words that are not in its passage",
        "facts cite words that are not in their passage",
    ),
    "quote_not_supporting": (
        "fact cites words that do not speak of what it connects",
        "facts cite words that do not speak of what they connect",
    ),
    "name_not_usable": (
        "name is too long, has no letter or is a word like “they”",
        "names are too long, have no letter or are words like “they”",
    ),
    "unknown_end": (
        "fact or claim is about something that its passage does not name",
        "facts or claims are about something that their passage does not name",
    ),
    "self_loop": ("fact relates an entity to itself", "facts relate an entity to itself"),
    "too_many": (
        "fact exceeds the limit for one passage",
        "facts exceed the limit for one passage",
    ),
    "nothing_said": ("claim is empty", "claims are empty"),
    "gleaning_failed": (
        "second reading failed; the findings of the first are kept",
        "second readings failed; the findings of the first are kept",
    ),
}


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """One document's results. ``entities`` and ``relationships`` count those the document itself
    names.
    """

    document: Document
    chunks: int
    entities: int
    relationships: int
    warnings: tuple[str, ...]
    problem: dict[str, Any] | None


def document_outcomes(
    *, workspace: Workspace, document_ids: Sequence[uuid.UUID]
) -> list[DocumentOutcome]:
    """Return outcomes in the order of the ids, without missing ones; six queries for any number."""
    ids = list(dict.fromkeys(document_ids))
    documents = Document.objects.in_workspace(workspace).in_bulk(ids)
    chunks = _counts(Chunk, workspace, ids, "id")
    entities = _counts(Mention, workspace, ids, "entity_id")
    relationships = _counts(Evidence, workspace, ids, "relationship_id")
    warnings = live_warnings(workspace=workspace, ids=ids)
    problems = dict(
        IngestionJob.objects.in_workspace(workspace)
        .filter(document_id__in=ids)
        .exclude(IngestionJob.SET_ASIDE)
        .order_by("created_at")
        .values_list("document_id", "problem")
    )
    return [
        DocumentOutcome(
            document=documents[pk],
            chunks=chunks.get(pk, 0),
            entities=entities.get(pk, 0),
            relationships=relationships.get(pk, 0),
            warnings=tuple(warnings.get(pk, ())),
            problem=problems.get(pk),
        )
        for pk in ids
        if pk in documents
    ]


def has_unfinished_work(*, workspace: Workspace) -> bool:
    """Whether any job is running or waiting."""
    return IngestionJob.objects.in_workspace(workspace).filter(state__in=UNFINISHED).exists()


def _counts(
    model: type[Chunk] | type[Mention] | type[Evidence],
    workspace: Workspace,
    ids: Sequence[uuid.UUID],
    what: str,
) -> dict[uuid.UUID, int]:
    """Count the distinct values of ``what`` for each document."""
    rows = model.objects.in_workspace(workspace).filter(document_id__in=ids)
    return dict(rows.values_list("document_id").annotate(number=Count(what, distinct=True)))


@dataclass(frozen=True, slots=True)
class UnreadPassage:
    """A passage without facts, and why. ``number`` counts from 1; ``text`` is its beginning."""

    chunk_id: uuid.UUID
    number: int
    start: int
    end: int
    page: int | None
    heading_path: tuple[str, ...]
    text: str
    problem: dict[str, str]


def passages_with_problems(*, workspace: Workspace, document: Document) -> list[UnreadPassage]:
    """Return the unread passages in document order."""
    rows = unread_extractions(workspace, document).select_related("chunk")
    passages = []
    for row in rows.order_by("chunk__ordinal"):
        chunk = row.chunk
        beginning = " ".join(chunk.text[: 2 * EXCERPT].split())
        passages.append(
            UnreadPassage(
                chunk_id=chunk.pk,
                number=chunk.ordinal + 1,
                start=chunk.start,
                end=chunk.end,
                page=chunk.page_first,
                heading_path=tuple(chunk.heading_path),
                text=beginning if len(beginning) <= EXCERPT else beginning[: EXCERPT - 1] + "…",
                problem=row.problem or {},
            )
        )
    return passages


def rejections_of(*, workspace: Workspace, document: Document) -> dict[str, int]:
    """Count the rejected statements of a model by reason, most frequent first."""
    counts: Counter[str] = Counter()
    for rejected in (
        _extractions(workspace, document).exclude(rejected={}).values_list("rejected", flat=True)
    ):
        counts.update(rejected)
    return dict(counts.most_common())


def rejection_sentence(reason: str, number: int) -> str:
    """
    >>> rejection_sentence("self_loop", 2)
    '2 facts relate an entity to itself.'
    """
    one, several = REASONS.get(reason, ("fact was rejected", "facts were rejected"))
    return f"{number} {one if number == 1 else several}."


def _extractions(workspace: Workspace, document: Document) -> QuerySet[ChunkExtraction]:
    return ChunkExtraction.objects.in_workspace(workspace).filter(
        chunk__workspace=workspace, chunk__document=document
    )


def unread_extractions(workspace: Workspace, document: Document) -> QuerySet[ChunkExtraction]:
    return _extractions(workspace, document).filter(problem__isnull=False)
