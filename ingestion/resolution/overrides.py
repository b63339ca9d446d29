"""Combine decisions about names into one consistent resolution.

A decision that two names are one thing says nothing about a third name. Links are therefore applied
one by one, a person's before a model's and older ones first. A link that would join names decided
to be distinct is left out: joining two groups anyway requires a decision on those names, too. A
model's link also waits until every pair that it would join was judged individually: A = C never
follows from A = B and B = C unasked. A group resolves to the entity that people last chose to keep,
or else the name that sorts first.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product

from ingestion.models import ResolutionDecision, Verdict
from ingestion.resolution.keys import Ref
from ingestion.resolution.reassignments import Place, Placement, Placements, placed, placements_of

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ruling:
    """One decision in force. ``right`` is '' if it is about a name's sense in a document."""

    left: str
    right: str
    document_id: uuid.UUID | None
    sense: int
    verdict: str
    by: str
    created_at: datetime
    id: uuid.UUID
    left_sense: int = 0
    right_sense: int = 0
    keeps_right: bool | None = None

    @property
    def is_by_person(self) -> bool:
        return self.by == ResolutionDecision.By.PERSON

    @property
    def ends(self) -> tuple[Ref, Ref]:
        return (self.left, self.left_sense), (self.right, self.right_sense)

    @property
    def kept(self) -> Ref | None:
        """The entity of a pair that people chose to keep."""
        return None if self.keeps_right is None else self.ends[self.keeps_right]

    @property
    def subject(self) -> tuple[Ref, Ref, uuid.UUID | None]:
        return *self.ends, self.document_id


@dataclass(frozen=True, slots=True)
class Meant:
    """The entity a mention means: before names are joined, and as finally resolved."""

    named: Ref
    read: Ref


