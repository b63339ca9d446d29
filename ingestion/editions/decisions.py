"""Copy people's decisions about names into an edition, as far as its documents have these names.

A decision that speaks of a name which only hidden documents have would tell of it, and so would
words that a person wrote with all documents at hand: neither is copied.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from ingestion.editions.sql import KEYS
from ingestion.models import (
    ClaimRuling,
    ConflictRuling,
    EntityRuling,
    EventKind,
    HistoryEvent,
    MentionPlacement,
    RelationshipRuling,
    ResolutionDecision,
)
from ingestion.resolution.conflicts import named_in
from ingestion.resolution.keys import key_of_name
from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import TenantModel

Field = EntityRuling.Field

NAMING: Final = (Field.NAME, Field.ALIAS, Field.NO_ALIAS)
COPIED: Final = (*NAMING, Field.TYPE, Field.DELETED, Field.CONFIRMED)
"""Not what people wrote themselves, nor entities that no document names."""
CLAIMS_COPIED: Final = (ClaimRuling.Field.DELETED, ClaimRuling.Field.STATUS)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A table of decisions: the names that a row speaks of, and what is blanked in its copy."""

    model: type[TenantModel]
    names: Callable[[Any], Iterable[str]]
    is_wanted: Callable[[Any], bool] = lambda _: True
    blanked: tuple[str, ...] = ()


KINDS: Final = (
    _Kind(
        ResolutionDecision,
        lambda row: [row.left_key, row.right_key],
        blanked=("reason",),
    ),
    _Kind(MentionPlacement, lambda row: [row.key, row.own_key, row.target_key]),
    _Kind(
        EntityRuling,
        lambda row: [row.key, key_of_name(row.value) if row.field in NAMING else ""],
        lambda row: row.field in COPIED,
    ),
    _Kind(
        RelationshipRuling,
        lambda row: [row.source_key, row.target_key],
        lambda row: row.field == RelationshipRuling.Field.DELETED,
    ),
    _Kind(ClaimRuling, lambda row: [row.key], lambda row: row.field in CLAIMS_COPIED),
    _Kind(ConflictRuling, lambda row: [row.key, *named_in(row.known)]),
)


def copy_decisions(
    source: uuid.UUID, edition: uuid.UUID, documents: Collection[uuid.UUID]
) -> set[str]:
    """Replace the edition's copies; return the names that the changed decisions speak of."""
    with access.in_workspace(edition):
        known = {key for (key,) in run_sql(KEYS, {"workspace": edition})} | {""}
        there = [(kind, row) for kind in KINDS for row in _active(kind, edition)]
    with access.in_workspace(source):
        wanted = [
            (kind, row)
            for kind in KINDS
            for row in _active(kind, source)
            if _is_seen(kind, row, known, documents)
        ]
        events = {row.event_id: row.event.sequence for _, row in wanted if row.event_id is not None}
    before, after = ({row.pk for _, row in rows} for rows in (there, wanted))
    if after == before:
        return set()
    spoken_of = {row.pk: set(kind.names(row)) for kind, row in (*there, *wanted)}
    with access.in_workspace(edition):
        _replace(edition, wanted, events)
    return {name for pk in after ^ before for name in spoken_of[pk]} - {""}


def _active(kind: _Kind, workspace_id: uuid.UUID) -> list[Any]:
    rows: QuerySet[Any] = kind.model.objects.in_workspace(workspace_id)
    return list(rows.filter(undone_at=None).select_related("event"))


def _is_seen(
    kind: _Kind, row: Any, known: Collection[str], documents: Collection[uuid.UUID]
) -> bool:
    document = getattr(row, "document_id", None)
    return (
        kind.is_wanted(row)
        and all(name in known for name in kind.names(row))
        and (document is None or document in documents)
    )


def _replace(
    edition: uuid.UUID, wanted: Sequence[tuple[_Kind, Any]], events: dict[uuid.UUID, int]
) -> None:
    for kind in KINDS:
        kind.model.objects.in_workspace(edition).delete()
    # Below zero, apart from what is changed in the edition itself.
    HistoryEvent.objects.bulk_create(
        (
            HistoryEvent(pk=pk, workspace_id=edition, kind=EventKind.COPIED, sequence=-sequence)
            for pk, sequence in events.items()
        ),
        ignore_conflicts=True,
    )
    for kind, row in wanted:
        row.workspace_id = edition
        for name in kind.blanked:
            setattr(row, name, "")
    for kind in KINDS:
        rows = [row for each, row in wanted if each is kind]
        kind.model.objects.bulk_create(rows)
