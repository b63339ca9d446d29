"""The life of a document after it was added: disabling, trashing, restoring, deleting.

A document that is disabled or in the trash is archived (``ingestion.documents.archive``): it is not
searched, and it comes back unchanged without being read again. Deleting for good cannot be undone:
rows and files go, answers that cite the document keep their numbers without the quotes, and history
keeps a sentence. Each function is one transaction, one event, and one refresh for any number of
documents.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion.documents import archive
from ingestion.documents.deletion_impact import losses_of
from ingestion.documents.metadata import document_edit, put_back
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, DocumentVersion, EventKind, HistoryEvent, SubjectKind
from kb_project.database.retrying import retried
from kb_project.errors import ConflictError
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
"""Documents deleted per run; the others follow a minute later."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A state change: which documents it applies to, what it sets, and the refusal if there are
    none.
    """

    kind: EventKind
    is_due: Callable[[Document], bool]
    values: Callable[[ChangeContext], dict[str, Any]]
    code: str
    refusal: str


DISABLE: Final = _Move(
    EventKind.DOCUMENT_DISABLED,
    lambda row: row.is_live,
    lambda _: {"disabled_at": timezone.now()},
    "already_disabled",
    "{} is already excluded from search.",
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
    lambda change: {"trashed_at": timezone.now(), "trashed_by": change.user},
    "already_in_trash",
    "{} is already in the trash.",
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


def document_disable(*, change: ChangeContext, document: Document) -> HistoryEvent:
    """Exclude it from search without deleting it. Raises ConflictError, PreconditionError."""
    return documents_disable(change=change, documents=[document])


def document_enable(*, change: ChangeContext, document: Document) -> HistoryEvent:
    return documents_enable(change=change, documents=[document])


def document_trash(*, change: ChangeContext, document: Document) -> HistoryEvent:
    return documents_trash(change=change, documents=[document])


def document_restore(*, change: ChangeContext, document: Document) -> HistoryEvent:
    return documents_restore(change=change, documents=[document])


def document_delete(*, change: ChangeContext, document: Document) -> HistoryEvent:
    return documents_delete(change=change, documents=[document])


def documents_disable(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    return _done(change, documents, DISABLE)


def documents_enable(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    return _done(change, documents, ENABLE)


def documents_trash(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    """Put them in the trash, from which they can be restored for ``settings.TRASH_DAYS`` days.

    Documents already there are left alone. Raises ConflictError if all of them are, and
    PreconditionError.
    """
    return _done(change, documents, TRASH)


def documents_restore(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    """Restore them from the trash as they were: a disabled document is disabled again.

    ``details["twins"]`` names other documents with the same title or content.
    """
    return _done(change, documents, RESTORE)


def documents_delete(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    """Delete them for good, whether they are in the trash or not.

    Documents that were in the trash when read but were restored meanwhile are kept. Raises
    ConflictError if nothing is left to delete, and PreconditionError.
    """
    return retried(lambda: _deleted(change, documents))


def _deleted(change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    were_in_trash = {row.pk for row in documents if row.trashed_at is not None}
    with access.in_workspace(change.workspace.pk):
        rows = [
            row
            for row in _begun(change, documents)
            if row.trashed_at is not None or row.pk not in were_in_trash
        ]
        if not rows:
            raise ConflictError("There is nothing left to delete.", code="already_deleted")
        ids = [row.pk for row in rows]
        details = _details(change.workspace, rows)
        kept = DocumentVersion.objects.in_workspace(change.workspace).filter(document_id__in=ids)
        paths = list(kept.values_list("blob", flat=True))
        searched = [row.pk for row in rows if row.is_live]
        if searched:
            archive.remove(change.workspace.pk, searched)
        _rows(change.workspace, ids).delete()
        transaction.on_commit(lambda: forget(paths))
        event = _recorded(change, EventKind.DOCUMENT_DELETED, ids, details)
    logger.info("documents deleted workspace=%s documents=%s", change.workspace.pk, len(ids))
    return event


def trash_purge() -> int:
    """Delete for good what has been in the trash for too long; returns the number of documents."""
    return sum(_purge(workspace) for workspace in Workspace.objects.order_by("pk"))


def _purge(workspace: Workspace) -> int:
    limit = timezone.now() - timedelta(days=settings.TRASH_DAYS)
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).filter(trashed_at__lt=limit)
        if not rows.exists():
            return 0
        # From here on, no one can restore any of them.
        recording.lock(workspace)
        due = list(rows.order_by("trashed_at")[:MOST_PURGED])
        if due:
            documents_delete(change=ChangeContext(workspace, None, via="schedule"), documents=due)
    return len(due)


def take_back(*, change: ChangeContext, event: HistoryEvent) -> None:
    """Undo an event about documents, of any kind except DOCUMENT_REPLACED.

    Records nothing: the caller does. Call inside a transaction that began with
    ``ingestion.history.recording.lock``. Raises ConflictError if a document was deleted for good.
    """
    subjects = event.subjects.filter(workspace=change.workspace, kind=SubjectKind.DOCUMENT)
    ids = list(subjects.values_list("subject_id", flat=True))
    rows = list(_rows(change.workspace, ids))
    if event.kind == EventKind.DOCUMENT_DELETED or len(rows) < len(ids):
        _refuse_what_is_gone(event, {row.pk for row in rows})
    if event.kind == EventKind.DOCUMENT_EDITED:
        put_back(change, rows[0], event)
    else:
        _move(change, rows, INVERSE[event.kind])


def _refuse_what_is_gone(event: HistoryEvent, there: set[uuid.UUID]) -> None:
    names = event.details.get("names", {})
    gone = [title for one, title in names.items() if uuid.UUID(one) not in there]
    raise ConflictError(
        f"{_quoted(gone) or 'A document'} was deleted for good.",
        code="deleted_for_good",
        kept="Nothing was changed.",
        next_step="Add the file again.",
    )


def _done(change: ChangeContext, documents: Sequence[Document], move: _Move) -> HistoryEvent:
    return retried(lambda: _once(change, documents, move))


def _once(change: ChangeContext, documents: Sequence[Document], move: _Move) -> HistoryEvent:
    with access.in_workspace(change.workspace.pk):
        rows = _begun(change, documents)
        due = [row for row in rows if move.is_due(row)]
        if not due:
            name = _quoted([row.title for row in rows]) or "This"
            raise ConflictError(
                move.refusal.format(name), code=move.code, kept="Nothing was changed."
            )
        details = _details(change.workspace, due)
        if move is RESTORE:
            details["twins"] = _twins(change.workspace, due)
        _move(change, due, move)
        event = _recorded(change, move.kind, [row.pk for row in due], details)
    logger.info("%s workspace=%s documents=%s", move.kind, change.workspace.pk, len(due))
    return event


def _begun(change: ChangeContext, documents: Sequence[Document]) -> list[Document]:
    """Lock the workspace's history, check preconditions, and reload the documents."""
    recording.lock(change.workspace)
    recording.check_expected(change)
    return list(_rows(change.workspace, [document.pk for document in documents]))


