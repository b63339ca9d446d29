"""PDF through pdfium: text page by page, headings from bookmarks or letter sizes, page pictures.

pdfium is not safe to use from two threads, and a hostile file may crash it: call this module in
the sandbox, not in a server's own process.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ctypes import c_int
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError, PdfPage

from ingestion.parsers import refusals
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import (
    Heading,
    OpenFile,
    ParsedDocument,
    Source,
    one_line,
    title_pattern,
)
from ingestion.parsers.formats import FORMATS, PDF
from ingestion.parsers.pdf_layout import PageText, Paragraph, read_page
from ingestion.parsers.pdf_lines import PageLines
from kb_project.text.regions import LABEL, RegionKind

Box = tuple[float, float, float, float]

_KIND: Final = refusals.one(FORMATS[PDF])
_CODE: Final = "pdf_corrupt"
_FACTS: Final = {
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "Creator": "program",
    "CreationDate": "created",
    "ModDate": "modified",
}
_DATE: Final = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?.*")
_LARGER: Final = 1.16
_LONGEST_HEADING: Final = 200
_LONGEST_NUMBER: Final = 12
"""Characters behind a title in a running head, such as the page's number."""
# If a fifth of the text is large, it is a slide deck or a poster, and size says nothing.
_HEADING_SHARE: Final = 0.2
_DEEPEST: Final = 4
_FEW_PAGES: Final = 2
"""On more pages, what runs is told by how often it recurs (``furniture``)."""
_MOST_BOOKMARKS: Final = 20_000
_GRID: Final = 1_000_000
_WIDEST: Final = 4000
_MOST_PIXELS: Final = 40_000_000


def read(source: Source) -> ParsedDocument:
    builder = TextBuilder(source)
    with _opened(source.file, source.name) as document:
        pages = len(document)
        if pages > source.limits.max_pages:
            raise refusals.too_many_pages(source.name, pages=pages, limit=source.limits.max_pages)
        starts, paragraphs = _write_pages(builder, document)
        if not builder.length:
            raise refusals.pdf_no_text(source.name, pages=pages)
        body = _body_size(paragraphs)
        headings = _bookmarks(builder.text, document, starts)
        # Bookmarks of one level name chapters alone; larger letters tell what is within.
        if len({one.level for one in headings}) < 2:
            headings += _large_paragraphs(builder.text, paragraphs, body, headings)
        for one in sorted(headings, key=lambda one: one.start):
            builder.mark_heading(one.level, one.title, one.start)
        facts = document.get_metadata_dict(skip_empty=True)
    for field, key in _FACTS.items():
        builder.describe(key, _date(facts.get(field, "")))
    builder.describe("pages", pages)
    title = one_line(facts.get("Title", ""))
    first = [one for one in paragraphs if one.start < [*starts, builder.length][1]]
    if _is_worthless(title, builder, [one for one in first if one.size < _LARGER * body]):
        title = builder.top_heading() or title
    return builder.build(parser="pdf", title=title, is_laid_out=True)


def page_boxes(
    file: OpenFile,
    name: str,
    page_number: int,
    page_length: int,
    start_in_page: int,
    end_in_page: int,
) -> list[Box]:
    """The boxes of a passage on its page, one (x0, y0, x1, y1) per line.

    In fractions of the page as it is shown, origin top left. Offsets are relative to the page's
    ``PageSpan.start``; none are found if its text does not have ``page_length`` characters, that is
    if an earlier release read it another way. Raises ParseError for a file that cannot be opened or
    a missing page.
    """
    with _opened(file, name) as document, _page(document, page_number, name) as page:
        text_page = page.get_textpage()
        content = _Pages(document).read(page_number)
        if content is None:
            return []
        units = [unit for unit in content.units[start_in_page:end_in_page] if unit >= 0]
        if not units or len(content.text) != page_length:
            return []
        first = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, min(units))
        last = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, max(units))
        count = text_page.count_rects(first, last - first + 1)
        rectangles = [text_page.get_rect(index) for index in range(count)]
        return merge_boxes(_on_screen(page, rectangle) for rectangle in rectangles)


