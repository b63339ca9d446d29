"""Combine the decisions in force into how names resolve, and find those that conflict.

A decision that two names are one thing says nothing about a third name. Links are therefore applied
one by one, a person's before a model's and older ones first. A link that would join names decided
to be distinct is left out: joining two groups anyway requires a decision on those names, too. A
model's link also waits until every pair that it would join was judged individually: A = C never
follows from A = B and B = C unasked. A group resolves to the entity that people last chose to keep,
or else the name that sorts first.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product

from ingestion.models import MentionPlacement, MentionPosition, ResolutionDecision, Verdict
from ingestion.resolution.keys import KeyPair, Ref, RefPair, pair_of


@dataclass(frozen=True, slots=True)
class Meaning:
    """The entity that a mention means: ``named`` before names are joined, ``entity`` after it."""

    named: Ref
    entity: Ref


@dataclass(frozen=True, slots=True)
class NameResolution:
    """How names resolve.

    ``refs`` are entities that resolve to another one, ``senses`` what a document means by a key,
    ``placements`` mentions that people reassigned, by key, the most specific first. Mentions of
    ``deleted`` entities and ``dropped`` links are not kept. ``conflicting`` are links that
    contradict a decision, ``unchecked`` are pairs to judge before a model's link may be followed;
    both sorted.
    """

    refs: Mapping[Ref, Ref] = field(default_factory=dict)
    senses: Mapping[tuple[uuid.UUID, str], int] = field(default_factory=dict)
    placements: Mapping[str, Sequence[MentionPlacement]] = field(default_factory=dict)
    deleted: Set[Ref] = frozenset()
    dropped: Set[RefPair] = frozenset()
    conflicting: tuple[KeyPair, ...] = ()
    unchecked: tuple[KeyPair, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """Names with one sense that resolve to another such name."""
        pairs = self.refs.items()
        return {key: entity[0] for (key, sense), entity in pairs if not sense and not entity[1]}

    def resolve(self, entity: Ref) -> Ref:
        return self.refs.get(entity, entity)

    def members(self, entity: Ref) -> list[Ref]:
        """Everything that resolves to an entity, itself included."""
        return sorted({entity, *(one for one, other in self.refs.items() if other == entity)})

    def changed_since(self, before: NameResolution) -> set[str]:
        """Keys whose entity has changed, and the keys of the old entities.

        Documents that name the new ones already name them as before.
        """
        changed = (
            one for one in {*before.refs, *self.refs} if before.resolve(one) != self.resolve(one)
        )
        return {ref[0] for one in changed for ref in (one, before.resolve(one))}

    def meaning(self, key: str, position: MentionPosition) -> Meaning:
        """What a mention means, deleted or not.

        >>> document = uuid.UUID(int=1)
        >>> row = MentionPlacement(key="mercury", target_key="mercury", target_sense=1)
        >>> moved = NameResolution(placements={"mercury": [row]})
        >>> moved.meaning("mercury", MentionPosition(document)).entity
        ('mercury', 1)
        """
        for row in self.placements.get(key, ()):
            if row.covers(position):
                target = (row.target_key, row.target_sense)
                return Meaning(target, self.resolve(target))
        named = (key, self.senses.get((position.document_id, key), 0))
        entity = self.resolve(named)
        # A name with a sense of its own no longer takes part in comparisons with other names.
        if not named[1] and entity != named and not entity[1]:
            sense = self.senses.get((position.document_id, entity[0]), 0)
            entity = self.resolve((entity[0], sense))
        return Meaning(named, entity)

    def is_deleted(self, meaning: Meaning) -> bool:
        return meaning.named in self.deleted or meaning.entity in self.deleted

    def keeps(self, source: Meaning, target: Meaning) -> bool:
        """Whether to keep a link between two mentions."""
        if source.entity == target.entity:
            return False
        pairs = {(source.named, target.named), (source.entity, target.entity)}
        return not self.dropped & pairs


PLAIN = NameResolution()
"""No decisions."""


def resolve_names(
    decisions: Iterable[ResolutionDecision],
    placements: Iterable[MentionPlacement] = (),
    deleted: Set[Ref] = frozenset(),
    dropped: Set[RefPair] = frozenset(),
) -> NameResolution:
    """Resolve all names; the same result for any order of the decisions."""
    counting = in_force(decisions)
    pairs = {one.ends: one for one in counting if one.right_key}
    links = sorted(
        (one for one in pairs.values() if one.verdict == Verdict.SAME),
        key=lambda one: (not one.is_by_person, one.created_at, one.ends),
    )
    groups, conflicting, unchecked = _joined(links, pairs)
    kept = _kept(links, groups)
    by_key: defaultdict[str, list[MentionPlacement]] = defaultdict(list)
    for row in sorted(placements, key=lambda row: (row.specificity, row.sequence), reverse=True):
        by_key[row.key].append(row)
    return NameResolution(
        refs={ref: kept[id(group)] for ref, group in groups.items() if ref != kept[id(group)]},
        senses={
            (one.document_id, one.left_key): one.sense
            for one in counting
            if one.document_id and not one.right_key
        },
        placements=dict(by_key),
        deleted=deleted,
        dropped=dropped,
        conflicting=tuple(sorted(conflicting)),
        unchecked=tuple(sorted(set(unchecked))),
    )


def in_force(decisions: Iterable[ResolutionDecision]) -> list[ResolutionDecision]:
    """The decision that counts for each subject: a person's before a model's, then the latest."""
    by_subject = {
        (one.ends, one.document_id): one for one in sorted(decisions, key=lambda one: one.rank)
    }
    return list(by_subject.values())


Groups = dict[Ref, set[Ref]]


def _joined(
    links: Sequence[ResolutionDecision], pairs: Mapping[RefPair, ResolutionDecision]
) -> tuple[Groups, list[KeyPair], list[KeyPair]]:
    """Groups of entities by member, conflicting links, and pairs still to be judged."""
    groups: Groups = {}
    same = {pair for pair, one in pairs.items() if one.verdict == Verdict.SAME}
    different = {pair for pair, one in pairs.items() if one.verdict == Verdict.DIFFERENT}
    conflicting: list[KeyPair] = []
    unchecked: list[KeyPair] = []
    for link in links:
        one, other = link.ends
        left, right = groups.get(one, {one}), groups.get(other, {other})
        if left is right:
            continue
        crossing = [pair_of(a, b) for a, b in product(left, right)]
        if not different.isdisjoint(crossing):
            conflicting.append((link.left_key, link.right_key))
            continue
        if not link.is_by_person:
            # Models are never asked about senses.
            open_pairs = [
                (a[0], b[0]) for a, b in crossing if not a[1] and not b[1] and (a, b) not in same
            ]
            if open_pairs:
                unchecked += open_pairs
                continue
        joined = left | right
        groups |= dict.fromkeys(joined, joined)
    return groups, conflicting, unchecked


def _kept(links: Sequence[ResolutionDecision], groups: Groups) -> dict[int, Ref]:
    """The entity that each group resolves to, by the group's identity."""
    chosen: dict[int, ResolutionDecision] = {}
    for link in links:
        one, other = link.ends
        group = groups.get(one)
        if group is None or group is not groups.get(other) or link.kept is None:
            continue
        last = chosen.get(id(group))
        if last is None or (last.created_at, last.id) < (link.created_at, link.id):
            chosen[id(group)] = link
    kept = {id(group): min(group) for group in groups.values()}
    return kept | {number: link.kept for number, link in chosen.items() if link.kept}
