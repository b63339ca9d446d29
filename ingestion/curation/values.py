"""The values that edits set, read before and after an undo: history records what really changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ingestion.curation import conflict_queries
from ingestion.curation.validation import own_words
from ingestion.documents.metadata import editable_fields
from ingestion.history.sentences import passive
from ingestion.models import (
    Claim,
    Conflict,
    ConflictVerdict,
    Document,
    Entity,
    EventKind,
    HistoryEvent,
    Relationship,
    SubjectKind,
)

EDITED: Final[Mapping[str, tuple[SubjectKind, Any]]] = {
    EventKind.ENTITY_EDITED: (SubjectKind.ENTITY, Entity),
    EventKind.RELATIONSHIP_EDITED: (SubjectKind.RELATIONSHIP, Relationship),
    EventKind.CLAIM_EDITED: (SubjectKind.CLAIM, Claim),
    EventKind.CONFLICT_DECIDED: (SubjectKind.CONFLICT, Conflict),
    EventKind.DOCUMENT_EDITED: (SubjectKind.DOCUMENT, Document),
    EventKind.DOCUMENT_MOVED: (SubjectKind.DOCUMENT, Document),
}
"""Events that set fields, of which the latest in force counts. Of others, the order is kept."""

RELATED: Final[Mapping[Any, tuple[str, ...]]] = {
    Document: ("collection",),
    Conflict: ("subject", "event__user"),
}


@dataclass(frozen=True, slots=True)
class Values:
    """The fields of what an event edited: ``shown`` as history keeps them, ``exact`` to compare."""

    shown: Mapping[str, Any]
    exact: Any


def read(events: Sequence[HistoryEvent]) -> list[Values] | None:
    """Read the present values of what the events set; None if they did more than set fields."""
    if any(event.kind not in EDITED for event in events):
        return None
    return [_read(event) for event in events]


def later_change(event: HistoryEvent) -> str:
    """Return the latest change in force of the same fields as a sentence, '' without one."""
    kind, _ = EDITED[event.kind]
    rows = event.subjects.in_workspace(event.workspace_id)
    subjects = list(rows.filter(kind=kind).values_list("subject_id", flat=True))
    edits = HistoryEvent.objects.in_workspace(event.workspace_id).filter(
        kind__in=EDITED,
        sequence__gt=event.sequence,
        undone_at=None,
        subjects__workspace=event.workspace_id,
        subjects__subject_id__in=subjects,
    )
    for later in edits.select_related("user").order_by("-sequence").distinct():
        if later.details["after"].keys() & event.details["after"].keys():
            return f"{passive(later, of=str(subjects[0]))}."
    return ""


def _read(event: HistoryEvent) -> Values:
    kind, model = EDITED[event.kind]
    subjects = event.subjects.in_workspace(event.workspace_id).filter(kind=kind)
    rows = model.objects.in_workspace(event.workspace_id).filter(
        pk__in=list(subjects.values_list("subject_id", flat=True))
    )
    rows = rows.select_related(*RELATED.get(model, ())).order_by("pk")
    found = [_fields(row, event) for row in rows]
    shown = [{field: one[0] for field, one in fields.items()} for fields in found]
    same = {
        field: value
        for field, value in (shown[0] if shown else {}).items()
        if all(one[field] == value for one in shown)
    }
    return Values(same, [[one[1] for one in fields.values()] for fields in found])


def _fields(row: Any, event: HistoryEvent) -> dict[str, tuple[Any, Any]]:
    """Return each field that the event set, as shown and as compared."""
    after: Mapping[str, Any] = event.details["after"]
    if isinstance(row, Document):
        values = editable_fields(row)
        return {field: (values[field], values[field]) for field in after}
    if isinstance(row, Conflict):
        [view] = conflict_queries.conflict_views(row.workspace, [row])
        label = ConflictVerdict(view.verdict).label if view.verdict else "Open"
        return {"decision": (label, (row.state, row.holds))}
    fields = {}
    for field in after:
        if field in ("add_aliases", "remove_aliases"):
            names = [*after[field], *event.details["before"][field]]
            aliases = row.aliases.filter(workspace=row.workspace_id, name__in=names)
            value = sorted(aliases.values_list("name", flat=True))
            fields[field] = value, value
        else:
            fields[field] = _own(row, field), getattr(row, field)
    return fields


def _own(row: Entity | Relationship | Claim, field: str) -> Any:
    """History outlives documents, so it keeps none of their words."""
    if field != "description":
        return getattr(row, field)
    if isinstance(row, Claim):
        return row.description if "description" in row.proposed else ""
    return own_words(row)
