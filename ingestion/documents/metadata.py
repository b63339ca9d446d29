"""A document's metadata as people edit it: title, collection, tags and date.

A title takes part in reading: it helps to find passages and to understand names. So a new title has
the document situated, embedded, extracted and resolved again. Everything else is a plain update.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.utils import timezone

from ingestion.documents import archive
from ingestion.documents.collections.queries import collection_at
from ingestion.documents.collections.services import clean_name, collection_named
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.knowledge.corpus import CORPUS_CHANGED
from ingestion.models import (
    ArchivedExtraction,
    ChunkExtraction,
    Document,
    DocumentState,
    EventKind,
    HistoryEvent,
    RunState,
    StageRun,
    SubjectKind,
)
from ingestion.pipeline import batching, runner, transitions
from kb_project.errors import ConflictError, InputError
from kb_project.sql import run_sql
from workspaces import access, editions

TITLE_LENGTH: Final = 500
MOST_TAGS: Final = 20
TAG_LENGTH: Final = 60
AGAIN: Final = ("situate", "embed", "extract", "resolve")
"""The stages that use a title."""


@dataclass(frozen=True, slots=True)
class Unset:
    """Marks a date that was not given: None clears the date."""


UNSET: Final = Unset()


def document_edit(
    *,
    change: ChangeContext,
    document: Document,
    title: str | None = None,
    collection: str | None = None,
    tags: Sequence[str] | None = None,
    dated: date | Unset | None = UNSET,
) -> HistoryEvent:
    """Change the given fields; a collection is given by name, '' for none.

    Raises InputError for a title that is empty or longer than 500 characters and for too many or
    too long tags, ConflictError if nothing would change, if the document is in the trash, or for a
    new title while the document is being read.
    """
    with access.in_workspace(change.workspace.pk):
        recording.lock(change.workspace)
        recording.check_expected(change)
        rows = Document.objects.in_workspace(change.workspace).select_related("collection")
        row = rows.get(pk=document.pk)
        wanted = _wanted(title, collection, tags, dated)
        if there := collection_at(workspace_id=row.workspace_id, name=wanted.get("collection", "")):
            wanted["collection"] = there.name
        before = editable_fields(row)
        after = {name: value for name, value in wanted.items() if value != before[name]}
        _check(row, after)
        _write(change, row, after)
        return recording.record(
            change,
            EventKind.DOCUMENT_EDITED,
            {row.pk: SubjectKind.DOCUMENT},
            {
                "names": {str(row.pk): after.get("title", before["title"])},
                "before": {name: before[name] for name in after},
                "after": after,
            },
        )


def undo_edit(
    change: ChangeContext, document: Document, event: HistoryEvent, *, redo: bool = False
) -> None:
    """Set the fields as if one edit or move had not been made, or as if it had not been undone;
    ``lifecycle.undo_event`` does the rest.

    The latest active change of each field counts; without one, its value before all changes.
    """
    edits = HistoryEvent.objects.in_workspace(change.workspace).filter(
        kind__in=[EventKind.DOCUMENT_EDITED, EventKind.DOCUMENT_MOVED],
        subjects__subject_id=document.pk,
    )
    due = {}
    for field in event.details["after"]:
        of_field = [edit for edit in reversed(edits) if field in edit.details["after"]]
        active = [
            edit for edit in of_field if (redo if edit.pk == event.pk else edit.undone_at is None)
        ]
        due[field] = (
            active[-1].details["after"][field] if active else _before(of_field[0], document)[field]
        )
    rows = Document.objects.in_workspace(change.workspace).select_related("collection")
    row = rows.get(pk=document.pk)
    before = editable_fields(row)
    _write(change, row, {field: value for field, value in due.items() if value != before[field]})


def _before(edit: HistoryEvent, document: Document) -> dict[str, Any]:
    """Return the fields of one document before an edit, or before a move of many."""
    if edit.kind == EventKind.DOCUMENT_MOVED:
        return {"collection": edit.details["collections"][str(document.pk)]}
    before: dict[str, Any] = edit.details["before"]
    return before


def editable_fields(document: Document) -> dict[str, Any]:
    """Return the editable fields as history stores them."""
    return {
        "title": document.title,
        "collection": document.collection.name if document.collection else "",
        "tags": list(document.tags),
        "dated": document.dated.isoformat() if document.dated else None,
    }


def _wanted(
    title: str | None,
    collection: str | None,
    tags: Sequence[str] | None,
    dated: date | Unset | None,
) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if title is not None:
        wanted["title"] = _clean_title(title)
    if collection is not None:
        wanted["collection"] = clean_name(collection)
    if tags is not None:
        wanted["tags"] = clean_tags(tags)
    if not isinstance(dated, Unset):
        wanted["dated"] = dated.isoformat() if dated else None
    return wanted


def _clean_title(title: str) -> str:
    cleaned = " ".join(title.replace("\0", "").split())
    if not cleaned or len(cleaned) > TITLE_LENGTH:
        raise InputError(
            f"A title has 1 to {TITLE_LENGTH} characters.",
            code="invalid_title",
            kept="The title was not changed.",
        )
    return cleaned


def _check(row: Document, after: Mapping[str, Any]) -> None:
    if row.trashed_at is not None:
        raise ConflictError(
            f"'{row.title}' is in the trash.",
            code="in_trash",
            kept="It is unchanged.",
            next_step="Restore it first.",
        )
    if not after:
        raise ConflictError(
            f"'{row.title}' already has these values.",
            code="nothing_changed",
            kept="Nothing was changed.",
        )


def _write(change: ChangeContext, row: Document, after: Mapping[str, Any]) -> None:
    values = dict(after)
    if "collection" in values:
        values["collection"] = collection_named(change.workspace.pk, values["collection"])
    rows = Document.objects.in_workspace(change.workspace).filter(pk=row.pk)
    if "title" in values and values["title"] != row.title:
        _repeat_stages(change.workspace.pk, row)
    rows.update(**values, updated_at=timezone.now())
    collection = values.get("collection")
    is_hidden = bool(collection and collection.is_restricted)
    editions.follow(change.workspace.pk, is_hidden=is_hidden)
    if row.is_live and "title" in values:
        # Titles shown and cited have changed.
        run_sql(CORPUS_CHANGED, {"workspace": change.workspace.pk})


def _repeat_stages(workspace_id: uuid.UUID, row: Document) -> None:
    """Repeat the stages that use the title; for an archived document, once it is back.

    Raises ConflictError while the document is being read: its stages use the old title.
    """
    job = transitions.last_job(workspace_id, row)
    if job is None:
        return
    if job.state == RunState.RUNNING:
        raise ConflictError(
            f"'{row.title}' is being read.",
            code="already_under_way",
            kept="It is unchanged.",
            next_step="Change the title when the document is ready.",
        )
    # An empty method means not read yet. What was found before stays until then.
    for table in (ChunkExtraction, ArchivedExtraction):
        rows = table.objects.in_workspace(workspace_id)
        rows.filter(chunk__workspace=workspace_id, chunk__document=row).update(method="")
    if job.state == RunState.DONE and row.is_live:
        transitions.repeat(job, AGAIN)
        batching.call_for(workspace_id, [job.pk], *runner.DOCUMENT_LANES)
        return
    # A stopped job stays stopped, and runs all these stages once it resumes.
    runs = StageRun.objects.in_workspace(workspace_id).filter(job=job, stage__in=AGAIN)
    runs.filter(state=RunState.DONE).update(state=RunState.PENDING, attempts=0, units_done=0)
    if job.state == RunState.DONE:
        transitions.stop(job, RunState.CANCELLED, archive.STOPPED_BY_ARCHIVING)
        transitions.set_document(job, DocumentState.PAUSED)


def clean_tags(tags: Sequence[str]) -> list[str]:
    """Return the tags as they are stored, each once. Raises InputError for too many or too long."""
    cleaned = dict.fromkeys(tag.strip().lower() for tag in tags)
    found = [tag for tag in cleaned if tag]
    if len(found) > MOST_TAGS or any(len(tag) > TAG_LENGTH for tag in found):
        raise InputError(
            f"A document has at most {MOST_TAGS} tags of at most {TAG_LENGTH} characters.",
            code="invalid_tags",
            kept="Nothing was changed.",
            next_step="Send fewer or shorter tags.",
        )
    return found