def render_page(file: OpenFile, name: str, page_number: int, width_px: int) -> bytes:
    """The page as a PNG of this width (at most 4000). Raises the same errors as ``page_boxes``."""
    with _opened(file, name) as document, _page(document, page_number, name) as page:
        width, height = page.get_size()
        scale = min(max(width_px, 1), _WIDEST) / max(width, 1.0)
        scale = min(scale, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
        image = page.render(scale=scale, may_draw_forms=True).to_pil()
        output = io.BytesIO()
        image.save(output, "PNG", compress_level=3)
        return output.getvalue()


def merge_boxes(boxes: Iterable[Box]) -> list[Box]:
    """Merge neighbours that share most of their height: one box per line."""
    merged: list[Box] = []
    for box in boxes:
        if merged and _on_one_line(merged[-1], box):
            left, top, right, bottom = zip(merged[-1], box, strict=True)
            merged[-1] = (min(left), min(top), max(right), max(bottom))
        elif box[2] > box[0] and box[3] > box[1]:
            merged.append(box)
    return merged


def _on_one_line(one: Box, other: Box) -> bool:
    shared = min(one[3], other[3]) - max(one[1], other[1])
    lower = min(one[3] - one[1], other[3] - other[1])
    gap = max(one[0], other[0]) - min(one[2], other[2])
    return lower > 0 and shared > lower / 2 and gap < 0.05


@contextmanager
def _opened(file: OpenFile, name: str) -> Iterator[PdfDocument]:
    try:
        document = PdfDocument(file.mapped())
    except PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise refusals.password_protected(name, code="pdf_password") from error
        raise refusals.corrupt(name, kind=_KIND, code=_CODE) from error
    try:
        if len(document) == 0:
            raise refusals.corrupt(name, kind=_KIND, code=_CODE)
        yield document
    finally:
        document.close()


@contextmanager
def _page(document: PdfDocument, number: int, name: str) -> Iterator[PdfPage]:
    if not 1 <= number <= len(document):
        raise refusals.no_such_page(name, page=number)
    page = document[number - 1]
    try:
        yield page
    finally:
        page.close()


def _write_pages(builder: TextBuilder, document: PdfDocument) -> tuple[list[int], list[Paragraph]]:
    """Append every page; return the start of each, and all paragraphs with the text's offsets."""
    starts: list[int] = []
    paragraphs: list[Paragraph] = []
    silent: list[int] = []
    damaged: list[int] = []
    pages = _Pages(document)
    for number in range(1, len(document) + 1):
        builder.open_page()
        content = pages.read(number)
        if content is None:
            damaged.append(number)
        elif not content.text:
            silent.append(number)
        start = builder.verbatim(content.text) if content and content.text else builder.length
        starts.append(start)
        paragraphs += [
            replace(one, start=start + one.start, end=start + one.end)
            for one in (content.paragraphs if content else ())
        ]
    if len(damaged) == len(document):
        raise refusals.corrupt(builder.source.name, kind=_KIND, code=_CODE)
    for one in paragraphs:
        _note(builder, one, has_few_pages=len(starts) == _FEW_PAGES)
    _warn_of(builder, silent, "has no text (a scanned image?)", "have no text (scanned images?)")
    _warn_of(builder, damaged, "is damaged and was left out", "are damaged and were left out")
    return starts, paragraphs


def _note(builder: TextBuilder, one: Paragraph, *, has_few_pages: bool) -> None:
    if one.is_term:
        builder.note(RegionKind.HEADING, one.start, one.end, LABEL)
    elif one.is_code or one.is_table:
        builder.note(RegionKind.CODE if one.is_code else RegionKind.TABLE, one.start, one.end)
    elif one.is_running and has_few_pages:
        builder.note(RegionKind.RUNNING, one.start, one.end)


class _Pages:
    """A document's pages in order, each read beside its neighbours; None for a damaged one."""

    def __init__(self, document: PdfDocument) -> None:
        self._document = document
        self._open: dict[int, PageLines | None] = {}

    def read(self, number: int) -> PageText | None:
        near = {one: self._lines(one) for one in (number - 1, number, number + 1)}
        self._open = near
        before, here, after = near.values()
        return read_page(here, before, after) if here else None

    def _lines(self, number: int) -> PageLines | None:
        if number in self._open or not 1 <= number <= len(self._document):
            return self._open.get(number)
        try:
            return PageLines.of(self._document[number - 1].get_textpage())
        except PdfiumError:
            return None


def _warn_of(builder: TextBuilder, numbers: list[int], one: str, many: str) -> None:
    if len(numbers) == 1:
        builder.warn(f"Page {numbers[0]} {one}.")
    elif numbers:
        builder.warn(f"Pages {ranges(numbers)} {many}.")


def ranges(numbers: list[int]) -> str:
    """
    >>> ranges([2, 4, 5, 6])
    '2, 4–6'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def _bookmarks(text: str, document: PdfDocument, starts: list[int]) -> list[Heading]:
    """Return each bookmark as a heading at its words on its page, or at the page's start."""
    found: list[Heading] = []
    bounds = [*starts, len(text)]
    for bookmark in document.get_toc(max_depth=_DEEPEST):
        title = one_line(bookmark.get_title())
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        if title and page is not None and page < len(starts) and len(found) < _MOST_BOOKMARKS:
            start = _find_title(text, title, bounds[page], bounds[page + 1])
            # *Chapter 2* stands as *Chapter 2: General Concepts* on its page.
            line = text[start : start + _LONGEST_HEADING].partition("\n")[0]
            title = line if line.startswith(f"{title}: ") else title
            found.append(Heading(bookmark.level + 1, one_line(title), start))
    return found


def _find_title(text: str, title: str, start: int, end: int) -> int:
    """Prefer a line that begins with the exact words to, say, a running head in capitals."""
    words = title_pattern(title)
    # With nothing but a number behind it, it is a running head.
    at_line = rf"(?:^|(?<=\n)).{{0,12}}?({words})(?![ \t]+\d+[ \t]*(?:\n|$))"
    ways = ((at_line, re.NOFLAG), (at_line, re.IGNORECASE), (f"({words})", re.IGNORECASE))
    for pattern, flags in ways:
        if match := re.compile(pattern, flags).search(text, start, end):
            return match.start(1)
    return start


def _body_size(paragraphs: list[Paragraph]) -> float:
    """The size of most letters."""
    weights: Counter[float] = Counter()
    for one in paragraphs:
        weights[_rounded(one.size)] += one.end - one.start
    return weights.most_common(1)[0][0] if weights else 0.0


def _is_worthless(title: str, builder: TextBuilder, small: list[Paragraph]) -> bool:
    """Whether a title is a file's name, or stands at the beginning of a line in small letters on
    the first page, as a running head does."""
    if title == PurePosixPath(builder.source.name).stem and " " not in title:
        return True
    text = builder.text
    lines = (line for one in small for line in text[one.start : one.end].split("\n"))
    return any(
        line.startswith(title) and len(line) <= len(title) + _LONGEST_NUMBER
        for line in map(one_line, lines)
    )


def _large_paragraphs(
    text: str, paragraphs: list[Paragraph], body: float, chapters: list[Heading]
) -> list[Heading]:
    """Return short paragraphs in larger letters than most of the text as headings; with chapters,
    those in smaller letters than the chapters' own, as what is within them."""
    starts = sorted(one.start for one in chapters)

    def is_chapter(one: Paragraph) -> bool:
        return bisect_left(starts, one.start) < bisect_left(starts, one.end)

    largest = max((one.size for one in paragraphs if is_chapter(one)), default=0.0)
    large = [
        one
        for one in paragraphs
        if body
        and not (one.is_term or is_chapter(one))
        and one.size >= _LARGER * body
        and 3 <= one.end - one.start <= _LONGEST_HEADING
        and any(map(str.isalpha, text[one.start : one.end]))
        and (not chapters or (one.start > starts[0] and one.size < largest))
    ]
    if sum(one.end - one.start for one in large) > _HEADING_SHARE * len(text):
        return []
    sizes = sorted({_rounded(one.size) for one in large}, reverse=True)
    return [
        Heading(
            min(sizes.index(_rounded(one.size)) + 1 + bool(chapters), _DEEPEST),
            one_line(text[one.start : one.end]),
            one.start,
        )
        for one in large
    ]


def _rounded(size: float) -> float:
    return round(size * 2) / 2


def _date(value: str) -> str:
    match = _DATE.fullmatch(value)
    return "-".join(filter(None, match.groups())) if match else value


def _on_screen(page: PdfPage, rectangle: Box) -> Box:
    """Convert page units, which grow upwards and ignore rotation and cropping, to fractions."""
    left, bottom, right, top = rectangle
    corners = [_point(page, left, bottom), _point(page, right, top)]
    (x0, x1), (y0, y1) = (sorted(axis) for axis in zip(*corners, strict=True))
    return x0, y0, x1, y1


def _point(page: PdfPage, x: float, y: float) -> tuple[float, float]:
    column, row = c_int(), c_int()
    pdfium.FPDF_PageToDevice(page, 0, 0, _GRID, _GRID, 0, x, y, column, row)
    return _share(column.value), _share(row.value)


def _share(value: int) -> float:
    return min(max(value / _GRID, 0.0), 1.0)
