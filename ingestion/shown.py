"""What the pages of ingestion show, put together from selectors: addresses, labels, outlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.urls import reverse

from ingestion import estimate_words, reading, selectors
from ingestion.forms import PAGE, Place
from ingestion.models import Document, DocumentState, DocumentVersion, Entity, RunState
from ingestion.pictures import Box, page_marks
from ingestion.reading.blocks import Block
from ingestion.selectors import (
    DocumentRow,
    EntityView,
    FindingView,
    SourceSpan,
    StageStep,
    TopicNode,
    TopicView,
)
from ingestion.templatetags.knowledge import page_noun, reader_url
from kb_project.text.regions import RegionKind, from_json
from workspaces.models import Capability, Workspace
from workspaces.selectors import usage_of_document

ROWS_PER_PAGE: Final = 50
ENTITIES_PER_PAGE: Final = 48
PANEL_LENGTH: Final = 12_000

RECORD_PARSERS: Final = frozenset({"delimited", "spreadsheet"})

# What people see of the document stages, in the order of the bar.
STEPS: Final = (
    ("Read", ("parse",)),
    ("Split", ("chunk", "situate")),
    ("Linked", ("extract", "resolve")),
    ("Embedded", ("embed",)),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One part of the bar of stages; ``percent`` is told only while it runs."""

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


def document_page(*, workspace: Workspace, text: str, state: str, number: str) -> dict[str, Any]:
    """The context of the list of documents: one page of rows, the counts, what is going on."""
    found = selectors.documents(workspace=workspace, text=text, state=state)
    page = Paginator(found, ROWS_PER_PAGE).get_page(number)
    rows = selectors.document_rows(workspace=workspace, documents=list(page.object_list))
    counts = selectors.state_counts(workspace=workspace)
    moving = counts[DocumentState.QUEUED] + counts[DocumentState.WORKING]
    is_refreshing = selectors.is_refreshing(workspace=workspace)
    return {
        "page": page,
        "rows": [shown_row(row) for row in rows],
        "counts": {
            "total": sum(counts.values()),
            "ready": counts[DocumentState.READY],
            "attention": counts[DocumentState.ATTENTION],
            "working": moving,
            "paused": counts[DocumentState.PAUSED],
        },
        "pause": selectors.work_pause(workspace=workspace),
        "state": state,
        "text": text,
        "is_refreshing": is_refreshing,
        "is_running": bool(moving) or is_refreshing,
        "may_write": may(workspace, Capability.EDIT),
        "may_administer": may(workspace, Capability.ADMINISTER),
    }


def document_spent(*, workspace: Workspace, document: Document) -> list[str]:
    """What models were asked about a document, in sentences; none where they were asked nothing."""
    usage = usage_of_document(workspace=workspace, document_id=document.pk)
    return estimate_words.spent(usage, what="Reading it") if usage.calls else []


def may(workspace: Workspace, capability: Capability) -> bool:
    return workspace.membership is not None and workspace.membership.may(capability)


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
class ShownReading:
    """A document laid out, with the addresses that lead on from here."""

    reading: reading.Reading
    blocks: tuple[Block, ...]
    place: Place
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


