"""Renders places in documents, and types of entities, on pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django import template

from ingestion.documents import reader
from ingestion.documents.presenters import page_noun, reader_url
from ingestion.documents.reader.blocks import plain as without_marks
from ingestion.knowledge.spans import SourceSpan
from kb_project.http.paging import MOST_COUNTED
from workspaces.models import Workspace

register = template.Library()
register.filter(page_noun)


# The extractor's label: (the label people read, its colour).
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
def type_choices(types: Iterable[str]) -> list[tuple[str, str]]:
    """Types with their labels, to choose from."""
    return [(one, type_label(one)) for one in types]


@register.filter
def counted_type_choices(types: Iterable[tuple[str, int]]) -> list[tuple[str, str]]:
    """Types with their labels and how many entities are of each.

    >>> counted_type_choices([("person", 3)])
    [('person', 'Person (3)')]
    """
    return [(one, f"{type_label(one)} ({up_to(number)})") for one, number in types]


@register.filter
def up_to(number: int) -> str:
    """
    >>> up_to(9), up_to(10_000), up_to(10_001)
    ('9', '10000', '10,000+')
    """
    return f"{MOST_COUNTED:,}+" if number > MOST_COUNTED else str(number)


@register.filter
def type_hue(value: str) -> str:
    return TYPES.get(value.upper(), UNKNOWN_TYPE)[1]


@register.filter
def plain(value: str) -> str:
    """Strip Markdown and line breaks from a quotation."""
    return " ".join(without_marks(value).split())


@register.filter
def distinct(spans: Iterable[SourceSpan]) -> list[SourceSpan]:
    """Drop repeated spans: two verbs of one sentence have the same evidence."""
    return list({(span.document.pk, span.start, span.end): span for span in spans}.values())


@register.filter
def written_by(value: str) -> str:
    """Say who wrote a description."""
    known = {
        "extractive": "In the documents' own words",
        "joined": "From a model's notes on single passages",
    }
    return known.get(value, f"Summarised by {value}")


@register.simple_tag
def source_url(workspace: Workspace, span: Any) -> str:
    """Return the reader's URL at a span: anything with ``document``, ``start`` and ``end``."""
    return reader_url(workspace, span.document.pk, start=span.start, end=span.end)


@register.simple_tag
def page_of(pages: list[list[int]], offset: int) -> int | None:
    return reader.page_at(pages, offset)
