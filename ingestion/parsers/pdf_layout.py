"""The text of one PDF page in paragraphs, with each character's index in pdfium.

pdfium gives visual lines. Here they become paragraphs: lines of one paragraph are joined by a
space, words hyphenated at a line's end are rejoined, paragraphs are separated; table rows name
their columns, and code is recognised by its fixed-width letters. The result depends on the page
alone, so boxes for a passage can be found later by reading the page again.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from pypdfium2 import PdfTextPage

from ingestion.parsers.pdf_joints import joint, right_edges, usual_distance
from ingestion.parsers.pdf_lines import HYPHENS, Line, lines_of, raw_text
from ingestion.parsers.pdf_tables import with_tables

# What must be replaced: pdfium's marks for a cut word, controls, runs of space, surrogates.
_SPECIAL: Final = re.compile(
    r"(?: ?\.){6,}"
    "|[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]|[\ufffe\x02]|[ \t\xa0\u2028\u2029]+"
    "|[\x00-\x1f\x7f-\x9f\u00ad\ufeff\uffff]"
)
_WORD_BEFORE: Final = re.compile(r"[^\W\d_]+\Z")
_WORD_AFTER: Final = re.compile(r"[^\W\d_]+")
_SYNTHETIC: Final = -1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Offsets into the page's text; ``size`` is the height of its letters in points.

    ``is_code``: all its letters have one width. ``is_table``: it consists of table rows.
    """

    start: int
    end: int
    size: float
    is_code: bool = False
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """``units[i]`` is the index of character i in pdfium's text, -1 if it was inserted here."""

    text: str
    units: array[int]
    paragraphs: tuple[Paragraph, ...]


def read_page(page: PdfTextPage) -> PageText:
    raw = raw_text(page)
    writer = _PageWriter(raw)
    lines = with_tables(page, lines_of(page, raw))
    usual = usual_distance(lines)
    edges = right_edges(lines)
    before: Line | None = None
    for line in lines:
        writer.add(line, joint(before, line, usual, edges) if before else "")
        before = line
    return writer.finish()


class _PageWriter:
    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._chars: list[str] = []
        self._units = array("i")
        self._paragraphs: list[Paragraph] = []
        self._start = 0
        self._lines: list[Line] = []

    def add(self, line: Line, joint: str) -> None:
        if joint == "\n\n":
            self._close_paragraph()
        self._put(joint, _SYNTHETIC)
        if joint == "\n\n":
            self._start = len(self._chars)
        self._lines.append(line)
        if line.labels is None or line.continues:
            self._write(line, 0, len(line.text))
        else:
            self._write_row(line, line.labels)

    def _write_row(self, line: Line, labels: Sequence[str]) -> None:
        """``Name: Ada; Role: Engineer``, like rows of other formats."""
        for place, cell in enumerate(line.cells):
            self._put("; " if place else "", _SYNTHETIC)
            label = labels[place] if place < len(labels) else ""
            self._put(f"{label}: " if label else "", _SYNTHETIC)
            self._write(line, cell.start, cell.end)

    def _write(self, line: Line, start: int, end: int) -> None:
        done = start
        for special in _SPECIAL.finditer(line.text, start, end):
            self._copy(line, done, special.start())
            self._replace(line, special)
            done = special.end()
        self._copy(line, done, end)

    def finish(self) -> PageText:
        self._close_paragraph()
        return PageText("".join(self._chars), self._units, tuple(self._paragraphs))

    def _close_paragraph(self) -> None:
        lines, self._lines = self._lines, []
        if lines and len(self._chars) > self._start:
            self._paragraphs.append(
                Paragraph(
                    self._start,
                    len(self._chars),
                    median(line.size for line in lines),
                    is_code=all(line.is_code for line in lines),
                    is_table=all(line.labels is not None for line in lines),
                )
            )

    def _copy(self, line: Line, start: int, end: int) -> None:
        self._chars.extend(line.text[start:end])
        self._units.extend(range(line.start + start, line.start + end))

    def _put(self, text: str, unit: int) -> None:
        self._chars.extend(text)
        self._units.extend([unit] * len(text))

    def _replace(self, line: Line, special: re.Match[str]) -> None:
        mark = special.group()
        unit = line.start + special.start()
        if mark in HYPHENS:
            if self._keeps_hyphen(line.text, special):
                self._put("-", unit)
        elif mark.endswith("."):
            # The dots that lead from a title to its page number in a table of contents.
            self._put(" …", unit)
        elif mark[0] in " \t\xa0\u2028\u2029":
            self._put(" ", unit)
        elif len(mark) == 2:
            self._put(mark.encode("utf-16-le", "surrogatepass").decode("utf-16-le"), unit)
        elif "\ud800" <= mark <= "\udfff":
            self._put("\ufffd", unit)

    def _keeps_hyphen(self, line: str, mark: re.Match[str]) -> bool:
        """True for "COVID-19" and for words the page also writes with a hyphen elsewhere."""
        left = _WORD_BEFORE.search(line, max(0, mark.start() - 40), mark.start())
        right = _WORD_AFTER.match(line, mark.end())
        if left is None or right is None or not right.group()[0].islower():
            return True
        return f"{left.group()}-{right.group()}" in self._raw
