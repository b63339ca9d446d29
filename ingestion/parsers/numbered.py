"""Finds numbered headings in plain text: *2.1 Oil*, alone between blank lines.

Lists, measurements and tables of contents have such lines, too. So a number must continue a
sequence, most paragraphs with numbers of its kind must look like headings, and entries that follow
each other without any text in between are a list.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from ingestion.parsers.document import one_line

_NUMBERED: Final = re.compile(
    r"(?P<indent>[ \t]*)(?:§ ?)?(?P<number>(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3}){0,5})(?P<dot>\.?)"
    r"(?P<gap>[ \t]{1,8})(?P<title>\S.*)",
    re.DOTALL,
)
_UNDERLINE: Final = re.compile(r"\n[ \t]*(?:={3,}|-{3,}|~{3,})\s*$")
_LONGEST: Final = 100
_MOST_LINES: Final = 2
_FEWEST: Final = 3
"""Headings of the highest level; of lower levels, whose numbers are rarer, one less."""
_MOST_MISSING: Final = 2
"""Numbers missing between two headings: of titles that are too long, for example."""
_SHARE: Final = 0.75
"""Least share of headings among the paragraphs that begin with a number of their kind."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph that begins with a number. ``place`` is its position among all paragraphs."""

    place: int
    start: int
    parts: tuple[str, ...]
    kind: tuple[int, ...]
    gap: int
    title: str
    is_title: bool

    @property
    def last(self) -> int:
        return int(self.parts[-1])


def numbered_headings(text: str) -> list[tuple[int, str, int]]:
    """(level, title, start) of each, in order; the level is the number of parts.

    >>> numbered_headings("1 Oil\\n\\nIt burns.\\n\\n2 Wicks\\n\\nCut them.\\n\\n3 Fog\\n\\nRing.")
    [(1, '1 Oil', 0), (1, '2 Wicks', 18), (1, '3 Fog', 38)]
    """
    blocks = list(_blocks(text))
    alone = _without_lists([one for one in blocks if one.is_title])
    found: list[_Block] = []
    for depth in sorted({len(one.parts) for one in alone}):
        level = [one for one in alone if len(one.parts) == depth]
        above = {one.parts for one in found}
        # *1.  Oil* is no *1. Oil*, but numbers may be aligned: *9.  Fog*, *10. Ice*.
        found += list(_of_kinds(blocks, level, above, attrgetter("kind"))) or list(
            _of_kinds(blocks, level, above, attrgetter("kind", "gap"))
        )
    return [
        (len(one.parts), one.title, one.start) for one in sorted(found, key=attrgetter("start"))
    ]


def _of_kinds(
    blocks: Sequence[_Block],
    level: Sequence[_Block],
    above: Iterable[tuple[str, ...]],
    kind_of: Callable[[_Block], Any],
) -> Iterator[_Block]:
    """Yield the headings among the blocks of one depth, each kind by itself."""
    for kind in sorted({kind_of(one) for one in level}):
        members = [one for one in level if kind_of(one) == kind]
        whole = [one for one in blocks if kind_of(one) == kind]
        if len([one for one in whole if one.is_title]) >= _SHARE * len(whole):
            yield from _in_sequence(members, above)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the text of each run of lines that are not blank."""
    start, at = -1, 0
    for line in text.split("\n"):
        if line.strip():
            start = at if start < 0 else start
        elif start >= 0:
            yield start, text[start : at - 1]
            start = -1
        at += len(line) + 1
    if start >= 0:
        yield start, text[start:]


def _blocks(text: str) -> Iterator[_Block]:
    for place, (start, paragraph) in enumerate(_paragraphs(text)):
        found = _NUMBERED.match(_UNDERLINE.sub("", paragraph[: 2 * _LONGEST]))
        if found is None:
            continue
        parts = tuple(found["number"].split("."))
        yield _Block(
            place,
            start + len(found["indent"]),
            parts,
            (len(parts), bool(found["dot"]), len(found["indent"].expandtabs())),
            len(found["gap"].expandtabs()),
            one_line(found.group()),
            _is_title(found.group().strip(), found["title"].strip(), len(parts)),
        )


def _is_title(block: str, title: str, depth: int) -> bool:
    """Whether a paragraph is as short as a heading, and begins and ends like one."""
    return (
        len(block) <= _LONGEST
        and block.count("\n") < (1 if depth == 1 else _MOST_LINES)
        and any(map(str.isalpha, title))
        and not title.lstrip("\"'“‘«(*")[:1].islower()
        and title[-1] not in ".,:;。，；："
    )


def _without_lists(blocks: Sequence[_Block]) -> list[_Block]:
    """Leave out entries of lists and of tables of contents, which follow each other.

    The last of those may be a heading, with the ones right above it in the hierarchy. Of headings
    that are there twice, the first was an entry.
    """
    kept: dict[tuple[tuple[str, ...], str], _Block] = {}
    for _, run in groupby(enumerate(blocks), lambda pair: pair[1].place - pair[0]):
        depth = 99
        for _, block in reversed(list(run)):
            if len(block.parts) >= depth:
                break
            depth = len(block.parts)
            kept[block.parts, block.title] = block
    return sorted(kept.values(), key=attrgetter("start"))


def _in_sequence(blocks: Sequence[_Block], above: Iterable[tuple[str, ...]]) -> Iterator[_Block]:
    """Yield the blocks of one depth and kind whose numbers follow each other below one number."""
    below = defaultdict(list)
    for block in blocks:
        below[block.parts[:-1]].append(block)
    known = set(above)
    for parent, members in below.items():
        chain: list[_Block] = []
        for block in members:
            last = chain[-1].last if chain else 0
            if last < block.last <= last + 1 + _MOST_MISSING or (not chain and block.last == 0):
                chain.append(block)
        fewest = 1 if parent in known else _FEWEST - bool(parent)
        # Numbers that begin again count the entries of several lists.
        if len(chain) >= fewest and (parent or len(chain) == len(members)):
            yield from chain
