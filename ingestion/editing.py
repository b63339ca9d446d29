"""What people say of a document: its title, where it is filed, and what it is dated.

A title is part of what is read: passages are found by it, and names are understood by it. So a new
title has the document situated, embedded, read and resolved anew. All else is a plain change.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.utils import timezone

from ingestion import groups, history, pipeline, record, shelf
from ingestion.filing import clean_name, clean_tags, collection_named
from ingestion.history import Deed
from ingestion.models import (
    ChunkExtraction,
    Document,
    DocumentState,
    EventKind,
    HistoryEvent,
    RunState,
    ShelvedExtraction,
    StageRun,
    SubjectKind,
)
from ingestion.sql import CORPUS_CHANGED
from kb_project.errors import ConflictError, InputError
from kb_project.sql import run_sql
from workspaces import access

TITLE_LENGTH: Final = 500
AGAIN: Final = ("situate", "embed", "extract", "resolve")
"""The stages that a title plays a part in."""


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A date may be taken away, so that no date is another thing than nothing said of it."""


UNSAID: Final = Unsaid()


def document_edit(
    *,
    deed: Deed,
    document: Document,
    title: str | None = None,
    collection: str | None = None,
    tags: Sequence[str] | None = None,
    dated: date | Unsaid | None = UNSAID,
) -> HistoryEvent:
    """Change what is given; a collection goes by its name, '' for none.

    Raises InputError for a title of nothing or of more than 500 characters, ConflictError where
    nothing would change, for what is in the trash, and for a title while the document is read.
    """
    with access.in_workspace(deed.workspace.pk):
        history.lock(deed.workspace)
        history.check_expected(deed)
        rows = Document.objects.in_workspace(deed.workspace).select_related("collection")
        row = rows.get(pk=document.pk)
        wanted = _wanted(row, title, collection, tags, dated)
        before = said_of(row)
        after = {name: value for name, value in wanted.items() if value != before[name]}
        _check(row, after)
        _write(deed, row, after)
        return history.record(
            deed,
            EventKind.DOCUMENT_EDITED,
            {row.pk: SubjectKind.DOCUMENT},
            {
                "names": {str(row.pk): after.get("title", before["title"])},
                "before": {name: before[name] for name in after},
                "after": after,
            },
        )


def put_back(deed: Deed, document: Document, event: HistoryEvent) -> None:
    """Have a document say what it would without one edit; the rest is ``life.take_back``'s.

    Of each field the latest edit counts that stands; without one, what it said before them all.
    """
    edits = HistoryEvent.objects.in_workspace(deed.workspace).filter(
        kind=EventKind.DOCUMENT_EDITED, subjects__subject_id=document.pk
    )
    told = [(one.details, one.undone_at is None and one.pk != event.pk) for one in edits]
    due = {field: _due(field, told[::-1]) for field in event.details["after"]}
    rows = Document.objects.in_workspace(deed.workspace).select_related("collection")
    row = rows.get(pk=document.pk)
    before = said_of(row)
    _write(deed, row, {field: value for field, value in due.items() if value != before[field]})


def _due(field: str, told: Sequence[tuple[Mapping[str, Any], bool]]) -> Any:
    """What a field says after edits, the first one first, of which some do not stand."""
    edits = [(details, stands) for details, stands in told if field in details["after"]]
    standing = [details["after"][field] for details, stands in edits if stands]
    return standing[-1] if standing else edits[0][0]["before"][field]


def said_of(document: Document) -> dict[str, Any]:
    """What can be edited, as history keeps it."""
    return {
        "title": document.title,
        "collection": document.collection.name if document.collection else "",
        "tags": list(document.tags),
        "dated": document.dated.isoformat() if document.dated else None,
    }


def _wanted(
    row: Document,
    title: str | None,
    collection: str | None,
    tags: Sequence[str] | None,
    dated: date | Unsaid | None,
) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if title is not None:
        wanted["title"] = _clean_title(title)
    if collection is not None:
        wanted["collection"] = clean_name(collection.replace("\0", ""))
    if tags is not None:
        wanted["tags"] = clean_tags(tags)
    if not isinstance(dated, Unsaid):
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
            f"'{row.title}' says all of this already.", code="nothing_changed", kept="It is so."
        )


def _write(deed: Deed, row: Document, after: Mapping[str, Any]) -> None:
    values = dict(after)
    if "collection" in values:
        values["collection"] = collection_named(deed.workspace.pk, values["collection"])
    rows = Document.objects.in_workspace(deed.workspace).filter(pk=row.pk)
    if "title" in values and values["title"] != row.title:
        _read_again(deed.workspace.pk, row)
    rows.update(**values, updated_at=timezone.now())
    if not row.is_live or "title" not in values:
        return
    # What is shown and cited under the old title is another thing now.
    run_sql(CORPUS_CHANGED, {"workspace": deed.workspace.pk})


def _read_again(workspace_id: uuid.UUID, row: Document) -> None:
    """Have done again what the title plays a part in; what is on the shelf when it is back.

    Raises ConflictError while the document is read: its stages know the old title.
    """
    job = record.last_job(workspace_id, row)
    if job is None:
        return
    if job.state == RunState.RUNNING:
        raise ConflictError(
            f"'{row.title}' is being read.",
            code="already_under_way",
            kept="It is unchanged.",
            next_step="Change its title once its row says that it is ready.",
        )
    # No method: not read yet. What was found before stays until it is.
    for table in (ChunkExtraction, ShelvedExtraction):
        rows = table.objects.in_workspace(workspace_id)
        rows.filter(chunk__workspace=workspace_id, chunk__document=row).update(method="")
    if job.state == RunState.DONE and row.is_live:
        record.repeat(job, AGAIN)
        groups.call_for(workspace_id, [job.pk], *pipeline.LANES)
        return
    # What has stopped stays so, and does all of it when it goes on.
    runs = StageRun.objects.in_workspace(workspace_id).filter(job=job, stage__in=AGAIN)
    runs.filter(state=RunState.DONE).update(state=RunState.PENDING, attempts=0, units_done=0)
    if job.state == RunState.DONE:
        record.stop(job, RunState.CANCELLED, shelf.PUT_AWAY)
        record.set_document(job, DocumentState.PAUSED)
