"""Conflicts that models found: claims held true and false, and contradictions they noted."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ingestion.models import Claim, ConflictKind
from ingestion.resolution.conflicts import about_of
from ingestion.resolution.keys import words_digest
from kb_project.text.values import WORDS, Value
from kb_project.text.words import terms

ALIKE: Final = 0.5
"""Share of their terms that two claims without an object have in common if they are about one
matter."""
TOPIC_LENGTH: Final = 300
Place = tuple[uuid.UUID, uuid.UUID, int, int]
"""A passage, its document, and a span in the document's text."""


@dataclass(frozen=True, slots=True)
class Side:
    place: Place
    value: str
    key: str


@dataclass(frozen=True, slots=True)
class Found:
    """A conflict as found; ``about`` and the subject identify it."""

    subject_id: uuid.UUID
    kind: str
    about: str
    topic: str
    sides: tuple[Side, ...]

    @property
    def is_one(self) -> bool:
        """Whether its sides stand in different places and say different things."""
        return len({one.key for one in self.sides}) > 1 and len({s.place for s in self.sides}) > 1


@dataclass(frozen=True, slots=True)
class ClaimRow:
    subject_id: uuid.UUID
    type: str
    object: str
    description: str
    status: str
    start: str
    end: str
    place: Place

    def contradicts(self, other: ClaimRow) -> bool:
        """Return whether one is held true and the other false, of one matter and time."""
        if self.status == other.status or not overlap(
            (self.start, self.end), (other.start, other.end)
        ):
            return False
        if self.object:
            return True
        own, its = frozenset(terms(self.description)), frozenset(terms(other.description))
        return len(own & its) >= ALIKE * max(1, min(len(own), len(its)))


def overlap(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two periods may have a day in common; '' is unknown.

    >>> overlap(("1990", "1992"), ("1992-05", "")), overlap(("1990", "1991"), ("1992-05", ""))
    (True, False)
    """
    return not (_ends_before(one[1], other[0]) or _ends_before(other[1], one[0]))


def _ends_before(end: str, start: str) -> bool:
    # Dates of different precision compare by what both say.
    shared = min(len(end), len(start))
    return bool(shared) and end[:shared] < start[:shared]


def claims_in_conflict(rows: Iterable[ClaimRow]) -> Iterator[Found]:
    """Yield claims of one type about the same things that are held true and false."""
    groups: defaultdict[tuple[uuid.UUID, str, str], list[ClaimRow]] = defaultdict(list)
    for row in rows:
        groups[row.subject_id, row.type.casefold(), row.object].append(row)
    for (subject, type_, object_), claims in groups.items():
        disputed = [one for one in claims if any(one.contradicts(other) for other in claims)]
        sides = tuple(
            Side(one.place, str(Claim.Status(one.status).label), Value(WORDS, (one.status,)).key)
            for one in disputed
        )
        about = about_of(ConflictKind.CLAIM, type_, object_)
        found = Found(subject, ConflictKind.CLAIM.value, about, claims[0].type, sides)
        if found.is_one:
            yield found


def notes_in_conflict(
    notes: Iterable[tuple[uuid.UUID, Sequence[Mapping[str, Any]]]],
    places: Mapping[str, Mapping[str, Any]],
) -> Iterator[Found]:
    """Yield contradictions that a model noted; those that share a statement are one."""
    by_subject: defaultdict[uuid.UUID, list[Found]] = defaultdict(list)
    for subject, conflicts in notes:
        for conflict in conflicts:
            sides = tuple(_noted(conflict["statements"], places))
            by_subject[subject].append(
                Found(
                    subject, ConflictKind.NOTE.value, "", conflict["reason"][:TOPIC_LENGTH], sides
                )
            )
    for subject, several in by_subject.items():
        for found in _joined(several):
            # By its first statement: later documents add to it.
            about = about_of(ConflictKind.NOTE, found.sides[0].key)
            yield Found(subject, found.kind, about, found.topic, found.sides)


def _noted(
    statements: Sequence[Mapping[str, Any]], places: Mapping[str, Mapping[str, Any]]
) -> Iterator[Side]:
    sides = []
    for one in statements:
        chunk = places.get(str(one["chunk"]))
        if chunk and chunk["start"] <= one["start"] < one["end"] <= chunk["end"]:
            quote = chunk["text"][one["start"] - chunk["start"] : one["end"] - chunk["start"]]
            place = (chunk["id"], chunk["document"], one["start"], one["end"])
            said = " ".join(str(one["text"]).split())[:TOPIC_LENGTH]
            key = Value(WORDS, (words_digest(quote),)).key
            sides.append(((*chunk["order"], one["start"]), Side(place, said, key)))
    yield from (side for _, side in sorted(sides, key=lambda one: one[0]))


def _joined(found: Sequence[Found]) -> Iterator[Found]:
    left = [one for one in found if one.is_one]
    while left:
        first, *rest = left
        keys = {side.key for side in first.sides}
        same = [one for one in rest if not keys.isdisjoint(side.key for side in one.sides)]
        if not same:
            yield first
            left = rest
            continue
        sides = {side.key: side for one in (first, *same) for side in one.sides}
        joined = Found(first.subject_id, first.kind, "", first.topic, tuple(sides.values()))
        left = [joined, *(one for one in rest if one not in same)]
