"""Read what a question can be narrowed to: collections, tags, file types, dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

from django.db.models import Count, F, Func, Max, Min

from ingestion.models import Collection, Document, Entity
from kb_project.errors import InputError
from kb_project.text.names import normalise_name
from workspaces.models import Workspace

MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Counted:
    """A value of a filter, how many documents match it, and its ``id`` if it has one."""

    value: str
    documents: int
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ScopeChoices:
    """The most used values first, at most ``MOST`` of each; dates are None if no document has
    one."""

    collections: tuple[Counted, ...]
    tags: tuple[Counted, ...]
    media_types: tuple[Counted, ...]
    dated_from: date | None
    dated_to: date | None


def scope_choices(*, workspace: Workspace) -> ScopeChoices:
    """Read the choices with five queries, however many documents there are."""
    documents = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE)
    dates = documents.aggregate(first=Min("dated"), last=Max("dated"))
    types = documents.exclude(media_type="").values_list("media_type")
    tags = documents.annotate(tag=Func(F("tags"), function="unnest")).values_list("tag")
    return ScopeChoices(
        collections=_collections(workspace),
        tags=tuple(
            Counted(tag, number)
            for tag, number in tags.annotate(n=Count("id")).order_by("-n", "tag")[:MOST]
        ),
        media_types=tuple(
            Counted(kind, number)
            for kind, number in types.annotate(n=Count("id")).order_by("-n", "media_type")[:MOST]
        ),
        dated_from=dates["first"],
        dated_to=dates["last"],
    )


def _collections(workspace: Workspace) -> tuple[Counted, ...]:
    # Counted separately: with a join, Postgres would require every collection column in GROUP BY.
    documents = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE)
    documents = documents.exclude(collection=None)
    numbers = dict(documents.values_list("collection_id").annotate(n=Count("id")))
    rows = Collection.objects.in_workspace(workspace)
    found = [Counted(row.name, numbers.get(row.pk, 0), row.pk) for row in rows]
    return tuple(sorted(found, key=lambda one: (-one.documents, one.value))[:MOST])


def entity_named(*, workspace: Workspace, name: str) -> Entity:
    """Return the entity people mean by a name: the most mentioned, if several. Raises
    InputError."""
    rows = Entity.objects.in_workspace(workspace).filter(
        aliases__key=normalise_name(name), aliases__workspace=workspace
    )
    found = rows.order_by("-mention_count", "id").first()
    if found is None:
        raise InputError(
            f"No document names '{name[:60]}'.",
            code="unknown_entity",
            next_step="Use a name as the documents spell it.",
        )
    return found


def collection_named(*, workspace: Workspace, name: str) -> Collection:
    """Return a collection by name. Raises InputError."""
    found = Collection.objects.in_workspace(workspace).filter(name=name).first()
    if found is None:
        raise InputError(f"There is no collection called '{name[:60]}'.", code="invalid_scope")
    return found
