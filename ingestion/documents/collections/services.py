"""Create, rename and delete collections, and move documents between them.

A document is in one collection or none. Deleting a collection keeps its documents.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from django.utils import timezone

from ingestion.documents.collections.queries import collection_at, collection_get
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Collection, Document, EventKind, HistoryEvent, SubjectKind
from kb_project.errors import ConflictError, InputError
from kb_project.text.words import counted
from workspaces import access, editions

logger = logging.getLogger(__name__)

NAME_LENGTH: Final = 120


def clean_name(name: str) -> str:
    """Normalise a collection's name."""
    return " ".join(name.replace("\0", "").split())[:NAME_LENGTH].strip()


def collection_named(workspace_id: uuid.UUID, name: str) -> Collection | None:
    """Get or create the collection of that name, ignoring case; None for an empty name."""
    name = clean_name(name)
    if not name:
        return None
    there = collection_at(workspace_id=workspace_id, name=name)
    return there or Collection.objects.create(workspace_id=workspace_id, name=name)


def collection_create(*, change: ChangeContext, name: str) -> Collection:
    """Raises InputError for a name that is empty or too long, ConflictError if it is taken."""
    with access.in_workspace(change.workspace.pk):
        recording.lock(change.workspace)
        collection = Collection(workspace=change.workspace, name=_free_name(change, name))
        collection.save()
        _record(change, EventKind.COLLECTION_CREATED, collection, {})
    return collection


def collection_rename(*, change: ChangeContext, collection: Collection, name: str) -> HistoryEvent:
    """Raises InputError and ConflictError as for a new name, ConflictError if it is the same, and
    PreconditionError.
    """
    with access.in_workspace(change.workspace.pk):
        row = _begun(change, collection)
        wanted, before = _free_name(change, name, other_than=row), row.name
        if wanted == before:
            raise ConflictError(
                f"'{before}' already has this name.",
                code="nothing_changed",
                kept="Nothing was changed.",
            )
        row.name = wanted
        row.save(update_fields=["name"])
        editions.follow(change.workspace.pk)
        values = {"before": {"name": before}, "after": {"name": wanted}}
        return _record(change, EventKind.COLLECTION_RENAMED, row, values)


def collection_delete(*, change: ChangeContext, collection: Collection) -> HistoryEvent:
    """Delete it and keep its documents, which are then in no collection.

    Raises PreconditionError, and ConflictError if that would open hidden documents to all members.
    """
    with access.in_workspace(change.workspace.pk):
        row = _begun(change, collection)
        inside = Document.objects.in_workspace(change.workspace).filter(collection=row)
        ids = list(inside.values_list("pk", flat=True))
        if ids and row.is_restricted:
            raise ConflictError(
                f"All members would see the documents of '{row.name}' without it.",
                code="collection_restricted",
                kept="Nothing was changed.",
                next_step="Move its documents first, or open the collection to all members.",
            )
        inside.update(collection=None, updated_at=timezone.now())
        values = {"counts": {"documents": len(ids)}}
        event = _record(change, EventKind.COLLECTION_DELETED, row, values, documents=ids)
        Collection.objects.in_workspace(change.workspace).filter(pk=row.pk).delete()
        editions.follow(change.workspace.pk)
    logger.info("collection deleted workspace=%s documents=%s", change.workspace.pk, len(ids))
    return event


class MoveOutcome(StrEnum):
    MOVED = "moved"
    UNCHANGED = "unchanged"
    IN_TRASH = "in_trash"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Moves:
    """What became of each document, in the order given; ``event`` is None if none was moved."""

    event: HistoryEvent | None
    outcomes: Mapping[uuid.UUID, MoveOutcome]

    @property
    def moved(self) -> int:
        return list(self.outcomes.values()).count(MoveOutcome.MOVED)

    @property
    def left_out(self) -> str:
        """Say which documents were not moved, and why; '' if all were."""
        said = {
            MoveOutcome.UNCHANGED: "already there",
            MoveOutcome.IN_TRASH: "in the trash",
            MoveOutcome.MISSING: "no longer there",
        }
        numbers = {one: list(self.outcomes.values()).count(one) for one in said}
        parts = [f"{counted(n, 'document')} {said[one]}" for one, n in numbers.items() if n]
        return f"Not moved: {', '.join(parts)}." if parts else ""


