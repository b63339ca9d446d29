"""The text of one PDF page in paragraphs, each character knowing where pdfium keeps it.

pdfium gives visual lines. Here they become paragraphs: lines of one paragraph are joined by a
space, words cut at a line's end are joined again, paragraphs stand apart; rows of a table name
their columns, and code is told by its letters, which are all of one width. The result depends on
the page alone, so boxes for a passage can be found later by reading the page again.
"""

from __future__ import annotations

import ctypes
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from ingestion.parsers.tables import is_header

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
# Cells stand at least so many letter heights apart, and begin within so many points of each other
# in at least so many rows.
_CELL_GAP: Final = 0.55
_SAME_COLUMN: Final = 3.0
_FEWEST_ROWS: Final = 3
_WIDE_ROWS: Final = 0.6
"""Share of a table's rows that gaps divide; in the others words stand where columns begin."""
_MONOSPACED: Final = re.compile(
    rb"mono|courier|consol|menlo|typewriter|cmtt|lmtt|nimbusmon|fixed|terminal|source ?code", re.I
)
_FIXED_PITCH: Final = 1
_SAMPLES: Final = 4
"""Letters of a line whose font is asked for."""
_WORD: Final = re.compile(r"\S+")
_LEADER: Final = re.compile(r"(?: ?\.){6,}|…")
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S*\Z")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Offsets into the page's text; ``size`` is the height of its letters in points.

    ``is_code``: all of its letters are of one width. ``is_table``: it is rows of a table.
    """

    start: int
    end: int
    size: float
    is_code: bool = False
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """``units[i]`` is the index of character i in pdfium's text, -1 for a joint put in here."""

    text: str
    units: array[int]
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A stretch of a line with a wide gap before it; offsets into the line's text."""

    start: int
    end: int
    left: float


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as pdfium gives it: where a word is cut at its end, it goes on to the end of the next,
    so that its first letter may stand higher (``first_bottom``) than its last (``bottom``).

    ``cells`` has more than one entry where wide gaps divide the line.

    A row of a table has ``labels``, which name its columns, as far as it is known what they are;
    one that ``continues`` holds more of the last cell of the row before.
    """

    start: int
    text: str
    left: float
    right: float
    first_bottom: float
    bottom: float
    size: float
    is_code: bool = False
    cells: tuple[_Cell, ...] = ()
    labels: tuple[str, ...] | None = None
    continues: bool = False


def read_page(page: PdfTextPage) -> PageText:
    raw = _raw_text(page)
    writer = _PageWriter(raw)
    lines = _with_tables(page, _lines(page, raw))
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
        self._lines: list[_Line] = []

    def add(self, line: _Line, joint: str) -> None:
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

    def _write_row(self, line: _Line, labels: Sequence[str]) -> None:
        """``Name: Ada; Role: Engineer``, as rows of other formats are written."""
        for place, cell in enumerate(line.cells):
            self._put("; " if place else "", _SYNTHETIC)
            label = labels[place] if place < len(labels) else ""
            self._put(f"{label}: " if label else "", _SYNTHETIC)
            self._write(line, cell.start, cell.end)

    def _write(self, line: _Line, start: int, end: int) -> None:
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
        samples = _samples(text)
        size = median(_height(_box(page, start + place)) for place in samples or [0])
        lines.append(
            _Line(
                start,
                text,
                first.left,
                last.right,
                first.bottom,
                last.bottom,
                size,
                is_code=bool(samples)
                and all(_has_one_width(page, start + place) for place in samples),
                cells=tuple(_cells(page, start, text, size)),
            )
        )
    return lines


def _samples(text: str) -> list[int]:
    """Where a few letters of a line stand, from its beginning to its end."""
    letters = [place for place, character in enumerate(text) if character.isalnum()]
    return letters[:: max(1, len(letters) // _SAMPLES)]


def _height(box: pdfium.FS_RECTF) -> float:
    return float(box.top - box.bottom)


def _has_one_width(page: PdfTextPage, unit: int) -> bool:
    name, flags = _font(page, unit)
    return bool(flags & _FIXED_PITCH) or _MONOSPACED.search(name) is not None


def _font(page: PdfTextPage, unit: int) -> tuple[bytes, int]:
    """Name and flags of a character's font."""
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(page, unit)
    name, flags = ctypes.create_string_buffer(80), ctypes.c_int()
    if index >= 0:
        pdfium.FPDFText_GetFontInfo(page, index, name, len(name), flags)
    return name.value, flags.value


def _cells(page: PdfTextPage, start: int, text: str, size: float) -> Iterator[_Cell]:
    """The stretches between wide gaps; the whole line where it has none."""
    begin, left = 0, _box(page, start).left
    for place, character in enumerate(text[1:-1], start=1):
        if character in " \xa0":
            after = _box(page, start + place + 1).left
            if after - _box(page, start + place - 1).right > _CELL_GAP * size:
                yield _Cell(begin, place, left)
                begin, left = place + 1, after
    yield _Cell(begin, len(text), left)


