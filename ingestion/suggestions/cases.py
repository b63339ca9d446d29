"""Groups pairs into cases of two to five entities for review side by side.

Pure functions. A case never chains: each of its entities was suggested with each of the others, and
no two of them were decided to differ. A pair that fits into no larger case is its own case.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from ingestion.resolution.pair_decisions import Pair, pair_of

MOST: Final = 5
"""Entities in one case: as many as fit side by side."""
CASE: Final = uuid.UUID("3f0f6a52-6c0e-5d43-9a53-0d9d6f6a7b11")


@dataclass(frozen=True, slots=True)
class Suggested:
    """A pair that may be one entity. ``reasons`` are in words, the weightiest first."""

    pair: Pair
    certainty: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The entities of a case and the pairs among them, most certain first.

    ``certainty`` is that of the least certain pair. ``effect`` is the logarithm of the mentions and
    facts that move when all are merged into the largest.
    """

    key: uuid.UUID
    entities: tuple[uuid.UUID, ...]
    pairs: tuple[Suggested, ...]
    certainty: float
    effect: float

    @property
    def weight(self) -> float:
        """The sort key of the queue."""
        return round(self.certainty * self.effect, 6)


def key_of(entities: Iterable[uuid.UUID]) -> uuid.UUID:
    """Return a key that depends only on the set of entities."""
    return uuid.uuid5(CASE, " ".join(sorted(str(one) for one in entities)))


def grouped(
    suggested: Iterable[Suggested],
    sizes: Mapping[uuid.UUID, int],
    apart: Collection[Pair] = frozenset(),
) -> list[Group]:
    """Return cases, ordered by certainty times effect.

    ``sizes`` are mentions and facts of each entity. ``apart`` are pairs that were decided to
    differ.
    """
    asked = [one for one in suggested if one.pair not in apart]
    by_pair = {one.pair: one for one in asked}
    groups = _joined(sorted(asked, key=lambda one: (-one.certainty, one.pair)), by_pair.keys())
    inside = {pair for group in groups for pair in _pairs_in(group)}
    alone = [set(pair) for pair in by_pair if pair not in inside]
    cases = [_group(members, by_pair, sizes) for members in (*groups, *alone)]
    return sorted(cases, key=lambda case: (-case.weight, case.key))


def _joined(asked: Sequence[Suggested], pairs: Collection[Pair]) -> list[set[uuid.UUID]]:
    """Complete linkage: an entity joins a group only if it was suggested with each of
    its members.
    """
    group_of: dict[uuid.UUID, set[uuid.UUID]] = {}
    for one in asked:
        left, right = (group_of.get(end, {end}) for end in one.pair)
        if left is right or len(left) + len(right) > MOST:
            continue
        if all(pair_of(a, b) in pairs for a, b in product(left, right)):
            joined = left | right
            group_of |= dict.fromkeys(joined, joined)
    return list({id(group): group for group in group_of.values()}.values())


def _pairs_in(group: Collection[uuid.UUID]) -> list[Pair]:
    return [(a, b) for a, b in product(group, group) if a < b]


def _group(
    members: Collection[uuid.UUID],
    by_pair: Mapping[Pair, Suggested],
    sizes: Mapping[uuid.UUID, int],
) -> Group:
    pairs = sorted(
        (by_pair[pair] for pair in _pairs_in(members)), key=lambda one: (-one.certainty, one.pair)
    )
    entities = sorted(members, key=lambda one: (-sizes.get(one, 0), one))
    moved = sum(sizes.get(one, 0) for one in entities[1:])
    return Group(
        key=key_of(entities),
        entities=tuple(entities),
        pairs=tuple(pairs),
        certainty=pairs[-1].certainty,
        effect=math.log(2 + moved),
    )
