"""The text of one PDF page in paragraphs, each character knowing where pdfium keeps it.

pdfium gives visual lines. Here they become paragraphs: lines of one paragraph are joined by a
space, words cut at a line's end are joined again, paragraphs stand apart. The result depends on
the page alone, so boxes for a passage can be found later by reading the page again.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

_LINE: Final = re.compile(r"[^\r\n]+")
# What cannot stay as it is: pdfium's marks for a cut word, controls, runs of space, surrogates.
_SPECIAL: Final = re.compile(
    r"(?: ?\.){6,}"
    "|[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]|[\ufffe\x02]|[ \t\xa0\u2028\u2029]+"
    "|[\x00-\x1f\x7f-\x9f\u00ad\ufeff\uffff]"
)
_HYPHENS: Final = "\ufffe\x02"
_ENTRY: Final = re.compile(r"(?:[•●◦▪‣·–—*\-]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\d{1,2}(?:\.\d{1,2})+)\s")
_ENDS: Final = ".!?:;。！？：；…”\"'’)"
_CJK: Final = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_WORD_BEFORE: Final = re.compile(r"[^\W\d_]+\Z")
_WORD_AFTER: Final = re.compile(r"[^\W\d_]+")

# Measured on reports, papers and letters: lines of one paragraph are set up to 1.3 times the
# usual distance apart, and text in another size differs by a sixth or more.
_WIDER_GAP: Final = 1.35
_OTHER_SIZE: Final = 1.16
_SAME_ROW: Final = 0.3
_INDENT: Final = 0.8
_SHORT_LINE: Final = 0.85
_SYNTHETIC: Final = -1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Offsets into the page's text; ``size`` is the height of its letters in points."""

    start: int
    end: int
    size: float


@dataclass(frozen=True, slots=True)
class PageText:
    """``units[i]`` is the index of character i in pdfium's text, -1 for a joint put in here."""

    text: str
    units: array[int]
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str
    left: float
    right: float
    bottom: float
    size: float


def read_page(page: PdfTextPage) -> PageText:
    raw = _raw_text(page)
    writer = _PageWriter(raw)
    lines = _lines(page, raw)
    usual = _usual_distance(lines)
    edges = _right_edges(lines)
    before: _Line | None = None
    for line in lines:
        joint = _joint(before, line, usual, edges) if before else ""
        writer.add(line, joint)
        before = line
    return writer.finish()


class _PageWriter:
    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._chars: list[str] = []
        self._units = array("i")
        self._paragraphs: list[Paragraph] = []
        self._start = 0
        self._sizes: list[float] = []

    def add(self, line: _Line, joint: str) -> None:
        if joint == "\n\n":
            self._close_paragraph()
        self._put(joint, _SYNTHETIC)
        if joint == "\n\n":
            self._start = len(self._chars)
        self._sizes.append(line.size)
        done = 0
        for special in _SPECIAL.finditer(line.text):
            self._copy(line, done, special.start())
            self._replace(line, special)
            done = special.end()
        self._copy(line, done, len(line.text))

    def finish(self) -> PageText:
        self._close_paragraph()
        return PageText("".join(self._chars), self._units, tuple(self._paragraphs))

    def _close_paragraph(self) -> None:
        if self._sizes and len(self._chars) > self._start:
            size = median(self._sizes)
            self._paragraphs.append(Paragraph(self._start, len(self._chars), size))
        self._sizes = []

    def _copy(self, line: _Line, start: int, end: int) -> None:
        self._chars.extend(line.text[start:end])
        self._units.extend(range(line.start + start, line.start + end))

    def _put(self, text: str, unit: int) -> None:
        self._chars.extend(text)
        self._units.extend([unit] * len(text))

    def _replace(self, line: _Line, special: re.Match[str]) -> None:
        mark = special.group()
        unit = line.start + special.start()
        if mark in _HYPHENS:
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


def _raw_text(page: PdfTextPage) -> str:
    """pdfium's text as UTF-16 units, one per character, so that positions are unit indexes."""
    count = page.count_chars()
    if count == 0:
        return ""
    # One unit per character and the end mark; doubled, as pdfium may insert characters.
    buffer = (pdfium.c_ushort * (2 * count + 2))()
    written = pdfium.FPDFText_GetText(page, 0, count, buffer)
    return "".join(map(chr, buffer[: max(0, written - 1)]))


def _lines(page: PdfTextPage, raw: str) -> list[_Line]:
    lines = []
    for match in _LINE.finditer(raw):
        text = match.group().strip(" \t\xa0\x00")
        if not text.strip(_HYPHENS):
            continue
        start = match.start() + match.group().index(text[0])
        first = _box(page, start)
        last = _box(page, start + len(text) - 1)
        lines.append(
            _Line(start, text, first.left, last.right, last.bottom, first.top - first.bottom)
        )
    return lines


def _box(page: PdfTextPage, unit: int) -> pdfium.FS_RECTF:
    """The box of a character with its font's full height; all zero where there is none."""
    box = pdfium.FS_RECTF()
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(page, unit)
    if index >= 0:
        pdfium.FPDFText_GetLooseCharBox(page, index, box)
    return box


def _usual_distance(lines: list[_Line]) -> float:
    """The distance between two lines of running text on this page, 0 if there is none."""
    distances = [
        upper.bottom - lower.bottom
        for upper, lower in pairwise(lines)
        if 0 < upper.bottom - lower.bottom < 2.2 * max(upper.size, 1)
        and upper.bottom - lower.bottom > _SAME_ROW * upper.size
    ]
    return median(distances) if distances else 0.0


def _right_edges(lines: list[_Line]) -> dict[int, float]:
    """How far lines reach that begin at the same left edge: a column's right border."""
    edges: dict[int, float] = {}
    for line in lines:
        column = round(line.left / 12)
        for near in (column - 1, column, column + 1):
            edges[near] = max(edges.get(near, 0.0), line.right)
    return edges


def _joint(upper: _Line, lower: _Line, usual: float, edges: dict[int, float]) -> str:
    """What stands between two lines: a space (nothing in Chinese), a new line, a new paragraph."""
    distance = upper.bottom - lower.bottom
    if _other_size(upper, lower):
        return "\n\n"
    if abs(distance) < _SAME_ROW * upper.size:
        return " "
    flows_on = lower.text[:1].islower() or _continues(upper, lower)
    if distance < 0:
        return _space(upper, lower) if flows_on and upper.text[-1] not in _ENDS else "\n\n"
    if usual and distance > _WIDER_GAP * usual:
        return "\n\n"
    if _ENTRY.match(lower.text):
        return "\n"
    return _joint_in_block(upper, lower, edges)


def _joint_in_block(upper: _Line, lower: _Line, edges: dict[int, float]) -> str:
    indent = lower.left - upper.left
    if indent > _INDENT * lower.size and not _ENTRY.match(upper.text):
        return "\n\n" if upper.text[-1] in _ENDS else _space(upper, lower)
    reach = edges.get(round(upper.left / 12), upper.right) - upper.left
    is_short = reach > 0 and upper.right - upper.left < _SHORT_LINE * reach
    if is_short and not lower.text[:1].islower():
        return "\n"
    return _space(upper, lower)


def _other_size(upper: _Line, lower: _Line) -> bool:
    small, large = sorted((upper.size, lower.size))
    return small > 0 and large / small > _OTHER_SIZE


def _continues(upper: _Line, lower: _Line) -> bool:
    return bool(_CJK.match(upper.text[-1]) and _CJK.match(lower.text[:1]))


def _space(upper: _Line, lower: _Line) -> str:
    return "" if _continues(upper, lower) else " "
