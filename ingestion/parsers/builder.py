"""Assemble a document's text piece by piece, so that every offset is final once noted."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from ingestion.parsers import furniture, refusals
from ingestion.parsers.document import Heading, PageSpan, ParsedDocument, Source, clean, one_line
from ingestion.parsers.formats import BY_ENDING
from kb_project.text.regions import LABEL, Region, RegionKind

_LONGEST_HEADING = 300
# Programs put these in the title field of untitled documents.
_ENDINGS = (*BY_ENDING, ".doc", ".ppt", ".odt", ".odp", ".rtf", ".indd", ".dvi", ".tex")
_NO_TITLE = re.compile(
    r"(untitled|powerpoint presentation|presentation|document|book|slide|pdf)[\s\d]*"
    rf"|microsoft (word|powerpoint|excel) - .*|\S+({'|'.join(map(re.escape, _ENDINGS))})",
    re.IGNORECASE,
)


class TextBuilder:
    """Collects text, pages, headings, metadata and warnings of one document.

    Pieces are cleaned as they come; the gap between two pieces is the larger of what both ask for.
    Raises ``ParseError`` (``too_long``) as soon as the text exceeds its limit.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.length = 0
        self.metadata: dict[str, str] = {}
        self.warnings: list[str] = []
        self.removed = 0
        self._parts: list[str] = []
        self._headings: list[Heading] = []
        self._pages: list[PageSpan] = []
        self._regions: list[Region] = []
        self._links: list[int] = []
        self._gap_after = 0
        self._page_number = 0
        self._page_start: int | None = None

    @property
    def text(self) -> str:
        """Everything so far, in its final form."""
        return "".join(self._parts)

    def paragraph(self, text: str) -> None:
        self._put(text, gap=2)

    def line(self, text: str) -> None:
        """Append a row or list entry: close to its neighbours, apart from paragraphs."""
        self._put(text, gap=1, keep_indent=True)

    def part(self) -> None:
        """Separate what follows from what came before."""
        self._gap_after = max(self._gap_after, 2)

    def heading(self, level: int, title: str) -> None:
        title = one_line(title, limit=10_000)
        if not title:
            return
        self._put(title, gap=2)
        self.mark_heading(level, title, self.length - len(title))

    def mark_heading(self, level: int, title: str, start: int) -> None:
        """Note a heading whose line is already in the text."""
        title = title if len(title) <= _LONGEST_HEADING else title[:_LONGEST_HEADING].rstrip()
        self._headings.append(Heading(level, title, start))

    def label(self, text: str) -> None:
        """Append the term that the next lines explain: a heading of theirs, but in no outline."""
        before = self.length
        self._put(text, gap=2)
        if before < self.length:
            start = self.length - len(self._parts[-1])
            self._regions.append(Region(RegionKind.HEADING, start, self.length, LABEL))
            self._gap_after = 1

    def note(self, kind: RegionKind, start: int, end: int | None = None) -> None:
        """Mark ``start`` to ``end`` (by default here) as a region of this kind, not prose."""
        end = self.length if end is None else end
        if start < end:
            self._regions.append(Region(kind, start, end))

    def note_link(self) -> None:
        """Mark the last line as nothing but a link."""
        last = self._parts[-1] if self._parts else ""
        self._links.append(self.length - len(last.lstrip()))

    def verbatim(self, text: str) -> int:
        """Append text unchanged, including its layout; return its start."""
        self._put(text, gap=2, keep_indent=True)
        return self.length - len(self._parts[-1]) if self._parts else 0

    def open_page(self) -> int:
        """Close the current page, start the next one and return its number."""
        self.close_page()
        self._page_number += 1
        limit = self.source.limits.max_pages
        if self._page_number > limit:
            raise refusals.too_many_pages(self.source.name, pages=self._page_number, limit=limit)
        self._gap_after = 2
        self._page_start = None
        return self._page_number

    def close_page(self) -> None:
        if len(self._pages) < self._page_number:
            start = self.length if self._page_start is None else self._page_start
            self._pages.append(PageSpan(self._page_number, start, self.length))

    def warn(self, sentence: str) -> None:
        """Add a warning, unless it is empty or already there."""
        if sentence and sentence not in self.warnings:
            self.warnings.append(sentence)

    def describe(self, key: str, value: object) -> None:
        """Record a fact about the document, unless it is empty."""
        line = one_line(str(value)) if value is not None else ""
        if line:
            self.metadata[key] = line

    def build(
        self,
        *,
        parser: str,
        title: str = "",
        front: str = "",
        encoding: str | None = None,
        is_laid_out: bool = False,
    ) -> ParsedDocument:
        """Build the document. ``front`` is the title on its first page, for files that state none.
        ``is_laid_out``: pages may have running heads and page numbers."""
        self.close_page()
        text = self.text
        if not text.strip():
            raise refusals.no_text(self.source.name)
        if self.removed:
            are = "character was" if self.removed == 1 else "characters were"
            self.warn(f"{self.removed:,} invalid control {are} removed.")
        return ParsedDocument(
            text=text,
            title=self._title(title, front),
            media_type=self.source.media_type,
            pages=tuple(self._pages),
            headings=tuple(self._headings),
            regions=tuple(
                furniture.regions_of(
                    text,
                    headings=self._headings,
                    pages=self._pages,
                    noted=self._regions,
                    links=self._links,
                    is_laid_out=is_laid_out,
                )
            ),
            metadata=dict(self.metadata),
            warnings=tuple(self.warnings),
            parser=parser,
            encoding=encoding,
        )

    def _put(self, text: str, *, gap: int, keep_indent: bool = False) -> None:
        text, removed = clean(text)
        self.removed += removed
        text = text.rstrip() if keep_indent else text.strip()
        if not text.strip():
            return
        if self.length:
            self._append("\n" * max(gap, self._gap_after))
        if self._page_start is None:
            self._page_start = self.length
        self._append(text)
        self._gap_after = gap

    def _append(self, text: str) -> None:
        self.length += len(text)
        if self.length > self.source.limits.max_characters:
            raise refusals.too_long(self.source.name, limit=self.source.limits.max_characters)
        self._parts.append(text)

    def _title(self, *given: str) -> str:
        for title in map(one_line, given):
            if title and not _NO_TITLE.fullmatch(title):
                return title
        return self._only_top_heading() or title_from_name(self.source.name)

    def _only_top_heading(self) -> str:
        """A first heading above all others; "Introduction" among equals is not a title."""
        top = [heading for heading in self._headings if heading.level == 1]
        return one_line(top[0].title) if len(top) == 1 and top[0] is self._headings[0] else ""


def title_from_name(name: str) -> str:
    """A file name as a title, without folders and ending.

    >>> title_from_name("../plans/board_minutes.txt")
    'board minutes'
    """
    last = one_line(name).replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = PurePosixPath(last).stem if last.strip(".") else ""
    return " ".join(stem.replace("_", " ").split()) or "Untitled"
