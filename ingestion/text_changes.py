"""Two texts side by side: paragraphs that stayed, went, came, and what is other within them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

SAME, GONE, NEW, CHANGED = "same", "gone", "new", "changed"
MOST_COMPARED: Final = 2000
"""Paragraphs that are compared with all others; beyond it frequent ones are no anchors."""
MOST_WORDS: Final = 1500
"""Words of two paragraphs that are compared word by word."""
_WORD: Final = re.compile(r"\s+|[^\W_]+|.", re.DOTALL)
LEAST_ALIKE: Final = 0.4
"""Paragraphs less alike took each other's place; they are not the same one, changed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a changed paragraph: ``same``, ``gone`` or ``new``."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TextChange:
    """One paragraph. ``start`` is where it begins in the later text, in the earlier where gone.

    ``skipped`` stands for so many paragraphs that are the same.
    """

    kind: str
    start: int
    pieces: tuple[Piece, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    start: int
    text: str


def text_changes(before: str, after: str, *, around: int = 1) -> list[TextChange]:
    """What changed, with ``around`` unchanged paragraphs on either side of each change."""
    old, new = paragraphs(before), paragraphs(after)
    matcher = SequenceMatcher(
        None,
        [one.text for one in old],
        [one.text for one in new],
        autojunk=min(len(old), len(new)) > MOST_COMPARED,
    )
    codes = matcher.get_opcodes()
    return [
        change
        for place, (tag, a, b, c, d) in enumerate(codes)
        for change in (
            _same(new[c:d], around, is_first=place == 0, is_last=place == len(codes) - 1)
            if tag == "equal"
            else _other(old[a:b], new[c:d])
        )
    ]


def paragraphs(text: str) -> list[Paragraph]:
    """Lines with something on them: what is one line to a reader may be a whole paragraph."""
    return [
        Paragraph(match.start(), match.group().rstrip()) for match in re.finditer(r"\S[^\n]*", text)
    ]


def _same(
    rows: Sequence[Paragraph], around: int, *, is_first: bool, is_last: bool
) -> Iterator[TextChange]:
    head = 0 if is_first else around
    tail = 0 if is_last else around
    shown = {*range(min(head, len(rows))), *range(max(0, len(rows) - tail), len(rows))}
    skipped = len(rows) - len(shown)
    for place, one in enumerate(rows):
        if place in shown:
            yield TextChange(SAME, one.start, (Piece(SAME, one.text),))
        elif skipped:
            yield TextChange(SAME, one.start, skipped=skipped)
            skipped = 0


def _other(old: Sequence[Paragraph], new: Sequence[Paragraph]) -> Iterator[TextChange]:
    """As many as stand on both sides are compared one with one."""
    pairs = min(len(old), len(new))
    for left, right in zip(old[:pairs], new[:pairs], strict=True):
        yield from _pair(left, right)
    for one in old[pairs:]:
        yield TextChange(GONE, one.start, (Piece(GONE, one.text),))
    for one in new[pairs:]:
        yield TextChange(NEW, one.start, (Piece(NEW, one.text),))


def _pair(left: Paragraph, right: Paragraph) -> Iterator[TextChange]:
    before, after = _WORD.findall(left.text), _WORD.findall(right.text)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    is_short = len(before) + len(after) <= MOST_WORDS
    if not is_short or matcher.ratio() < LEAST_ALIKE:
        yield TextChange(GONE, left.start, (Piece(GONE, left.text),))
        yield TextChange(NEW, right.start, (Piece(NEW, right.text),))
        return
    yield TextChange(CHANGED, right.start, tuple(_pieces(matcher, before, after)))


def _pieces(
    matcher: SequenceMatcher[str], before: Sequence[str], after: Sequence[str]
) -> Iterator[Piece]:
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield Piece(SAME, "".join(after[c:d]))
            continue
        if a < b:
            yield Piece(GONE, "".join(before[a:b]))
        if c < d:
            yield Piece(NEW, "".join(after[c:d]))
