"""Record people's changes to documents and to the graph, in the same transaction.

Every service that changes something people see takes a ``ChangeContext`` and ends with ``record``.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from django.db.models import Max
from structlog.contextvars import get_contextvars

from ingestion.history.queries import event_sentences
from ingestion.models import Document, EventKind, HistoryEvent, HistorySubject, SubjectKind
from ingestion.resolution import locks
from kb_project.errors import PreconditionError
from kb_project.sql import run_sql
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)

REASON_LENGTH: Final = 1000
MOST_NAMES: Final = 50
"""Names stored with an event: no sentence shows more, and its subjects identify the others."""

# Documents are added without ``lock``, which would wait for others being read. So the numbering of
# events takes a lock of its own until the transaction ends.
COUNT_ALONE: Final[LiteralString] = """
SELECT pg_advisory_xact_lock(hashtextextended(%(workspace)s::text || ' history', 0))
"""

Subjects = Mapping[uuid.UUID, SubjectKind]


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """Who makes a change, why, and what they had seen when they decided to.

    ``expected`` are the revisions shown, by id: if one of them has changed since, nothing is done.
    ``batch`` groups changes that are made, and undone, together. ``user`` is None for automatic
    changes.
    """

    workspace: Workspace
    user: User | None
    reason: str = ""
    via: str = ""
    expected: Mapping[uuid.UUID, int] = field(default_factory=dict)
    batch: uuid.UUID | None = None


def record(
    change: ChangeContext,
    kind: EventKind,
    subjects: Subjects,
    details: Mapping[str, Any],
    *,
    undoes: HistoryEvent | None = None,
) -> HistoryEvent:
    """Add the event. Call it last inside the transaction of the change, after ``lock``.

    It names the API token that the request was signed in with, if any.
    """
    run_sql(COUNT_ALONE, {"workspace": change.workspace.pk})
    request = get_contextvars()
    if token := request.get("token"):
        details = {**details, "token": str(token)}
    event = HistoryEvent.objects.create(
        workspace=change.workspace,
        sequence=next_sequence(change.workspace),
        kind=kind,
        user=change.user,
        via=change.via or str(request.get("via", ""))[:12],
        request_id=str(request.get("request_id", ""))[:64],
        reason=" ".join(change.reason.replace("\0", "").split())[:REASON_LENGTH],
        details=dict(details),
        batch=change.batch,
        undoes=undoes,
    )
    HistorySubject.objects.bulk_create(
        HistorySubject(
            workspace=change.workspace,
            event=event,
            subject_id=subject_id,
            kind=subject_kind,
            sequence=event.sequence,
        )
        for subject_id, subject_kind in subjects.items()
    )
    logger.info("recorded kind=%s workspace=%s event=%s", kind, change.workspace.pk, event.pk)
    return event


def record_added(documents: Sequence[Document]) -> HistoryEvent:
    """Record one event for documents added to a workspace together.

    The only event recorded without ``lock``: nothing depends on new documents yet.
    """
    first = documents[0]
    names = {str(one.pk): one.title for one in documents[:MOST_NAMES]}
    return record(
        ChangeContext(first.workspace, first.added_by, via="" if first.added_by_id else "command"),
        EventKind.DOCUMENT_ADDED,
        {one.pk: SubjectKind.DOCUMENT for one in documents},
        {"names": names, "counts": {"documents": len(documents)}},
    )


def lock(workspace: Workspace) -> None:
    """Block other people's changes, and stages that apply decisions, until the transaction ends.

    Always take it before locking any row, so that there are no deadlocks.
    """
    locks.hold(workspace.pk)


def next_sequence(workspace: Workspace) -> int:
    rows = HistoryEvent.objects.in_workspace(workspace)
    return 1 + (rows.aggregate(last=Max("sequence"))["last"] or 0)


def revisions(workspace: Workspace, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """The number of the last event of each subject; 0 if there was none."""
    rows = HistorySubject.objects.in_workspace(workspace).filter(subject_id__among=ids)
    last = dict(rows.values_list("subject_id").annotate(last=Max("sequence")))
    return {one: last.get(one, 0) for one in ids}


def check_expected(change: ChangeContext) -> None:
    """Raise PreconditionError, with the events since, if anything was changed meanwhile."""
    now = revisions(change.workspace, change.expected.keys())
    changed = {one: seen for one, seen in change.expected.items() if now[one] != seen}
    if changed:
        since = _since(change.workspace, changed)
        raise PreconditionError(
            "Someone changed this after you opened it.",
            kept="Your change was not saved.",
            next_step="Look at what changed, then decide again.",
            events=since,
            fields={"events": event_sentences(workspace=change.workspace, event_ids=since)},
        )


def _since(workspace: Workspace, changed: Mapping[uuid.UUID, int]) -> tuple[uuid.UUID, ...]:
    rows = HistorySubject.objects.in_workspace(workspace).filter(subject_id__among=changed)
    found = {
        (sequence, event_id)
        for subject_id, sequence, event_id in rows.values_list("subject_id", "sequence", "event_id")
        if sequence > changed[subject_id]
    }
    return tuple(event_id for _, event_id in sorted(found))
