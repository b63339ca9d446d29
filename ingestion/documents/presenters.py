"""What the document pages show: rows, steps, addresses, outlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.urls import reverse
from django.utils.text import capfirst

from ingestion.documents import estimates, queries, reader
from ingestion.documents.collections import queries as collection_queries
from ingestion.documents.forms import PAGE, ReaderPosition
from ingestion.documents.queries import DocumentRow, StageStep
from ingestion.documents.reader import Box, page_marks
from ingestion.documents.reader.blocks import Block
from ingestion.knowledge import insights
from ingestion.models import Collection, Document, DocumentState, DocumentVersion, RunState
from ingestion.parsers.formats import FORMATS
from ingestion.pipeline import recovery, workspace_jobs
from ingestion.pipeline.workspace_jobs import JobProgress
from kb_project.text.regions import RegionKind, from_json
from workspaces.models import Capability, Workspace
from workspaces.usage.queries import usage_of_document

ROWS_PER_PAGE: Final = 50
PANEL_LENGTH: Final = 12_000

RECORD_PARSERS: Final = frozenset({"delimited", "spreadsheet"})

# The document stages as people see them, in the order of the bar.
STEPS: Final = (
    ("Read", ("parse",)),
    ("Split", ("chunk", "situate")),
    ("Linked", ("extract", "resolve")),
    ("Embedded", ("embed",)),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One part of the bar of stages; ``percent`` is set only while it runs."""

    label: str
    state: str
    percent: int | None = None


@dataclass(frozen=True, slots=True)
class ShownRow:
    row: DocumentRow
    steps: tuple[Step, ...]


def shown_row(row: DocumentRow) -> ShownRow:
    by_name = {step.name: step for step in row.steps}
    parts = ((label, [by_name[n] for n in names if n in by_name]) for label, names in STEPS)
    return ShownRow(row, tuple(_step(label, steps) for label, steps in parts if steps))


def _step(label: str, steps: Sequence[StageStep]) -> Step:
    states = {step.state for step in steps}
    if states & {RunState.FAILED, RunState.CANCELLED}:
        return Step(label, "failed")
    if RunState.PAUSED in states:
        return Step(label, "paused")
    if states == {RunState.DONE}:
        return Step(label, "done")
    if states == {RunState.PENDING}:
        return Step(label, "pending")
    return Step(label, "running", round(100 * sum(step.share for step in steps) / len(steps)))


def document_page(
    *, workspace: Workspace, text: str, state: str, alone: bool, number: str
) -> dict[str, Any]:
    """Build the context of the document list: a page of rows, the counts, the work in progress."""
    found = queries.documents(workspace=workspace, text=text, state=state, alone=alone)
    page = Paginator(found, ROWS_PER_PAGE).get_page(number)
    rows = queries.document_rows(workspace=workspace, documents=list(page.object_list))
    counts = queries.state_counts(workspace=workspace)
    moving = counts[DocumentState.QUEUED] + counts[DocumentState.WORKING]
    # A document may have become ready since its row was read: the page then asks once more.
    is_moving = bool(moving) or any(row.is_moving for row in rows)
    is_refreshing = queries.is_refreshing(workspace=workspace)
    change = workspace_jobs.change_work(workspace.pk)
    updating = _updating(change) if change and not change.has_stopped else ""
    return {
        "page": page,
        "rows": [shown_row(row) for row in rows],
        "counts": {
            "total": sum(counts.values()),
            "ready": counts[DocumentState.READY],
            "attention": counts[DocumentState.ATTENTION],
            "working": moving,
            "paused": counts[DocumentState.PAUSED],
            "alone": insights.lone_documents(workspace).count(),
        },
        "pause": recovery.work_pause(workspace=workspace),
        "state": state,
        "text": text,
        "alone": alone,
        "collections": collection_queries.collections(workspace=workspace),
        "is_refreshing": is_refreshing,
        "updating": updating,
        "stopped": change if change and change.has_stopped else None,
        "is_running": is_moving or is_refreshing or bool(updating),
        "may_write": workspace.may(Capability.EDIT),
        "may_administer": workspace.may(Capability.ADMINISTER),
    }


def _updating(change: JobProgress) -> str:
    if not change.total:
        return "Updating names"
    return f"Updating names: {change.done:,} of {change.total:,} documents"


def collection_page(*, workspace: Workspace, collection: Collection, number: str) -> dict[str, Any]:
    """Build the context of a collection's page: a page of its documents, and where they can go."""
    found = queries.documents(workspace=workspace, collection=str(collection.pk))
    page = Paginator(found, ROWS_PER_PAGE).get_page(number)
    rows = queries.document_rows(workspace=workspace, documents=list(page.object_list))
    return {
        "collection": collection,
        "page": page,
        "rows": [shown_row(row) for row in rows],
        "collections": collection_queries.collections(workspace=workspace),
        "may_write": workspace.may(Capability.EDIT),
    }


def document_spent(*, workspace: Workspace, document: Document) -> list[str]:
    """Describe the model calls made for a document, in sentences; empty if there were none."""
    usage = usage_of_document(workspace=workspace, document_id=document.pk)
    return estimates.spent(usage, what="Reading it") if usage.calls else []


@dataclass(frozen=True, slots=True)
class Outline:
    depth: int
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class PagePicture:
    """One page as a picture, with the cited passage boxed."""

    number: int
    total: int
    image_url: str
    boxes: tuple[Box, ...]
    previous_url: str
    next_url: str


