"""The sentences of an answer as paragraphs, lists and tables, without Markdown.

A row of a table names its columns (*Item: Salvage; Cost: £24,500*), so that it says something by
itself. Rows that follow each other are shown as a table again, with the names once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ingestion.documents.reader.blocks import plain
from retrieval.conversations.presenters.passages import Chip, CitedSources, Dispute

LIST_MARKS: Final = frozenset("-*+•")
OPENS: Final = "\ue000"
CLOSES: Final = "\ue001"
"""Private-use characters that delimit marked words while Markdown is removed."""
STRAY: Final = re.compile(f"[{OPENS}{CLOSES}]")
MARKED: Final = re.compile(f"{OPENS}([^{OPENS}{CLOSES}]*){CLOSES}")
FEWEST_ROWS: Final = 2
MOST_COLUMNS: Final = 10
_NAME: Final = re.compile(r"(?:\A|; )(?P<name>[^;:.]{1,60}): ")


@dataclass(frozen=True, slots=True)
class Words:
    """Some words of a sentence; ``is_marked`` if they answer the question."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence; ``verdict`` is that of ``Check``, or '' if there is nothing to check, as in a
    heading.

    ``uncited`` means unsupported because it cites no source. ``disputes`` are what other sources
    say.
    """

    words: tuple[Words, ...]
    chips: tuple[Chip, ...]
    verdict: str
    disputes: tuple[Dispute, ...] = ()

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.words)

    @property
    def is_bare(self) -> bool:
        """Whether nothing in it is marked, doubted or disputed."""
        is_marked = any(one.is_marked for one in self.words)
        return self.verdict in ("", "supported") and not (is_marked or self.disputes)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """``kind`` is heading, entry (of a list), table, or '' for plain text. A table has a sentence
    for each of its ``rows``, which have a cell for each of its ``columns``."""

    kind: str
    sentences: tuple[ShownSentence, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def cited_rows(self) -> Iterator[tuple[tuple[str, ...], ShownSentence]]:
        return zip(self.rows, self.sentences, strict=True)


def paragraphs(
    sentences: Sequence[Mapping[str, Any]], cited: CitedSources, *, each_alone: bool
) -> tuple[Paragraph, ...]:
    """Group sentences into paragraphs; one that begins with a line break begins a new paragraph."""
    found: list[tuple[str, list[ShownSentence]]] = []
    for row in sentences:
        text = str(row["text"])
        if not found or each_alone or text.startswith("\n"):
            found.append(("" if each_alone else kind_of(text), []))
        found[-1][1].append(_sentence(row, cited))
    told = [Paragraph(kind, tuple(said)) for kind, said in found]
    return tuple(_with_tables(told) if each_alone else told)


def _with_tables(told: Sequence[Paragraph]) -> Iterator[Paragraph]:
    """Make tables of rows that follow each other, and of which nothing else is to be shown."""
    said = [one.sentences[0] for one in told]
    rows = [cells_of(one.text) if one.is_bare else {} for one in said]
    done = 0
    for start, end, columns in runs_of(rows):
        yield from told[done:start]
        cells = tuple(tuple(row.get(name, "") for name in columns) for row in rows[start:end])
        yield Paragraph("table", tuple(said[start:end]), columns, cells)
        done = end
    yield from told[done:]


def kind_of(text: str) -> str:
    """Return what the line's Markdown makes it.

    >>> kind_of("\\n## The light"), kind_of("- It burns oil."), kind_of("It burns oil.")
    ('heading', 'entry', '')
    """
    mark = text.split(maxsplit=1)[0] if text.split() else ""
    if mark and not mark.strip("#"):
        return "heading"
    return "entry" if mark in LIST_MARKS else ""


def _sentence(row: Mapping[str, Any], cited: CitedSources) -> ShownSentence:
    chips = cited.chips(row)
    unchecked = {} if "check" in row else {"verdict": "unsupported" if not chips else ""}
    verdict = str((row.get("check") or unchecked).get("verdict", ""))
    if verdict == "unsupported" and not chips:
        verdict = "uncited"
    words, disputes = tuple(_words(str(row["text"]), row.get("marked", ()))), cited.disputes(row)
    if verdict == "conflict" and (disputes or cited.is_settled(row)):
        verdict = "supported"  # what the other sources say is shown instead
    return ShownSentence(words, chips, verdict, disputes)


def _words(text: str, marked: Sequence[Sequence[int]]) -> Iterator[Words]:
    """Yield the text without Markdown, cut where the answering words begin and end."""
    text = STRAY.sub("\ufffd", text)
    for start, end in sorted(((one[0], one[1]) for one in marked), reverse=True):
        text = f"{text[:start]}{OPENS}{text[start:end]}{CLOSES}{text[end:]}"
    parts = MARKED.split(plain(text.strip().lstrip("•")).strip())
    for place, part in enumerate(parts):
        if shown := STRAY.sub("", part):
            yield Words(shown, is_marked=place % 2 == 1)


# --- tables ---------------------------------------------------------------------------------------


def cells_of(said: str) -> dict[str, str]:
    """Return a row's cells by the names of their columns; none of another sentence.

    >>> cells_of("Item: Salvage; Cost: £24,500")
    {'Item': 'Salvage', 'Cost': '£24,500'}
    >>> cells_of("Salvage cost £24,500."), cells_of("Note: see below")
    ({}, {})
    """
    names = list(_NAME.finditer(said))
    ends = [*(one.start() for one in names[1:]), len(said)]
    cells = {one["name"]: said[one.end() : end] for one, end in zip(names, ends, strict=False)}
    is_row = len(names) == len(cells) > 1 and names[0].start() == 0
    return cells if is_row else {}


def columns_of(rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the columns of which every row has the first and some others, in this order; none if
    there is no such order."""
    columns = max(map(tuple, rows), key=len, default=())
    if not 1 < len(columns) <= MOST_COLUMNS:
        return ()
    fit = [[name for name in columns if name in row] == [*row] for row in rows]
    return columns if all(fit) and all(columns[0] in row for row in rows) else ()


def runs_of(rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield where tables begin and end among rows (empty: no row), and their columns."""
    start = 0
    while start < len(rows):
        run = [rows[start]]
        columns = columns_of(run)
        end = start + 1
        while columns and end < len(rows) and (more := columns_of([*run, rows[end]])):
            run.append(rows[end])
            columns, end = more, end + 1
        if columns and len(run) >= FEWEST_ROWS:
            yield start, end, columns
        start = end
