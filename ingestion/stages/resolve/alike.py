"""Names that look alike: the grey zone, which is never merged automatically."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz

from ingestion.resolution.keys import entity_id
from ingestion.resolution.overrides import pair_of

# Two names of one type this similar (0 to 100, by edit distance) are worth a person's attention.
ALIKE: Final = 88.0
# Shorter keys resemble each other by chance.
SHORTEST_ALIKE: Final = 6
DIGITS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two entities that may be one; ``left`` is the lower id, ``keys`` are sorted on their own."""

    left: uuid.UUID
    right: uuid.UUID
    score: float
    reason: str
    keys: tuple[str, str]


def suggestions(
    workspace_id: uuid.UUID, pairs: Iterable[tuple[str, str, uuid.UUID]]
) -> list[Suggestion]:
    """One for each pair of keys that look alike, by ascending ids."""
    found = {}
    for key, other, other_id in pairs:
        score = likeness(key, other)
        if score >= ALIKE:
            left, right = sorted([entity_id(workspace_id, key), other_id])
            reason = f"The names are {score:.0f} % alike"
            found[left, right] = Suggestion(left, right, score / 100, reason, pair_of(key, other))
    return [one for _, one in sorted(found.items())]


def likeness(left: str, right: str) -> float:
    """0 to 100; names that differ in any digit are never alike.

    >>> likeness("asr 1603", "asr 1605")
    0.0
    """
    if differ_in_a_digit(left, right):
        return 0.0
    return fuzz.ratio(left, right)


def differ_in_a_digit(left: str, right: str) -> bool:
    return DIGITS.findall(left) != DIGITS.findall(right)
