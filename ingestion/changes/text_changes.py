"""Compare two texts: paragraphs kept, removed, added, and changes within them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

SAME, GONE, NEW, CHANGED = "same", "gone", "new", "changed"
MOST_COMPARED: Final = 2000
"""Paragraphs compared with all others; beyond that, frequent ones are not used as anchors."""
MOST_WORDS: Final = 1500
"""Most words of two paragraphs that are compared word by word."""
MOST_REPEATED: Final = 100_000
"""Pairs of equal paragraphs: the time of a comparison grows with them, and with their square."""
MOST_WORK: Final = 100_000_000
"""Total work of all word-by-word comparisons, as computed by ``_work_of``: about a second.

Anyone who may read a document can request this. Beyond it, paragraphs are shown whole.
"""
_WORD: Final = re.compile(r"\s+|[^\W_]+|.", re.DOTALL)
LEAST_ALIKE: Final = 0.4
"""Paragraphs less similar than this replaced each other; they are not one that changed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a changed paragraph: ``same``, ``gone`` or ``new``."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TextChange:
    """One paragraph. ``start`` is its offset in the later text, or in the earlier if it is gone.

    ``skipped`` is the number of unchanged paragraphs that it stands for.
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
    texts, others = [one.text for one in old], [one.text for one in new]
    is_large = (
        min(len(old), len(new)) > MOST_COMPARED or _equal_pairs(texts, others) > MOST_REPEATED
    )
    codes = SequenceMatcher(None, texts, others, autojunk=is_large).get_opcodes()
    work = _Work()
    return [
        change
        for place, (tag, a, b, c, d) in enumerate(codes)
        for change in (
            _same(new[c:d], around, is_first=place == 0, is_last=place == len(codes) - 1)
            if tag == "equal"
            else _other(old[a:b], new[c:d], work)
        )
    ]


@dataclass(slots=True)
class _Work:
    """How much may still be compared word by word."""

    left: int = MOST_WORK

    def begin(self, amount: int) -> bool:
        self.left = max(0, self.left - amount)
        return self.left > 0


def _equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    before, after = Counter(old), Counter(new)
    return sum(number * after[text] for text, number in before.items())


def _work_of(before: Sequence[str], after: Sequence[str]) -> int:
    """Pairs of equal words, times the number of equal stretches each may be checked for."""
    words = [word for word in before if not word.isspace()]
    return _equal_pairs(words, after) * min(len(before), len(after))


def paragraphs(text: str) -> list[Paragraph]:
    """The non-blank lines: what is one line in the text may be a whole paragraph."""
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


def _other(old: Sequence[Paragraph], new: Sequence[Paragraph], work: _Work) -> Iterator[TextChange]:
    """Compare paragraphs pairwise as far as both sides have them."""
    pairs = min(len(old), len(new))
    for left, right in zip(old[:pairs], new[:pairs], strict=True):
        yield from _pair(left, right, work)
    for one in old[pairs:]:
        yield TextChange(GONE, one.start, (Piece(GONE, one.text),))
    for one in new[pairs:]:
        yield TextChange(NEW, one.start, (Piece(NEW, one.text),))


def _pair(left: Paragraph, right: Paragraph, work: _Work) -> Iterator[TextChange]:
    before = _WORD.findall(left.text) if work.left else []
    after = _WORD.findall(right.text) if work.left else []
    is_short = 0 < len(before) + len(after) <= MOST_WORDS
    if is_short and work.begin(_work_of(before, after)):
        matcher = SequenceMatcher(str.isspace, before, after, autojunk=False)
        if matcher.ratio() >= LEAST_ALIKE:
            yield TextChange(CHANGED, right.start, tuple(_pieces(matcher, before, after)))
            return
    yield TextChange(GONE, left.start, (Piece(GONE, left.text),))
    yield TextChange(NEW, right.start, (Piece(NEW, right.text),))


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
