"""What was decided about names, as one consistent reading of them.

A decision that two names are one thing says nothing of a third name. Links are therefore applied
one by one, a person's before a model's and older ones first, and a link that would bring together
names which are decided to differ is left out. A model's link also waits until every pair that it
would bring together was judged by itself: A = C never follows from A = B and B = C unasked.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product

from ingestion.models import ResolutionDecision, Verdict

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ruling:
    """One decision that counts. ``right`` is '' where a document's sense of a name was decided."""

    left: str
    right: str
    document_id: uuid.UUID | None
    sense: int
    verdict: str
    by: str
    created_at: datetime
    id: uuid.UUID

    @property
    def is_by_person(self) -> bool:
        return self.by == ResolutionDecision.By.PERSON

    @property
    def subject(self) -> tuple[str, str, uuid.UUID | None]:
        return self.left, self.right, self.document_id


@dataclass(frozen=True, slots=True)
class Reading:
    """How names are read: ``names`` by the key they stand for, ``senses`` by document and key.

    ``conflicting`` are links that contradict a decision, ``unchecked`` are pairs to be judged
    before a model's link may be followed; both sorted.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    senses: Mapping[tuple[uuid.UUID, str], int] = field(default_factory=dict)
    conflicting: tuple[Pair, ...] = ()
    unchecked: tuple[Pair, ...] = ()

    def entity_of(self, document_id: uuid.UUID, key: str) -> tuple[str, int]:
        """Key and sense of the entity that ``key`` names in a document.

        A name with a sense of its own is no longer what was compared with other names.
        """
        own = self.senses.get((document_id, key), 0)
        if own:
            return key, own
        read = self.names.get(key, key)
        return read, self.senses.get((document_id, read), 0)


PLAIN = Reading()
"""Nothing was decided."""


def reading_of(rulings: Iterable[Ruling]) -> Reading:
    """One reading of all names; the same for any order of the rulings."""
    standing = _standing(rulings)
    pairs = {(one.left, one.right): one for one in standing if one.right}
    links = sorted(
        (one for one in pairs.values() if one.verdict == Verdict.SAME),
        key=lambda one: (not one.is_by_person, one.created_at, one.left, one.right),
    )
    groups, conflicting, unchecked = _joined(links, {p: one.verdict for p, one in pairs.items()})
    return Reading(
        names={key: min(group) for key, group in groups.items() if key != min(group)},
        senses={
            (one.document_id, one.left): one.sense
            for one in standing
            if one.document_id and not one.right
        },
        conflicting=tuple(sorted(conflicting)),
        unchecked=tuple(sorted(set(unchecked))),
    )


def _standing(rulings: Iterable[Ruling]) -> list[Ruling]:
    """One ruling a subject: a person's before a model's, then the latest."""
    best: dict[tuple[str, str, uuid.UUID | None], Ruling] = {}
    for one in sorted(rulings, key=lambda one: (one.is_by_person, one.created_at, one.id)):
        best[one.subject] = one
    return list(best.values())


def _joined(
    links: Sequence[Ruling], verdicts: Mapping[Pair, str]
) -> tuple[dict[str, set[str]], list[Pair], list[Pair]]:
    """Groups of names by member, links left out, and pairs still to be judged."""
    groups: dict[str, set[str]] = {}
    conflicting: list[Pair] = []
    unchecked: list[Pair] = []
    for link in links:
        left = groups.get(link.left, {link.left})
        right = groups.get(link.right, {link.right})
        if left is right:
            continue
        crossing = [pair_of(a, b) for a, b in product(left, right)]
        if any(verdicts.get(pair) == Verdict.DIFFERENT for pair in crossing):
            conflicting.append((link.left, link.right))
            continue
        open_pairs = [pair for pair in crossing if verdicts.get(pair) != Verdict.SAME]
        if open_pairs and not link.is_by_person:
            unchecked += open_pairs
            continue
        joined = left | right
        groups |= dict.fromkeys(joined, joined)
    return groups, conflicting, unchecked


def pair_of(one: str, other: str) -> Pair:
    """Two keys as a decision names them: the one that sorts first is the left one."""
    return (one, other) if one <= other else (other, one)