@dataclass(frozen=True, slots=True)
class Reading:
    """How names resolve.

    ``refs`` are entities that resolve to another one, ``senses`` what a document means by a key,
    ``placements`` mentions that people reassigned. Mentions of ``deleted`` entities and ``dropped``
    links are not kept. ``conflicting`` are links that contradict a decision, ``unchecked`` are
    pairs to judge before a model's link may be followed; both sorted.
    """

    refs: Mapping[Ref, Ref] = field(default_factory=dict)
    senses: Mapping[tuple[uuid.UUID, str], int] = field(default_factory=dict)
    placements: Placements = field(default_factory=dict)
    deleted: frozenset[Ref] = frozenset()
    dropped: frozenset[tuple[Ref, Ref]] = frozenset()
    conflicting: tuple[Pair, ...] = ()
    unchecked: tuple[Pair, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """Names with one sense that resolve to another such name."""
        pairs = self.refs.items()
        return {key: read[0] for (key, sense), read in pairs if not sense and not read[1]}

    def read(self, entity: Ref) -> Ref:
        return self.refs.get(entity, entity)

    def meant(self, key: str, place: Place) -> Meant | None:
        """What a mention means, or None if that was deleted."""
        found = self.named(key, place)
        return None if found.named in self.deleted or found.read in self.deleted else found

    def named(self, key: str, place: Place) -> Meant:
        """What a mention means, deleted or not."""
        target = placed(self.placements, key, place) if self.placements else None
        if target:
            return Meant(target, self.read(target))
        return self._unplaced(place.document_id, key)

    def _unplaced(self, document_id: uuid.UUID, key: str) -> Meant:
        own = (key, self.senses.get((document_id, key), 0))
        # A name with a sense of its own no longer takes part in comparisons with other names.
        if own[1]:
            return Meant(own, self.read(own))
        read = self.read(own)
        if read != own and not read[1]:
            there = (read[0], self.senses.get((document_id, read[0]), 0))
            read = self.read(there)
        return Meant(own, read)

    def keeps(self, source: Meant, target: Meant) -> bool:
        """Whether to keep a link between two mentions."""
        if source.read == target.read:
            return False
        pairs = {(source.named, target.named), (source.read, target.read)}
        return not self.dropped & pairs


PLAIN = Reading()
"""No decisions."""


@dataclass(frozen=True, slots=True)
class Curated:
    """People's changes other than joining names."""

    placements: Sequence[Placement] = ()
    deleted: frozenset[Ref] = frozenset()
    dropped: frozenset[tuple[Ref, Ref]] = frozenset()


def reading_of(rulings: Iterable[Ruling], curated: Curated | None = None) -> Reading:
    """Resolve all names; the same result for any order of the rulings."""
    curated = curated or Curated()
    standing = _standing(rulings)
    pairs = {one.ends: one for one in standing if one.right}
    links = sorted(
        (one for one in pairs.values() if one.verdict == Verdict.SAME),
        key=lambda one: (not one.is_by_person, one.created_at, one.ends),
    )
    groups, conflicting, unchecked = _joined(links, pairs)
    kept = _kept(links, groups)
    return Reading(
        refs={ref: kept[id(group)] for ref, group in groups.items() if ref != kept[id(group)]},
        senses={
            (one.document_id, one.left): one.sense
            for one in standing
            if one.document_id and not one.right
        },
        placements=placements_of(curated.placements),
        deleted=curated.deleted,
        dropped=curated.dropped,
        conflicting=tuple(sorted(conflicting)),
        unchecked=tuple(sorted(set(unchecked))),
    )


def _standing(rulings: Iterable[Ruling]) -> list[Ruling]:
    """The ruling in force for each subject: a person's before a model's, then the latest."""
    best: dict[tuple[Ref, Ref, uuid.UUID | None], Ruling] = {}
    for one in sorted(rulings, key=lambda one: (one.is_by_person, one.created_at, one.id)):
        best[one.subject] = one
    return list(best.values())


Groups = dict[Ref, set[Ref]]


def _joined(
    links: Sequence[Ruling], pairs: Mapping[tuple[Ref, Ref], Ruling]
) -> tuple[Groups, list[Pair], list[Pair]]:
    """Groups of entities by member, conflicting links, and pairs still to be judged."""
    groups: Groups = {}
    same = {pair for pair, one in pairs.items() if one.verdict == Verdict.SAME}
    different = {pair for pair, one in pairs.items() if one.verdict == Verdict.DIFFERENT}
    conflicting: list[Pair] = []
    unchecked: list[Pair] = []
    for link in links:
        one, other = link.ends
        left, right = groups.get(one, {one}), groups.get(other, {other})
        if left is right:
            continue
        crossing = [(min(a, b), max(a, b)) for a, b in product(left, right)]
        if not different.isdisjoint(crossing):
            conflicting.append((link.left, link.right))
            continue
        if not link.is_by_person and (unsaid := _unsaid(crossing, same)):
            unchecked += unsaid
            continue
        joined = left | right
        groups |= dict.fromkeys(joined, joined)
    return groups, conflicting, unchecked


def _unsaid(crossing: Sequence[tuple[Ref, Ref]], same: Set[tuple[Ref, Ref]]) -> list[Pair]:
    """Pairs of names without a decision that they are one; models are never asked about senses."""
    return [
        (left[0], right[0])
        for left, right in crossing
        if not left[1] and not right[1] and (left, right) not in same
    ]


def _kept(links: Sequence[Ruling], groups: Groups) -> dict[int, Ref]:
    """The entity that each group resolves to, by the group's identity."""
    chosen: dict[int, Ruling] = {}
    for link in links:
        one, other = link.ends
        group = groups.get(one)
        if group is None or group is not groups.get(other) or link.kept is None:
            continue
        last = chosen.get(id(group))
        if last is None or (last.created_at, last.id) < (link.created_at, link.id):
            chosen[id(group)] = link
    kept = {id(group): min(group) for group in groups.values()}
    return kept | {place: link.kept for place, link in chosen.items() if link.kept}


def pair_of(one: str, other: str) -> Pair:
    """Two keys as decisions store them: the one that sorts first is on the left."""
    return (one, other) if one <= other else (other, one)
