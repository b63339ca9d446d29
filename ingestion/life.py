"""What becomes of a document after it was added: disabled, put into the trash, restored, deleted.

What is disabled or in the trash is on the shelf (``ingestion.shelf``): it is searched nowhere, and
back as it was without anything being read again. Deleting for good cannot be taken back: rows
and files go, answers that cite the document keep their numbers without the quotes, and history
keeps a sentence. Each function is one transaction, one event, and one refresh for any number of
documents.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion import blobs, history, shelf
from ingestion.editing import document_edit, put_back
from ingestion.history import Deed
from ingestion.losses import losses_of
from ingestion.models import Document, DocumentVersion, EventKind, HistoryEvent, SubjectKind
from kb_project.errors import ConflictError
from kb_project.retrying import retried
from workspaces import access
from workspaces.models import Workspace

__all__ = [
    "document_delete",
    "document_disable",
    "document_edit",
    "document_enable",
    "document_restore",
    "document_trash",
    "documents_delete",
    "documents_disable",
    "documents_enable",
    "documents_restore",
    "documents_trash",
    "take_back",
    "trash_purge",
]

logger = logging.getLogger(__name__)

MOST_PURGED: Final = 200
"""Documents deleted in one go; the others a minute later."""


@dataclass(frozen=True, slots=True)
class _Move:
    """From one state to another: for whom it is due, what it changes, and what to say if nobody."""

    kind: EventKind
    is_due: Callable[[Document], bool]
    values: Callable[[Deed], dict[str, Any]]
    code: str
    refusal: str


DISABLE: Final = _Move(
    EventKind.DOCUMENT_DISABLED,
    lambda row: row.is_live,
    lambda _: {"disabled_at": timezone.now()},
    "already_disabled",
    "{} is not searched as it is.",
)
ENABLE: Final = _Move(
    EventKind.DOCUMENT_ENABLED,
    lambda row: row.disabled_at is not None and row.trashed_at is None,
    lambda _: {"disabled_at": None},
    "not_disabled",
    "{} is not disabled.",
)
TRASH: Final = _Move(
    EventKind.DOCUMENT_TRASHED,
    lambda row: row.trashed_at is None,
    lambda deed: {"trashed_at": timezone.now(), "trashed_by": deed.user},
    "already_in_trash",
    "{} is in the trash already.",
)
RESTORE: Final = _Move(
    EventKind.DOCUMENT_RESTORED,
    lambda row: row.trashed_at is not None,
    lambda _: {"trashed_at": None, "trashed_by": None},
    "not_in_trash",
    "{} is not in the trash.",
)
INVERSE: Final[Mapping[str, _Move]] = {
    EventKind.DOCUMENT_ADDED: TRASH,
    EventKind.DOCUMENT_DISABLED: ENABLE,
    EventKind.DOCUMENT_ENABLED: DISABLE,
    EventKind.DOCUMENT_TRASHED: RESTORE,
    EventKind.DOCUMENT_RESTORED: TRASH,
}


def document_disable(*, deed: Deed, document: Document) -> HistoryEvent:
    """Search it no more, without deleting it. Raises ConflictError, PreconditionError."""
    return documents_disable(deed=deed, documents=[document])


def document_enable(*, deed: Deed, document: Document) -> HistoryEvent:
    return documents_enable(deed=deed, documents=[document])


def document_trash(*, deed: Deed, document: Document) -> HistoryEvent:
    return documents_trash(deed=deed, documents=[document])


def document_restore(*, deed: Deed, document: Document) -> HistoryEvent:
    return documents_restore(deed=deed, documents=[document])


def document_delete(*, deed: Deed, document: Document) -> HistoryEvent:
    return documents_delete(deed=deed, documents=[document])


def documents_disable(*, deed: Deed, documents: Sequence[Document]) -> HistoryEvent:
    return _done(deed, documents, DISABLE)


def documents_enable(*, deed: Deed, documents: Sequence[Document]) -> HistoryEvent:
    return _done(deed, documents, ENABLE)


def documents_trash(*, deed: Deed, documents: Sequence[Document]) -> HistoryEvent:
    """Put them into the trash, from where they can be restored for ``settings.TRASH_DAYS`` days.

    Those that are there already are left as they are. Raises ConflictError where all are, and
    PreconditionError.
    """
    return _done(deed, documents, TRASH)


def documents_restore(*, deed: Deed, documents: Sequence[Document]) -> HistoryEvent:
    """Bring them back from the trash, as they were: what was disabled is so again.

    ``details["twins"]`` names other documents of the same title or content.
    """
    return _done(deed, documents, RESTORE)


def documents_delete(*, deed: Deed, documents: Sequence[Document]) -> HistoryEvent:
    """Delete them for good, from the trash or from where they are.

    Of what was looked at in the trash, what somebody restored meanwhile stays. Raises ConflictError
    where nothing is left to delete, and PreconditionError.
    """
    return retried(lambda: _deleted(deed, documents))


def _deleted(deed: Deed, documents: Sequence[Document]) -> HistoryEvent:
    were_in_trash = {row.pk for row in documents if row.trashed_at is not None}
    with access.in_workspace(deed.workspace.pk):
        rows = [
            row
            for row in _begun(deed, documents)
            if row.trashed_at is not None or row.pk not in were_in_trash
        ]
        if not rows:
            raise ConflictError("Nothing is left of this to delete.", code="already_deleted")
        ids = [row.pk for row in rows]
        details = _details(deed.workspace, rows)
        kept = DocumentVersion.objects.in_workspace(deed.workspace).filter(document_id__in=ids)
        paths = list(kept.values_list("blob", flat=True))
        searched = [row.pk for row in rows if row.is_live]
        if searched:
            shelf.remove(deed.workspace.pk, searched)
        _rows(deed.workspace, ids).delete()
        transaction.on_commit(lambda: blobs.forget(paths))
        event = _recorded(deed, EventKind.DOCUMENT_DELETED, ids, details)
    logger.info("documents deleted workspace=%s documents=%s", deed.workspace.pk, len(ids))
    return event


def trash_purge() -> int:
    """Delete for good what has been in the trash for too long; returns how many documents."""
    return sum(_purge(workspace) for workspace in Workspace.objects.order_by("pk"))


def _purge(workspace: Workspace) -> int:
    limit = timezone.now() - timedelta(days=settings.TRASH_DAYS)
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).filter(trashed_at__lt=limit)
        if not rows.exists():
            return 0
        # Nobody restores any of them from here on.
        history.lock(workspace)
        due = list(rows.order_by("trashed_at")[:MOST_PURGED])
        if due:
            documents_delete(deed=Deed(workspace, None, via="schedule"), documents=due)
    return len(due)


def take_back(*, deed: Deed, event: HistoryEvent) -> None:
    """Make an event about documents undone: all that is but DOCUMENT_REPLACED.

    Nothing is recorded: whoever undoes does that. Call inside a transaction that began with
    ``history.lock``. Raises ConflictError where a document is gone for good.
    """
    subjects = event.subjects.filter(workspace=deed.workspace, kind=SubjectKind.DOCUMENT)
    ids = list(subjects.values_list("subject_id", flat=True))
    rows = list(_rows(deed.workspace, ids))
    if event.kind == EventKind.DOCUMENT_DELETED or len(rows) < len(ids):
        _refuse_what_is_gone(event, {row.pk for row in rows})
    if event.kind == EventKind.DOCUMENT_EDITED:
        put_back(deed, rows[0], event)
    else:
        _move(deed, rows, INVERSE[event.kind])


def _refuse_what_is_gone(event: HistoryEvent, there: set[uuid.UUID]) -> None:
    names = event.details.get("names", {})
    gone = [title for one, title in names.items() if uuid.UUID(one) not in there]
    raise ConflictError(
        f"{_quoted(gone) or 'A document of this'} was deleted for good.",
        code="deleted_for_good",
        kept="Nothing was changed.",
        next_step="Add the file again.",
    )


def _done(deed: Deed, documents: Sequence[Document], move: _Move) -> HistoryEvent:
    return retried(lambda: _once(deed, documents, move))


def _once(deed: Deed, documents: Sequence[Document], move: _Move) -> HistoryEvent:
    with access.in_workspace(deed.workspace.pk):
        rows = _begun(deed, documents)
        due = [row for row in rows if move.is_due(row)]
        if not due:
            name = _quoted([row.title for row in rows]) or "This"
            raise ConflictError(
                move.refusal.format(name), code=move.code, kept="Nothing was changed."
            )
        details = _details(deed.workspace, due)
        if move is RESTORE:
            details["twins"] = _twins(deed.workspace, due)
        _move(deed, due, move)
        event = _recorded(deed, move.kind, [row.pk for row in due], details)
    logger.info("%s workspace=%s documents=%s", move.kind, deed.workspace.pk, len(due))
    return event


def _begun(deed: Deed, documents: Sequence[Document]) -> list[Document]:
    """The documents as they are now, once nobody else can change them."""
    history.lock(deed.workspace)
    history.check_expected(deed)
    return list(_rows(deed.workspace, [document.pk for document in documents]))


def _rows(workspace: Workspace, ids: Iterable[uuid.UUID]) -> QuerySet[Document]:
    return Document.objects.in_workspace(workspace).filter(pk__in=list(ids)).order_by("title", "pk")


def _move(deed: Deed, rows: Sequence[Document], move: _Move) -> None:
    """Change the documents' state; what is searched follows. The rest of it is the caller's."""
    due = [row for row in rows if move.is_due(row)]
    values = move.values(deed)
    before = {row.pk for row in due if row.is_live}
    _rows(deed.workspace, [row.pk for row in due]).update(**values, updated_at=timezone.now())
    for row in due:
        for name, value in values.items():
            setattr(row, name, value)
    after = {row.pk for row in due if row.is_live}
    if gone := sorted(before - after):
        shelf.put(deed.workspace.pk, gone)
    if back := sorted(after - before):
        shelf.take(deed.workspace.pk, back)


def _details(workspace: Workspace, rows: Sequence[Document]) -> dict[str, Any]:
    losses = losses_of(workspace=workspace, documents=[row.pk for row in rows])
    return {"names": names_of(rows), "counts": losses.as_json()}


def names_of(rows: Sequence[Document]) -> dict[str, str]:
    return {str(row.pk): row.title for row in rows[: history.MOST_NAMES]}


def _recorded(
    deed: Deed, kind: EventKind, ids: Sequence[uuid.UUID], details: Mapping[str, Any]
) -> HistoryEvent:
    return history.record(deed, kind, dict.fromkeys(ids, SubjectKind.DOCUMENT), details)


def _twins(workspace: Workspace, rows: Sequence[Document]) -> list[str]:
    """Titles that are there twice once these documents are back."""
    others = Document.objects.in_workspace(workspace).filter(trashed_at=None)
    same = others.filter(sha256__in=[row.sha256 for row in rows]) | others.filter(
        title__in=[row.title for row in rows]
    )
    return sorted(set(same.values_list("title", flat=True)))[: history.MOST_NAMES]


def _quoted(titles: Sequence[str]) -> str:
    """
    >>> _quoted(["Log"]), _quoted(["Log", "Ledger", "Lease"])
    ("'Log'", "'Log' and 2 more")
    """
    if not titles:
        return ""
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    return f"'{titles[0]}'{more}"
