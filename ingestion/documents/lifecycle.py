"""Disable, trash, restore and delete documents.

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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion.documents import archive
from ingestion.documents.archive import losses_of
from ingestion.documents.metadata import undo_edit
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, DocumentVersion, EventKind, HistoryEvent, SubjectKind
from kb_project.database.outages import retried
from kb_project.errors import ConflictError
from workspaces import access
from workspaces.models import DELETE_FOR_GOOD, Workspace

logger = logging.getLogger(__name__)

MOST_PURGED: Final = 200
"""Documents deleted per run; the others follow a minute later."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A state change: the documents it applies to, what it sets, the refusal if there are none."""

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
OUT_OF_TRASH: Final = (EventKind.DOCUMENT_DISABLED, EventKind.DOCUMENT_ENABLED)
"""What is done only to documents that are not in the trash."""
INVERSE: Final[Mapping[str, _Move]] = {
    EventKind.DOCUMENT_ADDED: TRASH,
    EventKind.DOCUMENT_DISABLED: ENABLE,
    EventKind.DOCUMENT_ENABLED: DISABLE,
    EventKind.DOCUMENT_TRASHED: RESTORE,
    EventKind.DOCUMENT_RESTORED: TRASH,
}
REPEAT: Final[Mapping[str, _Move]] = {
    EventKind.DOCUMENT_ADDED: RESTORE,
    EventKind.DOCUMENT_DISABLED: DISABLE,
    EventKind.DOCUMENT_ENABLED: ENABLE,
    EventKind.DOCUMENT_TRASHED: TRASH,
    EventKind.DOCUMENT_RESTORED: RESTORE,
}
"""What an event does again once its undo is undone."""


