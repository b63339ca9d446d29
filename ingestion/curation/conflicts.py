"""Deciding conflicts: which source is right, that all of them are, or to leave it open."""

from __future__ import annotations

import uuid

from ingestion.curation import conflict_queries
from ingestion.curation.operation import operation
from ingestion.curation.undoing import event_undo
from ingestion.curation.validation import UNCHANGED, invalid
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Conflict,
    ConflictSide,
    ConflictVerdict,
    EventKind,
    HistoryEvent,
    SubjectKind,
)
from ingestion.resolution.conflicts import follow
from ingestion.resolution.recorder import Recorder
from kb_project.errors import ConflictError


def conflict_decide(
    *, change: ChangeContext, conflict: uuid.UUID, verdict: str, holds: str = ""
) -> HistoryEvent:
    """Decide a conflict; ``holds`` is the key of the value that holds.

    Raises InputError (unknown_verdict, unknown_value, nothing_to_change) and NotFoundError.
    """
    if verdict not in ConflictVerdict.values:
        raise invalid(
            f"'{verdict[:40]}' is not a decision.",
            f"Choose one of: {', '.join(ConflictVerdict.values)}.",
            "unknown_verdict",
        )
    return operation(change, lambda: _decide(change, conflict, ConflictVerdict(verdict), holds))


def conflict_reopen(*, change: ChangeContext, conflict: uuid.UUID) -> HistoryEvent:
    """Undo the decision in force. Raises ConflictError (not_decided)."""
    row = conflict_queries.conflict_get(workspace=change.workspace, conflict_id=conflict)
    if row.event_id is None:
        raise ConflictError(
            "This conflict is open.", code="not_decided", kept=UNCHANGED, next_step=""
        )
    return event_undo(change=change, event=row.event_id)


def _decide(
    change: ChangeContext, conflict_id: uuid.UUID, verdict: ConflictVerdict, holds: str
) -> HistoryEvent:
    workspace = change.workspace
    conflict = conflict_queries.conflict_get(workspace=workspace, conflict_id=conflict_id)
    sides = ConflictSide.objects.in_workspace(workspace).filter(conflict=conflict)
    known = sorted(set(sides.values_list("key", flat=True)))
    chosen = _chosen(verdict, holds, known)
    [before] = conflict_queries.conflict_views(workspace, [conflict])
    if (before.verdict, conflict.holds) == (verdict.value, chosen):
        raise invalid("This has been decided already.", "", "nothing_to_change")
    event = _record(change, conflict, before.verdict, verdict)
    Recorder(event).conflict(conflict, verdict, holds=chosen, known=known)
    follow(workspace.pk)
    return event


def _chosen(verdict: ConflictVerdict, holds: str, known: list[str]) -> str:
    if verdict != ConflictVerdict.HOLDS:
        return ""
    if holds not in known:
        raise invalid(
            "None of the sources says that.",
            "Reload the page: the documents may have changed. Then decide again.",
            "unknown_value",
        )
    return holds


def _record(
    change: ChangeContext,
    conflict: Conflict,
    before: str,
    verdict: ConflictVerdict,
) -> HistoryEvent:
    """Record the event. History outlives documents, so it keeps none of their words."""
    details = {
        "names": {str(conflict.subject_id): conflict.subject.name},
        "conflict": str(conflict.pk),
        "subject": str(conflict.subject_id),
        "verdict": verdict.value,
        "before": {"decision": ConflictVerdict(before).label if before else "Open"},
        "after": {"decision": verdict.label},
    }
    subjects = {conflict.pk: SubjectKind.CONFLICT, conflict.subject_id: SubjectKind.ENTITY}
    return recording.record(change, EventKind.CONFLICT_DECIDED, subjects, details)
