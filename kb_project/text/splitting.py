"""Splits a text into spans: token windows, sentence groups, fixed windows.

Sizes and overlaps are in tokens (cl100k). Every span is trimmed of whitespace at both ends, spans
ascend, and together they cover every non-whitespace character of the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kb_project.text.sentences import sentence_spans

Span = tuple[int, int]
Offsets = NDArray[np.int64]

# A heading closes the chunk before it once that chunk is this full: short sections share a chunk,
# long ones start their own.
HEADING_BREAK_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece that is never cut: a sentence, or a window of an overlong one."""

    start: int
    end: int
    tokens: int
    opens_section: bool


def split_tokens(
    text: str, *, starts: Offsets, size: int, overlap: int, headings: Sequence[int]
) -> list[Span]:
    """Split into windows of whole sentences, at most ``size`` tokens, ``overlap`` tokens shared.

    ``starts`` are the character offsets of the text's tokens, ``headings`` those of its heading
    lines. A window that ends before a heading shares nothing with the next.
    """
    atoms = list(_atoms(text, starts, size, set(headings)))
    return list(_pack(atoms, size=size, overlap=min(overlap, size // 2)))


def split_sentences(text: str, *, starts: Offsets, size: int) -> list[Span]:
    """Split into sentences; one longer than ``size`` tokens into windows."""
    return [(atom.start, atom.end) for atom in _atoms(text, starts, size, set())]


def split_fixed(text: str, *, starts: Offsets, size: int, overlap: int) -> list[Span]:
    """Split into windows of exactly ``size`` tokens, regardless of sentences."""
    if not len(starts):
        return []
    step = max(1, size - min(overlap, size // 2))
    last = max(1, len(starts) - min(overlap, size // 2))
    spans = [
        _trim(text, *_window(text, starts, first, first + size)) for first in range(0, last, step)
    ]
    return [span for span in spans if span[0] < span[1]]


def _pack(atoms: Sequence[Atom], *, size: int, overlap: int) -> Iterator[Span]:
    first, tokens = 0, 0
    for index, atom in enumerate(atoms):
        at_heading = atom.opens_section and tokens >= size * HEADING_BREAK_SHARE
        if index > first and (at_heading or tokens + atom.tokens > size):
            yield atoms[first].start, atoms[index - 1].end
            first = index if at_heading else _step_back(atoms, first, index, overlap, size)
            tokens = sum(kept.tokens for kept in atoms[first:index])
        tokens += atom.tokens
    if atoms:
        yield atoms[first].start, atoms[-1].end


def _step_back(atoms: Sequence[Atom], first: int, index: int, overlap: int, size: int) -> int:
    """Return where the next window begins: whole sentences before ``index``, within the overlap."""
    room = min(overlap, size - atoms[index].tokens)
    start = index
    while start - 1 > first and atoms[start - 1].tokens <= room:
        start -= 1
        room -= atoms[start].tokens
        if atoms[start].opens_section:
            break
    return start


def _atoms(text: str, starts: Offsets, size: int, headings: set[int]) -> Iterator[Atom]:
    marks = sorted(headings)
    before = 0
    for start, end in sentence_spans(text):
        opens = _any_between(marks, before, end)
        before = end
        first, last = token_range(starts, start, end)
        if last - first <= size:
            yield Atom(start, end, last - first, opens)
            continue
        for window in range(first, last, size):
            a, b = _window(text, starts, window, min(window + size, last))
            a, b = _trim(text, max(a, start), min(b, end))
            if a < b:
                yield Atom(a, b, min(size, last - window), opens and window == first)


def token_range(starts: Offsets, start: int, end: int) -> tuple[int, int]:
    """Return the tokens that a span touches, as a half-open range.

    A word's token includes the space before it, so the first one may begin before the span.
    """
    first = int(starts.searchsorted(start, side="right")) - 1
    return max(first, 0), int(starts.searchsorted(end))


def _any_between(marks: Sequence[int], start: int, end: int) -> bool:
    index = bisect_left(marks, start)
    return index < len(marks) and marks[index] < end


def _window(text: str, starts: Offsets, first: int, last: int) -> Span:
    """Return the character span of the tokens from ``first`` up to ``last``."""
    return int(starts[first]), int(starts[last]) if last < len(starts) else len(text)


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