def documents_move(
    *,
    change: ChangeContext,
    document_ids: Sequence[uuid.UUID],
    to: Collection | None,
    out_of: Collection | None = None,
) -> Moves:
    """Move documents to a collection, or to none. With ``out_of``, only those that are in it.

    Documents that cannot be moved are left alone, each with its outcome. Raises NotFoundError if
    ``to`` was deleted meanwhile, and PreconditionError.
    """
    ids = list(dict.fromkeys(document_ids))
    with access.in_workspace(change.workspace.pk):
        recording.lock(change.workspace)
        recording.check_expected(change)
        if to is not None:
            collection_get(workspace=change.workspace, collection_id=to.pk)
        rows = Document.objects.in_workspace(change.workspace).filter(pk__in=ids)
        there = {row.pk: row for row in rows.select_related("collection").order_by("title", "pk")}
        outcomes = {one: _outcome(there.get(one), to, out_of) for one in ids}
        due = [row for row in there.values() if outcomes[row.pk] == MoveOutcome.MOVED]
        return Moves(_move(change, due, to) if due else None, outcomes)


def documents_change(
    *,
    change: ChangeContext,
    collection: Collection,
    add: Sequence[uuid.UUID],
    remove: Sequence[uuid.UUID],
) -> tuple[Moves, Moves]:
    """Move documents into a collection and take others out, as one change that is undone together.

    Raises InputError if a document is to be both added and removed, and as ``documents_move``.
    """
    if both := set(add) & set(remove):
        raise InputError(
            f"{counted(len(both), 'document')} would be both added and removed.",
            kept="Nothing was changed.",
            next_step="Send each id once.",
        )
    with access.in_workspace(change.workspace.pk):
        recording.lock(change.workspace)
        recording.check_expected(change)
        batch = replace(change, expected={}, batch=uuid.uuid4())
        return (
            documents_move(change=batch, document_ids=add, to=collection),
            documents_move(change=batch, document_ids=remove, to=None, out_of=collection),
        )


def _outcome(
    document: Document | None, to: Collection | None, out_of: Collection | None
) -> MoveOutcome:
    if document is None:
        return MoveOutcome.MISSING
    if document.trashed_at is not None:
        return MoveOutcome.IN_TRASH
    is_elsewhere = out_of is not None and document.collection_id != out_of.pk
    if is_elsewhere or document.collection_id == (to and to.pk):
        return MoveOutcome.UNCHANGED
    return MoveOutcome.MOVED


def _move(change: ChangeContext, due: Sequence[Document], to: Collection | None) -> HistoryEvent:
    ids = [row.pk for row in due]
    rows = Document.objects.in_workspace(change.workspace).filter(pk__in=ids)
    rows.update(collection=to, updated_at=timezone.now())
    editions.follow(change.workspace.pk, is_hidden=bool(to and to.is_restricted))
    left = {row.collection_id: SubjectKind.COLLECTION for row in due if row.collection_id}
    joined = {to.pk: SubjectKind.COLLECTION} if to else {}
    before = {str(row.pk): row.collection.name if row.collection else "" for row in due}
    details: dict[str, Any] = {
        "names": {str(row.pk): row.title for row in due[: recording.MOST_NAMES]},
        "counts": {"documents": len(due)},
        "collections": before,
        "after": {"collection": to.name if to else ""},
    }
    if len(set(before.values())) == 1:
        details["before"] = {"collection": before[str(due[0].pk)]}
    subjects = {**dict.fromkeys(ids, SubjectKind.DOCUMENT), **left, **joined}
    event = recording.record(change, EventKind.DOCUMENT_MOVED, subjects, details)
    logger.info("documents moved workspace=%s documents=%s", change.workspace.pk, len(due))
    return event


def _begun(change: ChangeContext, collection: Collection) -> Collection:
    """Lock the workspace's history, check preconditions, and reload the collection."""
    recording.lock(change.workspace)
    recording.check_expected(change)
    return collection_get(workspace=change.workspace, collection_id=collection.pk)


def _free_name(change: ChangeContext, name: str, other_than: Collection | None = None) -> str:
    wanted = " ".join(name.replace("\0", "").split())
    if not wanted or len(wanted) > NAME_LENGTH:
        raise InputError(
            f"A collection's name has 1 to {NAME_LENGTH} characters.",
            code="invalid_name",
            kept="Nothing was changed.",
        )
    there = collection_at(workspace_id=change.workspace.pk, name=wanted)
    if there is not None and there != other_than:
        raise ConflictError(
            f"There is already a collection called '{there.name}'.",
            code="collection_taken",
            kept="Nothing was changed.",
            next_step="Choose another name. Capital letters make no difference.",
        )
    return wanted


def _record(
    change: ChangeContext,
    kind: EventKind,
    collection: Collection,
    values: Mapping[str, Any],
    *,
    documents: Iterable[uuid.UUID] = (),
) -> HistoryEvent:
    details = {"names": {str(collection.pk): collection.name}, **values}
    subjects = dict.fromkeys(documents, SubjectKind.DOCUMENT)
    return recording.record(
        change, kind, {collection.pk: SubjectKind.COLLECTION, **subjects}, details
    )
