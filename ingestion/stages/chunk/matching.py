"""Match the passages of a new text with existing ones, by their words."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ingestion.models import Chunk

START: Final = -1
"""The place before the first passage."""


@dataclass(frozen=True, slots=True)
class Matching:
    """``kept`` pairs each existing chunk with what it becomes; all in the order of their texts."""

    kept: tuple[tuple[Chunk, Chunk], ...]
    new: tuple[Chunk, ...]
    gone: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """Passages of two versions. One that is gone where another is new counts as ``changed``."""

    kept: int
    changed: int
    new: int
    gone: int


def match(there: Sequence[Chunk], cut: Sequence[Chunk]) -> Matching:
    """Match passages by equal text, in one pass per key.

    First those at exactly the offsets their id says, so that no new passage gets the id of a kept
    one; then those under the same headings; then those with the same words, the first with the
    first: a moved passage stays the same passage.
    """
    ways: tuple[Callable[[Chunk], Hashable], ...] = (
        lambda one: (one.pk, one.text),
        lambda one: (one.text, tuple(one.heading_path)),
        lambda one: one.text,
    )
    found: dict[int, int] = {}
    for key_of in ways:
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        taken = set(found.values())
        for place, one in enumerate(there):
            if place not in taken:
                waiting[key_of(one)].append(place)
        for place, one in enumerate(cut):
            if place not in found and waiting[key_of(one)]:
                found[place] = waiting[key_of(one)].popleft()
    taken = set(found.values())
    return Matching(
        kept=tuple((there[old], cut[new]) for new, old in sorted(found.items())),
        new=tuple(one for place, one in enumerate(cut) if place not in found),
        gone=tuple(one for place, one in enumerate(there) if place not in taken),
    )


def counts_of(matching: Matching) -> Counts:
    """Count a removed and a new passage after the same kept one as one that changed."""
    gone = _behind(matching.gone, [old for old, _ in matching.kept])
    new = _behind(matching.new, [one for _, one in matching.kept])
    changed = sum(min(number, new[place]) for place, number in gone.items())
    return Counts(
        kept=len(matching.kept),
        changed=changed,
        new=len(matching.new) - changed,
        gone=len(matching.gone) - changed,
    )


def _behind(some: Iterable[Chunk], kept: Sequence[Chunk]) -> Counter[int]:
    """How many come after each kept passage, by its place in ``kept``."""
    marks = {one.ordinal: place for place, one in enumerate(kept)}
    found: Counter[int] = Counter()
    last, ordinals = START, deque(sorted(marks))
    for one in sorted(some, key=lambda one: one.ordinal):
        while ordinals and ordinals[0] < one.ordinal:
            last = marks[ordinals.popleft()]
        found[last] += 1
    return found