def _rows(workspace: Workspace, ids: Iterable[uuid.UUID]) -> QuerySet[Document]:
    return Document.objects.in_workspace(workspace).filter(pk__in=list(ids)).order_by("title", "pk")


def _move(change: ChangeContext, rows: Sequence[Document], move: _Move) -> None:
    """Change the documents' state, and archive or restore accordingly. Recording is up to the
    caller.
    """
    due = [row for row in rows if move.is_due(row)]
    values = move.values(change)
    before = {row.pk for row in due if row.is_live}
    _rows(change.workspace, [row.pk for row in due]).update(**values, updated_at=timezone.now())
    for row in due:
        for name, value in values.items():
            setattr(row, name, value)
    after = {row.pk for row in due if row.is_live}
    if gone := sorted(before - after):
        archive.put(change.workspace.pk, gone)
    if back := sorted(after - before):
        archive.take(change.workspace.pk, back)


def _details(workspace: Workspace, rows: Sequence[Document]) -> dict[str, Any]:
    losses = losses_of(workspace=workspace, documents=[row.pk for row in rows])
    return {"names": names_of(rows), "counts": losses.as_json()}


def names_of(rows: Sequence[Document]) -> dict[str, str]:
    return {str(row.pk): row.title for row in rows[: recording.MOST_NAMES]}


def _recorded(
    change: ChangeContext, kind: EventKind, ids: Sequence[uuid.UUID], details: Mapping[str, Any]
) -> HistoryEvent:
    return recording.record(change, kind, dict.fromkeys(ids, SubjectKind.DOCUMENT), details)


def _twins(workspace: Workspace, rows: Sequence[Document]) -> list[str]:
    """Return titles of other documents with the same title or content as these."""
    others = Document.objects.in_workspace(workspace).filter(trashed_at=None)
    same = others.filter(sha256__in=[row.sha256 for row in rows]) | others.filter(
        title__in=[row.title for row in rows]
    )
    return sorted(set(same.values_list("title", flat=True)))[: recording.MOST_NAMES]


def _quoted(titles: Sequence[str]) -> str:
    """
    >>> _quoted(["Log"]), _quoted(["Log", "Ledger", "Lease"])
    ("'Log'", "'Log' and 2 more")
    """
    if not titles:
        return ""
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    return f"'{titles[0]}'{more}"


def forget(blobs: Iterable[str]) -> None:
    """Delete files and their page pictures; missing ones are no error."""
    for blob in blobs:
        path = Path(default_storage.path(blob))
        path.unlink(missing_ok=True)
        shutil.rmtree(f"{path}.pages", ignore_errors=True)
