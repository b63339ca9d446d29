"""Splits a text into statements: sentences, list entries and table rows.

Answers and summaries are made of these. Each knows the headings above it, the line that introduces
its list, and the list or table it is part of. Headings and introducing lines state nothing
themselves: they give context to the statements below them. ``quotable`` selects what a summary, a
report or a description may quote: verbatim prose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Final

import regex

from kb_project.text.regions import LABEL, Region, RegionKind, bare, prose
from kb_project.text.sentences import (
    ENTRY_NUMBER,
    Span,
    breaks_off,
    is_reference,
    sentence_spans,
)
from kb_project.text.words import terms

FEWEST_TERMS: Final = 3
"""A line with fewer index terms, no digit and no full stop is a label."""
BETWEEN_ENTRIES: Final = 3
"""Sentences of further paragraphs an entry may have before the next entry."""
FEW_WORDS: Final = 3
LONGEST_LEAD: Final = 240
"""Characters of a line that introduces a list."""

# Twice in *- 1. Open the file.*
_MARK: Final = regex.compile(rf"(?:(?:[-*+•●◦▪‣·–—]|{ENTRY_NUMBER})[^\S\n]+){{1,2}}")
_ENTRY_BELOW: Final = regex.compile(rf"[^\S\n]*\n\s*{_MARK.pattern}")
_STOP: Final = regex.compile(r"[.!?…。！？；][\"'”’»)\]」』）】*_]*$")
_LEADS: Final = (":", "：", ",", "，")
"""A paragraph that ends with a comma leads to a quotation, or goes on below a figure."""
_DIGIT: Final = regex.compile(r"\p{N}")
_WORD: Final = regex.compile(r"\p{L}{2,}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
_WORDS: Final = regex.compile(r"\p{Latin}[\p{L}\p{M}\p{N}'’-]*|[\p{L}\p{N}]")
_CAPTION: Final = regex.compile(
    r"(?:figure|fig|table|listing|example|exhibit|图|表)\.?\s*[\dA-Z]+(?:[.\-–]\d+)*[.:]?",
    regex.IGNORECASE,
)
# With its words: "Equation 2.2. The accounting equation", but "Figure 2 shows the lens".
_CAPTIONED: Final = regex.compile(
    r"(?:figure|fig|table|equation|eq|example|exhibit|listing|chart|plate|box|scheme|image|diagram"
    r"|illustration|图|表)\.?\s*"
    r"(?-i:[A-Z]?\d+(?:[.\-–]\d+)*[a-z]?(?:\s*[.:–—-]\s|\s+(?=[\p{Lu}\p{Han}]))|[A-Z]\s*[.:–—]\s)",
    regex.IGNORECASE,
)
_SECTION: Final = regex.compile(r"\d{1,3}(?:\.\d{1,3})+\.?\s+(?=\p{Lu})")
_BLANK_LINE: Final = regex.compile(r"\n[^\S\n]*\n")
_LINE: Final = regex.compile(r"[^\n]*\S[^\n]*")
_MARKS: Final = regex.compile(r"^[#\s]+|[#:：\s]+$")
_CELL: Final = regex.compile(r"(?<=\|)(?:\\.|[^|\\])*(?=\|)|(?<=\|)[^|]*[^|\s][^|]*$")
_RULE: Final = regex.compile(r"\|[\s:|-]*-[\s:|-]*\n")


class StatementKind(StrEnum):
    SENTENCE = "sentence"
    ENTRY = "entry"
    """The first sentence of a list entry."""
    ROW = "row"
    LEAD = "lead"
    """A line before a list, a table or a quotation: *The keepers were:*"""
    HEADING = "heading"


@dataclass(frozen=True, slots=True)
class Statement:
    """A stretch ``text[start:end]`` that says something by itself.

    ``said`` is the stretch on one line, without furniture in between. ``path`` are the headings
    above it in the text, outermost first, with their levels. ``lead`` is the line before its list
    or table, ``group`` the number of that list or table, -1 if it is in none.
    """

    start: int
    end: int
    kind: StatementKind
    said: str
    path: tuple[tuple[int, str], ...] = ()
    lead: str = ""
    group: int = -1

    @property
    def states(self) -> bool:
        """Whether it says something itself, rather than introduce what follows."""
        return self.kind not in (StatementKind.LEAD, StatementKind.HEADING)


def statements(text: str, regions: Sequence[Region] = ()) -> list[Statement]:
    """Return all of a text's statements in order, none overlapping.

    >>> text = "The keepers were:\\n- Ada Lind, from 1866\\n- Bram, until 1890."
    >>> lead, one, other = statements(text)
    >>> one.said, one.lead == lead.said, one.group == other.group
    ('Ada Lind, from 1866', True, True)
    """
    return list(_Reader(text, regions).read())


def cells_of(row: str) -> Iterator[tuple[int, str]]:
    r"""Yield the cells of a Markdown table row, with their offsets in the row.

    >>> list(cells_of(r"| Ada \| Bram | 1866 |"))
    [(2, 'Ada \\| Bram'), (16, '1866')]
    """
    for match in _CELL.finditer(row):
        cell = match.group()
        yield match.start() + len(cell) - len(cell.lstrip()), cell.strip()


class _Reader:
    """Goes through the units of a text and tracks the context of each."""

    def __init__(self, text: str, regions: Sequence[Region]) -> None:
        self._text = text
        self._prose = prose(text, regions)
        self._headings = [one for one in regions if one.kind == RegionKind.HEADING]
        self._tables = [one for one in regions if one.kind == RegionKind.TABLE]
        self._path: tuple[tuple[int, str], ...] = ()
        self._opened = 0
        self._lead = ""
        self._group = -1
        self._groups = 0
        self._mark = ""
        self._left: tuple[int, str, str] | None = None
        self._since = 0
        self._table: Region | None = None
        self._columns: Sequence[str] = ()

    def read(self) -> Iterator[Statement]:
        waiting = list(reversed(self._headings))
        for start, end, table in self._units():
            while waiting and waiting[-1].start < end:
                yield self._open(waiting.pop())
            found = self._row(start, end, table) if table else self._sentence(start, end)
            if found is not None:
                yield found
        yield from map(self._open, reversed(waiting))

    def _units(self) -> list[tuple[int, int, Region | None]]:
        """Return sentences of the prose and lines of the tables, in order."""
        units: list[tuple[int, int, Region | None]] = [
            (start, end, None) for start, end in self._whole_sentences()
        ]
        for table in self._tables:
            for line in _LINE.finditer(self._text, table.start, table.end):
                first = line.start() + len(line.group()) - len(line.group().lstrip())
                units.append((first, line.start() + len(line.group().rstrip()), table))
        return sorted(units, key=lambda unit: unit[0])

    def _whole_sentences(self) -> Iterator[Span]:
        """Yield sentences; one of a few words is joined with the next: *No. It was never lit.*"""
        held: Span | None = None
        for start, end in self._uncrossed():
            is_aside = is_reference(self._prose[start:end])
            if held is not None and (is_aside or "\n" in self._text[held[1] : start]):
                yield held
                held = None
            begin = held[0] if held else start
            is_short = len(_WORDS.findall(self._prose, begin, end)) <= FEW_WORDS
            mark = _MARK.match(self._prose, start, end)
            is_entry = mark is not None and _WORD.search(self._prose, mark.end(), end)
            if is_short and not (is_aside or is_entry):
                held = (begin, end)
                continue
            yield begin, end
            held = None
        if held:
            yield held

    def _uncrossed(self) -> Iterator[Span]:
        """Yield sentences, cut where a heading or a table interrupts them."""
        between = sorted((one.start, one.end) for one in (*self._headings, *self._tables))
        for start, end in sentence_spans(self._prose):
            first = start
            for begin, stop in between:
                if first < begin < end:
                    yield from self._stripped(first, begin)
                    first = stop
            yield from self._stripped(first, end)

    def _stripped(self, start: int, end: int) -> Iterator[Span]:
        inside = self._prose[start:end]
        if inside.strip():
            yield start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())

    def _open(self, heading: Region) -> Statement:
        title = _MARKS.sub("", _on_one_line(self._text[heading.start : heading.end]))
        above = tuple(one for one in self._path if one[0] < heading.level)
        self._path, self._opened = (*above, (heading.level, title)), heading.end
        self._lead, self._group, self._table, self._left = "", -1, None, None
        return Statement(heading.start, heading.end, StatementKind.HEADING, title, self._path)

    def _row(self, start: int, end: int, table: Region) -> Statement | None:
        if table is not self._table:
            self._table = table
            self._group, self._groups = self._groups, self._groups + 1
            self._columns = ()
        said = _on_one_line(self._text[start:end])
        if not _WORD.search(said):
            return None
        following = self._text[end : end + LONGEST_LEAD].lstrip()
        if said.startswith("|"):
            cells = [cell.replace(r"\|", "|") for _, cell in cells_of(said)]
            if _RULE.match(following):
                self._columns = cells
                return None
            said = _with_columns(self._columns, cells)
        elif _names_columns(said, following):
            return None
        return Statement(start, end, StatementKind.ROW, said, self._path, self._lead, self._group)

    def _sentence(self, start: int, end: int) -> Statement | None:
        self._table = None
        self._end_label(start)
        mark = _MARK.match(self._prose, start, end)
        begins_line = not self._prose[self._prose.rfind("\n", 0, start) + 1 : start].strip()
        is_entry = mark is not None and begins_line
        if is_entry and mark is not None:
            start = mark.end()
        said = _on_one_line(self._prose[start:end])
        if is_entry and mark is not None:
            self._enter(_DIGIT.sub("0", mark.group().strip()))
        elif self._group >= 0 and not self._goes_on(start):
            self._leave()
        if not is_entry and (said.endswith(_LEADS) or self._is_cut_by_list(said, end)):
            self._lead, self._group, self._left = said[-LONGEST_LEAD:], -1, None
            return Statement(start, end, StatementKind.LEAD, self._lead, self._path)
        is_said = says_something(said) and (
            is_entry or not (_is_too_short(said) or self._is_title(said))
        )
        # An entry of one word says something below the line that introduces its list.
        if not is_said and not (is_entry and self._lead and _WORD.search(said)):
            return None
        kind = StatementKind.ENTRY if is_entry else StatementKind.SENTENCE
        lead = self._lead if self._group >= 0 else ""
        found = Statement(start, end, kind, said, self._path, lead, self._group)
        if self._group < 0:
            self._lead, self._since = "", self._since + 1
        return found

    def _is_cut_by_list(self, said: str, end: int) -> bool:
        """*A member may*, and the entries below go on; or *The data has these parts*, without a
        colon."""
        is_open = not _STOP.search(said) and len(_WORD.findall(said)) > 1
        return (is_open or breaks_off(said)) and bool(_ENTRY_BELOW.match(self._prose, end))

    def _is_title(self, said: str) -> bool:
        """Whether a line only names something: a figure, a section, or again what is above it."""
        own = bare(said).casefold()
        if any(bare(title).casefold() == own for _, title in self._path):
            return True
        if _STOP.search(said):
            return False
        section = _SECTION.match(said)
        is_section = section is not None and not says_something(said[section.end() :])
        return is_section or _CAPTIONED.match(said) is not None

    def _end_label(self, start: int) -> None:
        """Leave the definition of a term at the first blank line."""
        is_labelled = bool(self._path) and self._path[-1][0] == LABEL
        if is_labelled and _BLANK_LINE.search(self._text, self._opened, start):
            self._path = self._path[:-1]

    def _enter(self, mark: str) -> None:
        """Begin an entry: of the current list, of the one just left, or of a new one."""
        if self._group >= 0:
            return
        if self._left and self._left[2] == mark and self._since <= BETWEEN_ENTRIES:
            self._group, self._lead, _ = self._left
        else:
            self._group, self._groups = self._groups, self._groups + 1
        self._mark = mark

    def _leave(self) -> None:
        self._left, self._since = (self._group, self._lead, self._mark), 0
        self._group, self._lead = -1, ""

    def _goes_on(self, start: int) -> bool:
        """Whether a sentence belongs to the entry before it: no blank line separates them."""
        gap = self._prose[max(0, start - 80) : start]
        return "\n" not in gap[len(gap.rstrip()) :].replace("\n", "", 1) and bool(gap.rstrip())


def says_something(sentence: str) -> bool:
    """Whether it is more than a label, a number, a heading or a reference.

    >>> says_something("Lens repair"), says_something("It burned."), says_something("— 4 —")
    (False, True, False)
    """
    if not _WORD.search(sentence) or _CAPTION.fullmatch(sentence) or is_reference(sentence):
        return False
    if _STOP.search(sentence) or _DIGIT.search(sentence):
        return True
    return len(terms(sentence)) >= FEWEST_TERMS and not _is_shouted(sentence)


def _is_too_short(sentence: str) -> bool:
    """Whether the sentence says nothing without the one it answers: *No.*"""
    return len(_WORDS.findall(sentence)) <= FEW_WORDS and not _DIGIT.search(sentence)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _names_columns(row: str, following: str) -> bool:
    """Whether the next row begins with the name of the first column: *Keeper; From*."""
    column = row.partition(";")[0].strip()
    return ";" in row and following.startswith(f"{column}: ")


def _with_columns(columns: Sequence[str], cells: Sequence[str]) -> str:
    """
    >>> _with_columns(("Name", "From", "To"), ("Ada Lind", "1866", ""))
    'Name: Ada Lind; From: 1866'
    """
    named = zip_longest(columns, cells, fillvalue="")
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in named if cell)


def _is_shouted(sentence: str) -> bool:
    letters = [one for one in sentence if one.isalpha()]
    return sum(map(str.isupper, letters)) * 2 > len(letters)


FEWEST_TERMS_TO_QUOTE: Final = 2
PROSE: Final = (StatementKind.SENTENCE, StatementKind.ENTRY)

_DEPENDENT: Final = regex.compile(
    r"[-–—/\[<$#~*]|[\"'“‘«(]*(?:(?:he|she|it|they|this|that|these|those|his|her|its|their|him|them|there|here"
    r"|but|and|or|so|such|also|then|however|therefore|thus|hence|otherwise|instead|moreover"
    r"|(?:for|in|on|at|of|to|with|by|beside|behind|below|above|after|before|until|since)"
    r" (?:it|him|them|this|that|these|those)"
    r"|(?:as|when|while|after|before|until|since|because|if) (?:he|she|it|they))\b"
    r"|他|她|它|这|那|其|但|而|并|因此|所以|此外|另外)",
    regex.IGNORECASE,
)
_POINTING: Final = regex.compile(
    r"(?!(?:when|if|while|once|as|after|before|where|because|since|although|until)\b)"
    r"(?:[\p{L}\p{M}\p{N}'’.-]+\s+){1,6}(?:it|him|them)\b",
    regex.IGNORECASE,
)
_LABEL: Final = regex.compile(r"(?:the )?\p{L}+(?: \p{L}+)?[:：]", regex.IGNORECASE)
_ENDED: Final = regex.compile(r"[.!?。！？…][\"'”’»)）】」』]*$")


def quotable(text: str, regions: Sequence[Region] = ()) -> list[Statement]:
    """Return the sentences and list entries in order, except those that furniture interrupts.

    A word with a number says nothing, nor does text in capitals: *Chapter 8. THE ARCHIVES 6.5.*
    """
    return [
        one
        for one in statements(text, regions)
        if one.kind in PROSE
        and sum(not term.isdigit() for term in terms(one.said)) >= FEWEST_TERMS_TO_QUOTE
        and not _is_shouted(one.said)
        and one.said == _on_one_line(text[one.start : one.end])
    ]


def needs_context(sentence: str) -> bool:
    """Whether only earlier sentences explain how it begins, or it does not begin with a word.

    >>> needs_context("She left."), needs_context("Ada left."), needs_context("他走了。")
    (True, False, True)
    >>> needs_context("Beside it stands a lens."), needs_context("Ada Lind calls it a day.")
    (True, True)
    >>> needs_context("When a lamp fails it is changed."), needs_context("--quiet Say less.")
    (False, True)
    """
    return bool(_DEPENDENT.match(sentence) or _POINTING.match(sentence))


def is_labelled(sentence: str) -> bool:
    """Whether it begins with a field label.

    >>> is_labelled("Initials: AL Ada Lind, BO Bram Oosterling."), is_labelled("Ada lit it: alone.")
    (True, False)
    """
    return bool(_LABEL.match(sentence))


def is_ended(sentence: str) -> bool:
    """Whether it ends like a sentence.

    >>> is_ended("Ada lit it."), is_ended("“Who?”"), is_ended("Lens repair")
    (True, True, False)
    """
    return bool(_ENDED.search(sentence))
