"""The results of processing documents: one line per document, and whether work is left."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from ingestion.models import (
    Chunk,
    Document,
    DocumentVersion,
    Evidence,
    IngestionJob,
    JobKind,
    Mention,
    RunState,
)
from workspaces.models import Workspace


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
    warnings = dict(
        DocumentVersion.objects.in_workspace(workspace)
        .filter(DocumentVersion.IS_LIVE, document_id__in=ids)
        .values_list("document_id", "warnings")
    )
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
    """Whether a document or a workspace refresh is running or waiting."""
    return (
        IngestionJob.objects.in_workspace(workspace)
        .filter(kind__in=JobKind.values, state__in=[RunState.PENDING, RunState.RUNNING])
        .exists()
    )


def _counts(
    model: type[Chunk] | type[Mention] | type[Evidence],
    workspace: Workspace,
    ids: Sequence[uuid.UUID],
    what: str,
) -> dict[uuid.UUID, int]:
    """Count the distinct values of ``what`` for each document."""
    rows = model.objects.in_workspace(workspace).filter(document_id__in=ids)
    return dict(rows.values_list("document_id").annotate(number=Count(what, distinct=True)))
