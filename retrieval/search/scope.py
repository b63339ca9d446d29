"""The scope of a question: which documents and names it is about, and the values to choose from.

Applied inside retrieval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, F, Func, Max, Min, QuerySet

from ingestion.documents.collections.queries import collection_at
from ingestion.knowledge.periods import as_of_date
from ingestion.models import Collection, Document, Entity
from kb_project.errors import InputError
from kb_project.text.names import normalise_name
from workspaces.models import Workspace

MOST_VALUES = 1_000
MOST_NAMES = 50
"""Entities to include or exclude; people choose each of them by hand."""
MOST_CHOICES: Final = 100
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Scope:
    """All filters that are set must match; within one filter, any of its values.

    An empty scope is the whole workspace. ``dated_from`` and ``dated_to`` are inclusive and leave
    out documents without a date. ``include`` and ``exclude`` are entities, see
    ``retrieval.search.scope_entities``. ``as_of`` is a date of any precision: statements that the
    text dates otherwise are left out, see ``retrieval.search.as_of``.
    """

    documents: tuple[UUID, ...] = ()
    collections: tuple[UUID, ...] = ()
    tags: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    dated_from: date | None = None
    dated_to: date | None = None
    include: tuple[UUID, ...] = ()
    exclude: tuple[UUID, ...] = ()
    as_of: str = ""

    @property
    def is_open(self) -> bool:
        return self == Scope()

    @property
    def has_all_documents(self) -> bool:
        return replace(self, include=(), exclude=(), as_of="").is_open

    def as_json(self) -> dict[str, Any]:
        """Return only what is set, in JSON types; the inverse of ``from_json``."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple) and value:
                found[field.name] = [str(one) for one in value]
            elif isinstance(value, str) and value:
                found[field.name] = value
            elif isinstance(value, date):
                found[field.name] = value.isoformat()
        return found

    @classmethod
    def from_json(cls, values: Mapping[str, Any] | None) -> Scope:
        """Parse a scope. Raises InputError if a filter is unknown or has an invalid value.

        >>> Scope.from_json({"tags": ["tide"], "dated_from": "2024-05-01"}).dated_from
        datetime.date(2024, 5, 1)
        """
        given = dict(values or {})
        unknown = sorted(set(given) - {field.name for field in fields(cls)})
        if unknown:
            raise _refused(f"There is no filter called '{unknown[0]}'.")
        scope = cls(
            documents=_uuids(given, "documents"),
            collections=_uuids(given, "collections"),
            tags=_texts(given, "tags"),
            media_types=_texts(given, "media_types"),
            dated_from=_date(given, "dated_from"),
            dated_to=_date(given, "dated_to"),
            include=_uuids(given, "include", MOST_NAMES),
            exclude=_uuids(given, "exclude", MOST_NAMES),
            as_of=as_of_date(given.get("as_of")),
        )
        if scope.dated_from and scope.dated_to and scope.dated_from > scope.dated_to:
            raise _refused("The filter 'dated_from' is later than 'dated_to'.")
        return scope


def document_ids(workspace_id: UUID, scope: Scope) -> tuple[UUID, ...] | None:
    """Return the documents in the scope; None for all of them, which needs no query."""
    if scope.has_all_documents:
        return None
    documents = Document.objects.in_workspace(workspace_id).filter(Document.IS_LIVE)
    if scope.documents:
        documents = documents.filter(pk__in=scope.documents)
    if scope.collections:
        documents = documents.filter(collection_id__in=scope.collections)
    if scope.tags:
        documents = documents.filter(tags__overlap=list(scope.tags))
    if scope.media_types:
        documents = documents.filter(media_type__in=scope.media_types)
    if scope.dated_from:
        documents = documents.filter(dated__gte=scope.dated_from)
    if scope.dated_to:
        documents = documents.filter(dated__lte=scope.dated_to)
    return tuple(documents.values_list("pk", flat=True))


def _refused(happened: str) -> InputError:
    return InputError(happened, code="invalid_scope", next_step="Correct the filter or remove it.")


def _values(given: Mapping[str, Any], name: str, most: int = MOST_VALUES) -> list[object]:
    values = given.get(name) or []
    if not isinstance(values, list | tuple):
        raise _refused(f"The filter '{name}' must be a list.")
    if len(values) > most:
        raise _refused(f"The filter '{name}' has more than {most:,} values.")
    return list(values)


def _uuids(given: Mapping[str, Any], name: str, most: int = MOST_VALUES) -> tuple[UUID, ...]:
    try:
        return tuple(UUID(str(value)) for value in _values(given, name, most))
    except ValueError as error:
        raise _refused(
            f"The filter '{name}' takes ids, and one of its values is not an id."
        ) from error


def _texts(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _values(given, name)
    if not all(isinstance(value, str) and not _UNSTORABLE.search(value) for value in values):
        raise _refused(f"The filter '{name}' takes text, and one of its values is not text.")
    return tuple(str(value) for value in values if value)


def _date(given: Mapping[str, Any], name: str) -> date | None:
    value = given.get(name)
    if not value:
        return None
    try:
        return value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise _refused(f"The filter '{name}' takes a date such as 2024-05-01.") from error


@dataclass(frozen=True, slots=True)
class FilterValue:
    """A value of a filter, how many documents match it, and its ``id`` if it has one."""

    value: str
    documents: int
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ScopeChoices:
    """The most used values first; dates are None if no document has one."""

    collections: tuple[FilterValue, ...]
    tags: tuple[FilterValue, ...]
    media_types: tuple[FilterValue, ...]
    dated_from: date | None
    dated_to: date | None


def scope_choices(*, workspace: Workspace) -> ScopeChoices:
    """Read the choices with five queries, however many documents there are."""
    documents = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE)
    dates = documents.aggregate(first=Min("dated"), last=Max("dated"))
    types = documents.exclude(media_type="").annotate(value=F("media_type"))
    return ScopeChoices(
        collections=_collections(workspace),
        tags=tags_used(workspace=workspace),
        media_types=_counted(types),
        dated_from=dates["first"],
        dated_to=dates["last"],
    )


def tags_used(*, workspace: Workspace) -> tuple[FilterValue, ...]:
    documents = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE)
    return _counted(documents.annotate(value=Func(F("tags"), function="unnest")))


def _counted(documents: QuerySet[Any, Any]) -> tuple[FilterValue, ...]:
    """Count documents by their ``value``."""
    counts = documents.values_list("value").annotate(n=Count("id")).order_by("-n", "value")
    return tuple(FilterValue(value, number) for value, number in counts[:MOST_CHOICES])


def _collections(workspace: Workspace) -> tuple[FilterValue, ...]:
    # Counted separately: with a join, Postgres would require every collection column in GROUP BY.
    documents = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE)
    documents = documents.exclude(collection=None)
    numbers = dict(documents.values_list("collection_id").annotate(n=Count("id")))
    rows = Collection.objects.in_workspace(workspace)
    found = [FilterValue(row.name, numbers.get(row.pk, 0), row.pk) for row in rows]
    return tuple(sorted(found, key=lambda one: (-one.documents, one.value))[:MOST_CHOICES])


def entity_named(*, workspace: Workspace, name: str) -> Entity:
    """Return the entity with a name, the most mentioned of several. Raises InputError."""
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
    """Return a collection by name, ignoring case. Raises InputError."""
    found = collection_at(workspace_id=workspace.pk, name=" ".join(name.split()))
    if found is None:
        raise InputError(f"There is no collection called '{name[:60]}'.", code="invalid_scope")
    return found