def _with_tables(page: PdfTextPage, lines: list[_Line]) -> list[_Line]:
    """The lines; rows of a table divided where its columns begin, with what those are called."""
    found: list[_Line] = []
    place = 0
    while place < len(lines):
        rows = list(_rows_from(page, lines, place))
        wide = sum(len(line.cells) > 1 for line in lines[place + 1 : place + len(rows)])
        below = sum(not row.continues for row in rows) - 1
        if below + 1 >= _FEWEST_ROWS and wide >= _WIDE_ROWS * below:
            names = tuple(rows[0].text[cell.start : cell.end] for cell in rows[0].cells)
            labels = names if _is_head(page, rows) and is_header(names) else ()
            found += [replace(row, labels=labels) for row in rows]
            found[-len(rows)] = replace(rows[0], labels=())
        else:
            rows = lines[place : place + 1]
            found += rows
        place += len(rows)
    return found


def _rows_from(page: PdfTextPage, lines: list[_Line], place: int) -> Iterator[_Line]:
    """The lines from here on that are divided as the first is."""
    columns = [cell.left for cell in lines[place].cells]
    if len(columns) < 2 or _LEADER.search(lines[place].text):
        return
    yield lines[place]
    for line in lines[place + 1 :]:
        if abs(line.left - columns[-1]) <= _SAME_COLUMN:
            yield replace(line, cells=(_Cell(0, len(line.text), line.left),), continues=True)
            continue
        cells = tuple(_cells_at(page, line, columns))
        if len(cells) != len(columns) or _ENTRY.match(line.text):
            return
        yield replace(line, cells=cells)


def _cells_at(page: PdfTextPage, line: _Line, columns: Sequence[float]) -> Iterator[_Cell]:
    """The line divided where words stand at the columns' left edges; less where none does."""
    if abs(line.left - columns[0]) > _SAME_COLUMN:
        return
    begin, left, wanted = 0, line.left, list(columns[1:])
    for match in _WORD.finditer(line.text):
        if not wanted:
            break
        at = _box(page, line.start + match.start()).left
        if match.start() and abs(at - wanted[0]) <= _SAME_COLUMN:
            yield _Cell(begin, match.start() - 1, left)
            begin, left = match.start(), wanted.pop(0)
    yield _Cell(begin, len(line.text), left)


def _is_head(page: PdfTextPage, rows: Sequence[_Line]) -> bool:
    """Whether the first row is set in other letters than those below, in its last column."""
    whole = [row for row in rows if not row.continues]
    first, *others = (_font(page, row.start + row.cells[-1].start) for row in whole)
    return others.count(first) * 2 < len(others)


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
        distance
        for upper, lower in pairwise(lines)
        if _SAME_ROW * upper.size
        < (distance := upper.bottom - lower.first_bottom)
        < 2.2 * max(upper.size, 1)
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
    distance = upper.bottom - lower.first_bottom
    is_row = upper.labels is not None, lower.labels is not None
    if all(is_row) and lower.continues:
        return _space(upper, lower)
    if any(is_row):
        return "\n" if all(is_row) and distance > 0 else "\n\n"
    flows_on = lower.text[:1].islower() or _continues(upper, lower)
    is_open = upper.text[-1] not in _ENDS
    is_near = 0 < distance <= _WIDER_GAP * usual
    if is_near and lower.text[:1].islower() and _ADDRESS.search(upper.text):
        return ""
    # A line may hold nothing but a name set like code, in the middle of a sentence.
    is_mixed = upper.is_code != lower.is_code and is_near and flows_on and is_open
    if _other_size(upper, lower) and not is_mixed:
        return "\n\n"
    if abs(distance) < _SAME_ROW * upper.size:
        return " "
    if distance < 0:
        return _space(upper, lower) if flows_on and is_open and _is_body(upper) else "\n\n"
    if upper.is_code != lower.is_code:
        # A sentence may end in a name set like code, which stands on a line of its own.
        is_full = upper.right - upper.left >= _SHORT_LINE * _reach(upper, edges)
        return _space(upper, lower) if is_near and is_open and is_full else "\n\n"
    if upper.is_code:
        return "\n" if is_near else "\n\n"
    if usual and distance > _WIDER_GAP * usual:
        return "\n\n"
    if _ENTRY.match(lower.text):
        return "\n"
    return _joint_in_block(upper, lower, edges)


def _joint_in_block(upper: _Line, lower: _Line, edges: dict[int, float]) -> str:
    indent = lower.left - upper.left
    if indent > _INDENT * lower.size and not _ENTRY.match(upper.text):
        return "\n\n" if upper.text[-1] in _ENDS else _space(upper, lower)
    reach = _reach(upper, edges)
    is_short = reach > 0 and upper.right - upper.left < _SHORT_LINE * reach
    if is_short and not lower.text[:1].islower():
        return "\n"
    return _space(upper, lower)


def _reach(line: _Line, edges: dict[int, float]) -> float:
    """How wide a line could be at most that begins where this one does."""
    return edges.get(round(line.left / 12), line.right) - line.left


def _is_body(line: _Line) -> bool:
    """Whether a sentence may go on behind this line: not behind a page's number."""
    return any(character.isalpha() for character in line.text)


def _other_size(upper: _Line, lower: _Line) -> bool:
    small, large = sorted((upper.size, lower.size))
    return small > 0 and large / small > _OTHER_SIZE


def _continues(upper: _Line, lower: _Line) -> bool:
    return bool(_CJK.match(upper.text[-1]) and _CJK.match(lower.text[:1]))


def _space(upper: _Line, lower: _Line) -> str:
    return "" if _continues(upper, lower) else " "