@dataclass(frozen=True, slots=True)
class ReaderPage:
    """A document laid out for reading, with the links to other parts."""

    reading: reader.LaidOutText
    blocks: tuple[Block, ...]
    place: ReaderPosition
    outline: tuple[Outline, ...]
    where: str
    page_total: int
    page_noun: str
    earlier_url: str
    later_url: str
    text_url: str
    picture_url: str
    picture: PagePicture | None
    warnings: tuple[str, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        return not self.reading.blocks


def reader_page(
    *, workspace: Workspace, version: DocumentVersion, place: ReaderPosition, is_panel: bool
) -> ReaderPage:
    source = reader.Source(
        version.text,
        version.headings,
        version.pages,
        is_markdown=version.parser == "markdown",
        is_records=version.parser in RECORD_PARSERS,
        code=[
            (one.start, one.end)
            for one in from_json(version.regions)
            if one.kind == RegionKind.CODE
        ],
    )
    length = PANEL_LENGTH if is_panel else 60_000
    laid_out = reader.read(source, span=place.span, begin=place.begin, length=length)
    span = dict(zip(("start", "end"), place.span, strict=True)) if place.span else {}
    has_pictures = version.parser == "pdf" and bool(version.pages)

    is_earlier = version.number != version.document.live_number
    number = {"version": version.number} if is_earlier else {}

    def address(**query: object) -> str:
        return reader_url(workspace, version.document_id, **query, **number)

    window = laid_out.window
    return ReaderPage(
        reading=laid_out,
        blocks=_rebased(_without_title(laid_out.blocks, version.document.title)),
        place=place,
        outline=tuple(
            Outline(
                entry.depth,
                entry.title,
                f"{'' if entry.is_here else address(**{'from': entry.start})}#{entry.anchor}",
            )
            for entry in laid_out.outline
        ),
        where=where_of(version, place.span[0] if place.span else None),
        page_total=len(version.pages),
        page_noun=page_noun(version.parser),
        earlier_url="" if window.earlier is None else address(**{"from": window.earlier}),
        later_url="" if window.later is None else address(**{"from": window.later}),
        text_url=address(**span),
        picture_url=address(**span, view=PAGE) if has_pictures else "",
        picture=_picture(workspace, address, version, place) if has_pictures else None,
        warnings=tuple(version.warnings),
    )


def _without_title(blocks: tuple[Block, ...], title: str) -> tuple[Block, ...]:
    """Drop a first heading that repeats the title shown above the text."""
    first = blocks[0] if blocks else None
    if first is None or first.kind != "heading" or any(piece.is_marked for piece in first.pieces):
        return blocks
    return blocks[1:] if "".join(piece.text for piece in first.pieces) == title else blocks


def _rebased(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Shift heading depths so that the shallowest is 1: the page skips no level."""
    top = min((block.depth for block in blocks if block.kind == "heading"), default=1)
    return tuple(
        replace(block, depth=block.depth - top + 1) if block.kind == "heading" else block
        for block in blocks
    )


def picture_url(workspace: Workspace, version: DocumentVersion, number: int) -> str:
    """Return the picture's URL, which names the version, so that its content never changes."""
    page = reverse("ingestion:page_picture", args=[workspace.slug, version.document_id, number])
    return f"{page}?version={version.number}"


def _picture(
    workspace: Workspace, address: Any, version: DocumentVersion, place: ReaderPosition
) -> PagePicture | None:
    if place.view != PAGE:
        return None
    span = dict(zip(("start", "end"), place.span, strict=True)) if place.span else {}
    numbers = [page[0] for page in version.pages]
    cited = reader.page_at(version.pages, place.span[0]) if place.span else None
    number = place.page or cited or numbers[0]
    number = min(max(number, 1), max(numbers))
    marks = page_marks(version=version, number=number, span=place.span) if place.span else []
    return PagePicture(
        number=number,
        total=max(numbers),
        image_url=picture_url(workspace, version, number),
        boxes=tuple(marks),
        previous_url=address(**span, view=PAGE, page=number - 1) if number > 1 else "",
        next_url=address(**span, view=PAGE, page=number + 1) if number < max(numbers) else "",
    )


def where_of(version: DocumentVersion, offset: int | None) -> str:
    """Describe the place: the last heading before the offset, and its page."""
    if offset is None:
        return ""
    titles = [str(title) for _, title, start in version.headings if int(start) <= offset]
    if titles and titles[-1] == version.document.title:
        titles = []
    number = reader.page_at(version.pages, offset) if len(version.pages) > 1 else None
    page = f"{page_noun(version.parser)} {number}" if number else ""
    return " · ".join(part for part in (titles[-1] if titles else "", page) if part)


# --- addresses and nouns --------------------------------------------------------------------------
# The noun for a page, for formats that do not call it a page.
PAGE_NOUNS: Final = {"pptx": "slide", "spreadsheet": "sheet", "epub": "chapter"}


def page_noun(parser: str) -> str:
    return PAGE_NOUNS.get(parser, "page")


def format_label(media_type: str) -> str:
    """Name the format, for pages; an unknown one by its MIME type.

    >>> format_label("text/html"), format_label("text/x-toy")
    ('Web page', 'text/x-toy')
    """
    return capfirst(FORMATS[media_type].label) if media_type in FORMATS else media_type


def reader_url(workspace: Workspace, document_id: object, **query: object) -> str:
    """Return the reader's URL; query parameters that are None or '' are left out."""
    address = reverse("ingestion:document_detail", args=[workspace.slug, document_id])
    given = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{address}?{urlencode(given)}" if given else address