def documents_disable(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    """Exclude them from search without deleting them.

    Like the other functions here, raises PreconditionError, and ConflictError if it applies to none
    of the documents.
    """
    return retried(lambda: _moved(change, documents, DISABLE))


def documents_enable(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    return retried(lambda: _moved(change, documents, ENABLE))


def documents_trash(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    """Put them in the trash, from which they can be restored for ``settings.TRASH_DAYS`` days.

    Documents already there are left alone. Raises ConflictError if all of them are, and
    PreconditionError.
    """
    return retried(lambda: _moved(change, documents, TRASH))


def documents_restore(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    """Restore them from the trash as they were: a disabled document is disabled again.

    ``details["twins"]`` names other documents with the same title or content;
    ``details["names_follow"]`` is there if a worker restores the names and facts of very many.
    """
    return retried(lambda: _moved(change, documents, RESTORE))


def documents_delete(*, change: ChangeContext, documents: Sequence[Document]) -> HistoryEvent:
    """Delete them for good, whether they are in the trash or not.

    Documents that were in the trash when read but were restored meanwhile are kept. Raises
    ConflictError if nothing is left to delete, PreconditionError, and ForbiddenError if the
    workspace leaves this to admins.
    """
    access.check_right(change.workspace, DELETE_FOR_GOOD)
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
        details = _details(change.workspace, rows, rows)
        kept = DocumentVersion.objects.in_workspace(change.workspace).filter(document_id__in=ids)
        paths = list(kept.values_list("blob", flat=True))
        searched = [row.pk for row in rows if row.is_live]
        if searched:
            archive.remove(change.workspace.pk, searched)
        _rows(change.workspace, ids).delete()
        if change.workspace.source_id is None:
            # An edition's rows share the files of its source.
            transaction.on_commit(lambda: forget(paths))
        subjects = dict.fromkeys(ids, SubjectKind.DOCUMENT)
        event = recording.record(change, EventKind.DOCUMENT_DELETED, subjects, details)
    logger.info("documents deleted workspace=%s documents=%s", change.workspace.pk, len(ids))
    return event


def trash_purge(workspaces: Collection[uuid.UUID]) -> int:
    """Delete for good what has been in the trash of these workspaces for too long; returns the
    number of documents."""
    sources = Workspace.objects.filter(pk__in=workspaces, source=None).order_by("pk")
    return sum(_purge(workspace) for workspace in sources)


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


def undo_event(*, change: ChangeContext, event: HistoryEvent, redo: bool = False) -> None:
    """Undo an event about documents, of any kind except DOCUMENT_REPLACED, or do it again.

    Records nothing: the caller does. Call inside a transaction that began with
    ``ingestion.history.recording.lock``. Raises ConflictError if a document was deleted for good.
    """
    subjects = event.subjects.filter(workspace=change.workspace, kind=SubjectKind.DOCUMENT)
    ids = list(subjects.values_list("subject_id", flat=True))
    rows = list(_rows(change.workspace, ids))
    if event.kind == EventKind.DOCUMENT_DELETED or len(rows) < len(ids):
        there = {str(row.pk) for row in rows}
        names = event.details.get("names", {})
        gone = _quoted([title for one, title in names.items() if one not in there])
        raise ConflictError(
            f"{gone or 'A document'} was deleted for good.",
            code="deleted_for_good",
            kept="Nothing was changed.",
            next_step="Add the file again.",
        )
    if event.kind in (EventKind.DOCUMENT_EDITED, EventKind.DOCUMENT_MOVED):
        for row in rows:
            undo_edit(change, row, event, redo=redo)
    else:
        _move(change, rows, (REPEAT if redo else INVERSE)[event.kind])


def _moved(change: ChangeContext, documents: Sequence[Document], move: _Move) -> HistoryEvent:
    with access.in_workspace(change.workspace.pk):
        rows = _begun(change, documents)
        due = [row for row in rows if move.is_due(row)]
        if not due:
            raise _refusal(move, rows)
        # In and out of the trash, a disabled document is not searched.
        searched = [row for row in due if move.kind in OUT_OF_TRASH or row.disabled_at is None]
        details = _details(change.workspace, due, searched)
        if move is RESTORE:
            details["twins"] = _twins(change.workspace, searched)
        if _move(change, due, move):
            details["names_follow"] = True
        subjects = {row.pk: SubjectKind.DOCUMENT for row in due}
        event = recording.record(change, move.kind, subjects, details)
    logger.info("%s workspace=%s documents=%s", move.kind, change.workspace.pk, len(due))
    return event


def _refusal(move: _Move, rows: Sequence[Document]) -> ConflictError:
    name = _quoted([row.title for row in rows]) or "This"
    if rows and move.kind in OUT_OF_TRASH and all(row.trashed_at for row in rows):
        is_one = len(rows) == 1
        return ConflictError(
            f"{name} {'is' if is_one else 'are'} in the trash.",
            code="in_trash",
            kept="Nothing was changed.",
            next_step=f"Restore {'it' if is_one else 'them'} first.",
        )
    return ConflictError(move.refusal.format(name), code=move.code, kept="Nothing was changed.")


def _begun(change: ChangeContext, documents: Sequence[Document]) -> list[Document]:
    """Lock the workspace's history, check preconditions, and reload the documents."""
    recording.lock(change.workspace)
    recording.check_expected(change)
    return list(_rows(change.workspace, [document.pk for document in documents]))


def _rows(workspace: Workspace, ids: Iterable[uuid.UUID]) -> QuerySet[Document]:
    return Document.objects.in_workspace(workspace).filter(pk__in=list(ids)).order_by("title", "pk")


def _move(change: ChangeContext, rows: Sequence[Document], move: _Move) -> bool:
    """Change the documents' state, and archive or restore them; the caller records it.

    Returns whether a worker restores their names and facts.
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
        return archive.restore(change.workspace.pk, back)
    return False


def _details(
    workspace: Workspace, rows: Sequence[Document], counted: Sequence[Document]
) -> dict[str, Any]:
    losses = losses_of(workspace=workspace, documents=[row.pk for row in counted])
    names = {str(row.pk): row.title for row in rows[: recording.MOST_NAMES]}
    return {"names": names, "counts": asdict(losses) | {"documents": len(rows)}}


def _twins(workspace: Workspace, rows: Sequence[Document]) -> list[str]:
    """Return titles of other searched documents with the same title or content as these."""
    others = Document.objects.in_workspace(workspace).filter(trashed_at=None, disabled_at=None)
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
    more = f" and {len(titles) - 1:,} more" if len(titles) > 1 else ""
    return f"'{titles[0]}'{more}"


def forget(blobs: Iterable[str]) -> None:
    """Delete files and their page pictures; missing ones are no error."""
    for blob in blobs:
        path = Path(default_storage.path(blob))
        path.unlink(missing_ok=True)
        shutil.rmtree(f"{path}.pages", ignore_errors=True)
