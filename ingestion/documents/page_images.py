"""Pages of a PDF as pictures, and the position of a cited passage on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from ingestion.models import DocumentVersion
from ingestion.parsers.sandbox import default_sandbox
from kb_project.errors import NotFoundError, ParseError

WIDTH: Final = 1400
"""Pixels: sharp on a dense screen at the reader's width, and still fast to render."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in thousandths of the page's width and height, from its top left corner."""

    left: int
    top: int
    width: int
    height: int


def page_picture(*, version: DocumentVersion, number: int) -> bytes:
    """Return a page as a PNG, cached beside the file. Raises NotFoundError, ParseError."""
    if version.parser != "pdf" or all(page[0] != number for page in version.pages):
        raise NotFoundError("This document has no image of that page.")
    kept = Path(f"{_blob(version)}.pages") / f"{number}.png"
    if kept.exists():
        return kept.read_bytes()
    picture = default_sandbox().render_page(_blob(version), number, WIDTH)
    kept.parent.mkdir(exist_ok=True)
    # Two people may ask at once: each writes its own file, and the last rename wins.
    draft = kept.with_suffix(f".{id(picture)}.part")
    draft.write_bytes(picture)
    draft.replace(kept)
    return picture


def page_marks(*, version: DocumentVersion, number: int, span: tuple[int, int]) -> list[Box]:
    """Return where the span is on that page; empty if it cannot be located reliably."""
    page = next((page for page in version.pages if page[0] == number), None)
    if page is None:
        return []
    start, end = max(span[0], page[1]) - page[1], min(span[1], page[2]) - page[1]
    if start >= end:
        return []
    try:
        found = default_sandbox().page_boxes(_blob(version), number, start, end)
    except ParseError:
        return []  # the page is shown without marks; the text tab marks the same words
    return [
        Box(round(x0 * 1000), round(y0 * 1000), round((x1 - x0) * 1000), round((y1 - y0) * 1000))
        for x0, y0, x1, y1 in found
    ]


def _blob(version: DocumentVersion) -> Path:
    return Path(settings.MEDIA_ROOT) / version.blob