def shown_reading(
    *, workspace: Workspace, version: DocumentVersion, place: Place, is_panel: bool
) -> ShownReading:
    source = reading.Source(
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
    laid_out = reading.read(source, span=place.span, begin=place.begin, length=length)
    span = dict(zip(("start", "end"), place.span, strict=True)) if place.span else {}
    has_pictures = version.parser == "pdf" and bool(version.pages)

    is_earlier = version.number != version.document.live_number
    number = {"version": version.number} if is_earlier else {}

    def address(**query: object) -> str:
        return reader_url(workspace, version.document_id, **query, **number)

    window = laid_out.window
    return ShownReading(
        reading=laid_out,
        blocks=_rebased(_without_title(laid_out.blocks, version.document.title)),
        place=place,
        outline=tuple(
            Outline(entry.depth, entry.title, _outline_href(address, entry))
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
    """The page has the title above the text already; the text need not begin with it again."""
    first = blocks[0] if blocks else None
    if first is None or first.kind != "heading" or any(piece.is_marked for piece in first.pieces):
        return blocks
    return blocks[1:] if "".join(piece.text for piece in first.pieces) == title else blocks


def _rebased(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Heading depths counted from the shallowest that is shown: no level of the page is skipped."""
    top = min((block.depth for block in blocks if block.kind == "heading"), default=1)
    return tuple(
        replace(block, depth=block.depth - top + 1) if block.kind == "heading" else block
        for block in blocks
    )


def _outline_href(address: Any, entry: reading.OutlineEntry) -> str:
    if entry.is_here:
        return f"#{entry.anchor}"
    return f"{address(**{'from': entry.start})}#{entry.anchor}"


def picture_url(workspace: Workspace, version: DocumentVersion, number: int) -> str:
    """It names the version: what it shows never changes."""
    page = reverse("ingestion:page_picture", args=[workspace.slug, version.document_id, number])
    return f"{page}?version={version.number}"


def _picture(
    workspace: Workspace, address: Any, version: DocumentVersion, place: Place
) -> PagePicture | None:
    if place.view != PAGE:
        return None
    span = dict(zip(("start", "end"), place.span, strict=True)) if place.span else {}
    numbers = [page[0] for page in version.pages]
    cited = reading.page_at(version.pages, place.span[0]) if place.span else None
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
    """The place in words: the last heading before the offset, and the page it is on."""
    if offset is None:
        return ""
    titles = [str(title) for _, title, start in version.headings if int(start) <= offset]
    if titles and titles[-1] == version.document.title:
        titles = []
    number = reading.page_at(version.pages, offset) if len(version.pages) > 1 else None
    page = f"{page_noun(version.parser)} {number}" if number else ""
    return " · ".join(part for part in (titles[-1] if titles else "", page) if part)


def entity_page(*, workspace: Workspace, text: str, type_name: str, number: str) -> Page[Any]:
    found = selectors.entities(workspace=workspace, text=text, type_name=type_name)
    return Paginator(found, ENTITIES_PER_PAGE).get_page(number)


def topic_trail(tree: Sequence[TopicNode], community_id: object) -> list[TopicNode]:
    """The nodes from the root down to the community, itself the last; empty when it is not there.

    The tree is walked without recursion: nobody promises how deep it is.
    """
    paths: list[list[TopicNode]] = [[node] for node in tree]
    while paths:
        path = paths.pop()
        if path[-1].community.pk == community_id:
            return path
        paths += [[*path, child] for child in path[-1].children]
    return []


@dataclass(frozen=True, slots=True)
class Numbered:
    """A sentence with the places it rests on, each under its number."""

    text: str
    sources: tuple[tuple[int, SourceSpan], ...]


def numbered(views: Sequence[FindingView]) -> list[Numbered]:
    """Sentences whose places are numbered as they come; the same place has the same number."""
    numbers: dict[tuple[Any, int, int], int] = {}
    return [
        Numbered(
            view.finding.summary,
            tuple(
                (numbers.setdefault(_place(span), len(numbers) + 1), span) for span in view.sources
            ),
        )
        for view in views
    ]


def _place(span: SourceSpan) -> tuple[Any, int, int]:
    return span.document.pk, span.start, span.end


def unwritten(workspace: Workspace, view: TopicView | None = None) -> dict[str, Any]:
    """The context about reports that no model wrote: of one topic, or how many of all."""
    rows = selectors.unwritten_reports(workspace=workspace)
    if view is not None:
        rows = rows.filter(community=view.community)
    return {
        "unwritten": rows.filter(community__is_changed=False).count(),
        "has_model": selectors.has_chat_model(workspace=workspace),
        "may_curate": may(workspace, Capability.CURATE),
    }


def neighbours_of(view: EntityView, most: int = 16) -> list[Entity]:
    """The entities at the other end of the strongest facts, each once."""
    return list({fact.other.pk: fact.other for fact in view.facts}.values())[:most]
