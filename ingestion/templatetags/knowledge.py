"""How places in documents, and the kinds of things in them, are shown on pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlencode

from django import template
from django.urls import reverse

from ingestion import reading
from ingestion.reading.inline import plain as without_marks
from ingestion.selectors import SourceSpan
from workspaces.models import Capability, Workspace

register = template.Library()

# What a page of each format is called where it is not called a page.
PAGE_NOUNS: Final = {"pptx": "slide", "spreadsheet": "sheet", "epub": "chapter"}

# Label of the extractor: (what people read, which colour it has).
TYPES: Final = {
    "PERSON": ("Person", "person"),
    "ORG": ("Organisation", "organization"),
    "ORGANIZATION": ("Organisation", "organization"),
    "NORP": ("Group", "organization"),
    "GPE": ("Place", "place"),
    "LOC": ("Place", "place"),
    "PLACE": ("Place", "place"),
    "LOCATION": ("Place", "place"),
    "FAC": ("Building", "place"),
    "EVENT": ("Event", "event"),
    "WORK_OF_ART": ("Work", "work"),
    "WORK": ("Work", "work"),
    "PRODUCT": ("Product", "work"),
    "LAW": ("Law", "work"),
    "LANGUAGE": ("Language", "work"),
    "CONCEPT": ("Term", "work"),
    "NAME": ("Other", "other"),
    "DATE": ("Date", "time"),
    "TIME": ("Time", "time"),
}
UNKNOWN_TYPE: Final = ("Other", "other")


@register.filter
def type_label(value: str) -> str:
    known = TYPES.get(value.upper())
    return known[0] if known else value.replace("_", " ").capitalize() or UNKNOWN_TYPE[0]


@register.filter
def type_hue(value: str) -> str:
    return TYPES.get(value.upper(), UNKNOWN_TYPE)[1]


@register.filter
def plain(value: str) -> str:
    """A quotation without the marks of Markdown and without line breaks."""
    return " ".join(without_marks(value).split())


@register.filter
def distinct(spans: Iterable[SourceSpan]) -> list[SourceSpan]:
    """The same place only once: two verbs of one sentence rest on the same words."""
    return list({(span.document.pk, span.start, span.end): span for span in spans}.values())


@register.filter
def written_by(value: str) -> str:
    """Who wrote a description, as people read it."""
    known = {
        "extractive": "In the documents' own words",
        "joined": "From a model's notes on single passages",
    }
    return known.get(value, f"Summarised by {value}")


@register.simple_tag
def may_curate(workspace: Workspace) -> bool:
    """Whether the person who looks may decide about names."""
    return workspace.membership is not None and workspace.membership.may(Capability.CURATE)


@register.filter
def page_noun(parser: str) -> str:
    return PAGE_NOUNS.get(parser, "page")


@register.simple_tag
def source_url(workspace: Workspace, span: Any) -> str:
    """The reader's address at a span: anything with ``document``, ``start`` and ``end``."""
    return reader_url(workspace, span.document.pk, start=span.start, end=span.end)


def reader_url(workspace: Workspace, document_id: object, **query: object) -> str:
    """The reader's address; parts of the query that are None or '' are left out."""
    address = reverse("ingestion:document_detail", args=[workspace.slug, document_id])
    given = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{address}?{urlencode(given)}" if given else address


@register.simple_tag
def page_of(pages: list[list[int]], offset: int) -> int | None:
    return reading.page_at(pages, offset)
