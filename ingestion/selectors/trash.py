"""What is in the trash, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, QuerySet
from django.utils import timezone

from ingestion.models import Document, ShelvedChunk
from ingestion.selectors.documents import DocumentRow, document_rows
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class TrashRow(DocumentRow):
    """A document in the trash; ``chunks`` are the passages that go with it for good."""

    days_left: int = 0


def trashed(*, workspace: Workspace) -> QuerySet[Document]:
    """The latest first."""
    rows = Document.objects.in_workspace(workspace).filter(trashed_at__isnull=False)
    rows = rows.select_related("added_by", "collection", "trashed_by")
    return rows.order_by("-trashed_at", "title", "pk")


def trash_rows(*, workspace: Workspace, documents: Sequence[Document]) -> list[TrashRow]:
    shelved = ShelvedChunk.objects.in_workspace(workspace).filter(
        document_id__in=[document.pk for document in documents]
    )
    counts = dict(shelved.values_list("document_id").annotate(number=Count("id")))
    rows = document_rows(workspace=workspace, documents=documents)
    return [
        TrashRow(
            **{field.name: getattr(row, field.name) for field in fields(row)}
            | {"chunks": counts.get(row.document.pk, 0)},
            days_left=_days_left(row.document),
        )
        for row in rows
    ]


def _days_left(document: Document) -> int:
    if document.trashed_at is None:
        return settings.TRASH_DAYS
    left = document.trashed_at + timedelta(days=settings.TRASH_DAYS) - timezone.now()
    return max(0, -(-left // timedelta(days=1)))
