"""Facts of records: table rows, and lines of labels with their values.

A parser of sentences reads nonsense into *Name: Tam Lind; Supervisor: Ada Berg*, and into a list of
names. Here the first name of a row is what the row is about, each label is the predicate of the
names that follow it, and names share a row rather than a sentence: (Tam Lind, supervisor, Ada
Berg). A label on a line of its own belongs to the heading above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import regex

from ingestion.extractors.extraction import (
    CONCEPT,
    STATED,
    TOGETHER,
    Extraction,
    FoundMention,
    FoundRelation,
)
from ingestion.extractors.mentions import mention, together
from kb_project.text.regions import Region, RegionKind
from kb_project.text.sentences import Span
from kb_project.text.statements import cells_of

MOST_LABEL_WORDS: Final = 4
LONGEST_ID: Final = 12
_LINE: Final = regex.compile(r"[^\n]*\S[^\n]*")
_LABEL: Final = regex.compile(
    r"(?:^\s*(?:[-*+•]\s+)?|[;；]\s*)(?P<label>[\p{L}\p{N}_][^:：;；|\n]{0,59}?)(?::\s+|：\s*)"
)
_RULE: Final = regex.compile(r"\s*\|[\s:|-]*-[\s:|-]*$")
_BRACKETS: Final = regex.compile(r"\([^()]*\)|（[^（）]*）")
_TITLES: Final = regex.compile(
    r"\b(?:and|or|with|dr|mr|mrs|ms|prof|sir|the)\b|[和与及、]", regex.IGNORECASE
)
_LETTER: Final = regex.compile(r"[\p{L}\p{N}]")
_BETWEEN: Final = regex.compile(r"[\s,;，；、]*(?:\band\b|&|和|与|及)?\s*")
_ID: Final = regex.compile(r"\S*\d\S*")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value ``text[start:end]`` under its label, '' where none is known."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Row:
    """A record on one line."""

    start: int
    end: int
    cells: tuple[Cell, ...]


def with_records(text: str, regions: Sequence[Region], extraction: Extraction) -> Extraction:
    """The extraction with the facts of records instead of what was parsed from them."""
    rows = list(_rows(text, regions, extraction.mentions))
    lists = list(_lists(text, rows, extraction.mentions))
    if not rows and not lists:
        return extraction
    extraction = _without_labels(_on_one_line(text, extraction, rows), rows)
    mentions = extraction.mentions
    row_of = _places(mentions, rows)
    list_of = _places(mentions, lists)
    kept = []
    for relation in extraction.relations:
        if relation.source in row_of or relation.target in row_of:
            continue
        if relation.source in list_of and relation.target in list_of and relation.kind == STATED:
            relation = replace(relation, kind=TOGETHER, predicate="")
        kept.append(relation)
    facts = [fact for row in rows for fact in _facts(text, row, regions, mentions)]
    known = {(fact.source, fact.target) for fact in facts}
    beside = together(mentions, [(row.start, row.end) for row in rows], known)
    return replace(extraction, relations=(*kept, *facts, *beside))


# --- rows -----------------------------------------------------------------------------------------
def _rows(text: str, regions: Sequence[Region], mentions: Sequence[FoundMention]) -> Iterator[Row]:
    tables = [one for one in regions if one.kind == RegionKind.TABLE]
    for table in tables:
        yield from _of_table(text, table)
    for line in _LINE.finditer(text):
        if any(table.start < line.end() and line.start() < table.end for table in tables):
            continue
        cells = _labelled(text, *line.span())
        if len(cells) > 1 or (
            cells and is_list_of_names(text, cells[0].start, line.end(), mentions)
        ):
            yield Row(line.start(), line.end(), cells)


def _of_table(text: str, table: Region) -> Iterator[Row]:
    columns: tuple[str, ...] = ()
    lines = [line.span() for line in _LINE.finditer(text, table.start, table.end)]
    for (start, end), following in pairwise([*lines, (table.end, table.end)]):
        said = text[start:end]
        if _RULE.match(said):
            continue
        if not said.lstrip().startswith("|"):
            yield Row(start, end, _labelled(text, start, end))
            continue
        values = list(cells_of(said))
        if _RULE.match(text[slice(*following)]):
            columns = tuple(value.strip(" *_") for _, value in values)
            continue
        labels = columns if len(columns) == len(values) else ("",) * len(values)
        spans = [(start + at, start + at + len(value)) for at, value in values]
        cells = [Cell(label, *span) for label, span in zip(labels, spans, strict=True)]
        yield Row(start, end, tuple(cells))


def _labelled(text: str, start: int, end: int) -> tuple[Cell, ...]:
    """The cells of *label: value; label: value*; none if the line does not begin with a label."""
    said = text[start:end]
    found = [
        match for match in _LABEL.finditer(said) if len(match["label"].split()) <= MOST_LABEL_WORDS
    ]
    if not found or found[0].start() > 0:
        return ()
    stops = [*(match.start() for match in found[1:]), len(said)]
    return tuple(
        Cell(match["label"], start + match.end(), start + max(match.end(), stop))
        for match, stop in zip(found, stops, strict=True)
    )


def _lists(text: str, rows: Sequence[Row], mentions: Sequence[FoundMention]) -> Iterator[Row]:
    """Lines of several names and nothing else."""
    taken = {row.start for row in rows}
    for line in _LINE.finditer(text):
        if line.start() not in taken and is_list_of_names(text, line.start(), line.end(), mentions):
            yield Row(line.start(), line.end(), ())


def is_list_of_names(text: str, start: int, end: int, mentions: Sequence[FoundMention]) -> bool:
    """Whether a stretch is made of names, remarks in brackets, and what joins them."""
    inside = _inside(mentions, start, end)
    if not inside:
        return False
    said = list(text[start:end])
    for index in inside:
        first, last = mentions[index].start - start, mentions[index].end - start
        said[first:last] = " " * (last - first)
    rest = _TITLES.sub("", _BRACKETS.sub("", "".join(said)))
    return not _LETTER.search(rest)


# --- facts ----------------------------------------------------------------------------------------
def _facts(
    text: str, row: Row, regions: Sequence[Region], mentions: Sequence[FoundMention]
) -> Iterator[FoundRelation]:
    subject = _subject(text, row, mentions)
    if subject is None and len(row.cells) == 1:
        subject = _heading(text, row.start, regions, mentions)
    if subject is None:
        return
    for cell in row.cells:
        for index in _named_first(text, cell, mentions) if cell.label else ():
            if mentions[index].surface != mentions[subject].surface:
                yield FoundRelation(
                    subject, index, predicate_of(cell.label), row.start, row.end, STATED, 1.0
                )


def _subject(text: str, row: Row, mentions: Sequence[FoundMention]) -> int | None:
    """What the row is about: its first value if that is a name, or the second behind an id."""
    if len(row.cells) < 2:
        return None
    first, second = row.cells[:2]
    said = text[first.start : first.end].strip()
    found = _whole(text, first, mentions)
    if len(said) <= LONGEST_ID and _ID.fullmatch(said):
        behind = _whole(text, second, mentions)
        return found if behind is None else behind
    return found


def _heading(
    text: str, before: int, regions: Sequence[Region], mentions: Sequence[FoundMention]
) -> int | None:
    above = [one for one in regions if one.kind == RegionKind.HEADING and one.end <= before]
    return _whole(text, Cell("", above[-1].start, above[-1].end), mentions) if above else None


def _whole(text: str, cell: Cell, mentions: Sequence[FoundMention]) -> int | None:
    """The mention that is the whole value."""
    inside = _inside(mentions, cell.start, cell.end)
    if len(inside) != 1 or mentions[inside[0]].type == CONCEPT:
        return None
    is_all = is_list_of_names(text, cell.start, cell.end, mentions)
    return inside[0] if is_all else None


def _named_first(text: str, cell: Cell, mentions: Sequence[FoundMention]) -> Iterator[int]:
    """The name that a value begins with, and those of its type that follow it in a list."""
    at = cell.start
    kind = ""
    for index in _inside(mentions, cell.start, cell.end):
        found = mentions[index]
        between = _TITLES.sub("", _BRACKETS.sub("", text[at : found.start]))
        is_next = not _LETTER.search(between) and (not kind or found.type == kind)
        if not is_next or found.type == CONCEPT:
            return
        yield index
        at, kind = found.end, found.type


def predicate_of(label: str) -> str:
    """A label as it reads between two names.

    >>> predicate_of("Our_lead"), predicate_of("CEO"), predicate_of("milestones[2]")
    ('our lead', 'CEO', 'milestones')
    """
    words = regex.sub(r"\[\d+\]", "", label.replace("_", " ")).split()
    return " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)


# --- mentions -------------------------------------------------------------------------------------
def _inside(mentions: Sequence[FoundMention], start: int, end: int) -> list[int]:
    return [at for at, one in enumerate(mentions) if start <= one.start and one.end <= end]


def _places(mentions: Sequence[FoundMention], rows: Sequence[Row]) -> set[int]:
    """The mentions that stand in one of the rows."""
    return {at for row in rows for at in _inside(mentions, row.start, row.end)}


def _on_one_line(text: str, extraction: Extraction, rows: Sequence[Row]) -> Extraction:
    """Cut off what a name took from the row below its own."""
    starts = {row.start for row in rows}
    mentions = []
    for one in extraction.mentions:
        line_end = text.find("\n", one.start, one.end)
        if line_end >= 0 and not starts.isdisjoint(range(line_end, one.end)):
            one = mention(text, (one.start, line_end), one.type, one.source) or one
        mentions.append(one)
    return replace(extraction, mentions=tuple(mentions))


def _without_labels(extraction: Extraction, rows: Sequence[Row]) -> Extraction:
    """Leave out what was taken for a name in a row, but is a label or reaches into one."""
    spans = list(_label_spans(rows))
    kept = [
        at
        for at, one in enumerate(extraction.mentions)
        if not any(start < one.end and one.start < end for start, end in spans)
    ]
    if len(kept) == len(extraction.mentions):
        return extraction
    place = {old: new for new, old in enumerate(kept)}
    relations = tuple(
        replace(one, source=place[one.source], target=place[one.target])
        for one in extraction.relations
        if one.source in place and one.target in place
    )
    mentions = tuple(extraction.mentions[at] for at in kept)
    return replace(extraction, mentions=mentions, relations=relations)


def _label_spans(rows: Sequence[Row]) -> Iterator[Span]:
    """Where a record of several values has labels: between its values."""
    for row in rows:
        if len(row.cells) > 1:
            stops = [row.start, *(cell.end for cell in row.cells)]
            for stop, cell in zip(stops, row.cells, strict=False):
                yield stop, cell.start
