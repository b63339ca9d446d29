"""Queries for collections and the number of their documents."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet, Value
from django.db.models.functions import Lower

from ingestion.models import Collection, Document
from kb_project.errors import found
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection as lists show it; documents in the trash do not count."""

    collection: Collection
    documents: int


def collections(*, workspace: Workspace) -> QuerySet[Collection]:
    """Return the workspace's collections by name, ignoring case."""
    return Collection.objects.in_workspace(workspace).order_by(Lower("name"), "pk")


def collection_rows(
    *, workspace: Workspace, collections: Sequence[Collection]
) -> list[CollectionRow]:
    # Counted separately: with a join, Postgres would require every collection column in GROUP BY.
    documents = Document.objects.in_workspace(workspace).filter(trashed_at=None)
    counts = dict(
        documents.filter(collection__in=[one.pk for one in collections])
        .values_list("collection_id")
        .annotate(number=Count("id"))
    )
    return [CollectionRow(one, counts.get(one.pk, 0)) for one in collections]


def collection_get(*, workspace: Workspace, collection_id: uuid.UUID) -> Collection:
    """Return a collection. Raises NotFoundError."""
    rows = Collection.objects.in_workspace(workspace)
    return found(rows.filter(pk=collection_id).first(), "collection")


def collection_row(*, workspace: Workspace, collection_id: uuid.UUID) -> CollectionRow:
    """Return a collection with the number of its documents. Raises NotFoundError."""
    collection = collection_get(workspace=workspace, collection_id=collection_id)
    return collection_rows(workspace=workspace, collections=[collection])[0]


def collection_at(*, workspace_id: uuid.UUID, name: str) -> Collection | None:
    """Return the collection of that name, ignoring case, among those that may be seen."""
    rows = Collection.objects.in_workspace(workspace_id).alias(key=Lower("name"))
    # Whoever sees a restricted collection of the same name means the open one.
    return rows.filter(key=Lower(Value(name))).order_by("is_restricted").first()
