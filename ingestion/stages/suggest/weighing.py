"""Weigh reasons into one certainty.

Reasons are weighed as by Fellegi and Sunter (A theory for record linkage, 1969): each adds to the
log odds that two entities are one. The weights were set by eye on names of 708 encyclopaedia
articles and on the demo; ``PRIOR`` says how rarely a pair worth comparing is one thing.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from ingestion.resolution.pair_decisions import Pair, pair_of
from ingestion.stages.suggest import naming, neighbours
from ingestion.stages.suggest.features import UNTYPED, Found, Reason, Thing
from ingestion.stages.suggest.naming import Common
from ingestion.stages.suggest.words import JUNIORS, OPPOSED

NEVER = float("-inf")
ONE_IS_COUNTED = -3.0
OTHER_TYPE = -1.0
GROUP_AND_OTHER = -4.0
SENTENCE = -1.2
# A nationality or a language is not the country.
PEOPLES = frozenset({"group", "language"})


def counted(one: Thing, other: Thing) -> Reason | None:
    """Henry VII is not Henry VIII, nor is 2024 2025; Henry may be either."""
    left, right = one.counting, other.counting
    if left == right:
        return None
    with_digits = [set(side) for side in (left, right) if any(map(str.isdigit, "".join(side)))]
    if (left and right) or any(side - JUNIORS for side in with_digits):
        return Reason("counted", NEVER)
    return Reason("counted", ONE_IS_COUNTED)


def opposed(one: Thing, other: Thing) -> Reason | None:
    """The northern one is not the southern one."""
    left, right = set(one.words), set(other.words)
    rows = {OPPOSED[word] for word in left - right if word in OPPOSED}
    if any(OPPOSED.get(word) in rows for word in right - left):
        return Reason("opposed", NEVER)
    return None


def typed(one: Thing, other: Thing) -> Reason | None:
    """Types that do not go together. Small models often err, so this is no proof."""
    if one.type == other.type or one.type in UNTYPED or other.type in UNTYPED:
        return None
    if one.type in PEOPLES or other.type in PEOPLES:
        return Reason("types", GROUP_AND_OTHER)
    return Reason("types", OTHER_TYPE, f"their types differ: {one.type} and {other.type}")


def together(one: Thing, other: Thing) -> Reason | None:
    """A sentence that names both seldom means one thing under two names."""
    if other.id in one.neighbours or one.id in other.neighbours:
        return Reason("together", SENTENCE, "but a sentence names both")
    return None


PRIOR: Final = -2.6
SUGGESTED: Final = 0.4
"""The certainty from which a person is asked."""
POSSIBLE: Final = 0.13
"""Pairs that reach this by names and neighbours may be suggested on account of their passages."""
MOST_OF_ONE: Final = 6
"""Suggestions per entity: the most certain ones."""
SAME_TYPE: Final = 0.4


def weighed(
    pairs: Iterable[tuple[Thing, Thing]],
    things: Mapping[uuid.UUID, Thing],
    common: Common,
    called: Mapping[Pair, Reason],
) -> list[Found]:
    """The pairs that may be one by names and neighbours, the most certain first."""
    found = {}
    by_texts = [(things[one], things[other]) for one, other in called]
    for one, other in chain(pairs, by_texts):
        pair = pair_of(one.id, other.id)
        reasons = reasons_for(one, other, things, common, called.get(pair) if called else None)
        certainty = certainty_of(reasons)
        if certainty >= POSSIBLE:
            found[pair] = Found(pair, certainty, reasons)
    return _in_order(found.values())


def with_likeness(found: Iterable[Found], cosines: Mapping[Pair, float]) -> list[Found]:
    """The pairs worth asking a person about, few per entity, the most certain first."""
    weighed_anew = [
        _with(one, neighbours.likeness(cosines[one.pair])) if one.pair in cosines else one
        for one in found
    ]
    return _best(_in_order(one for one in weighed_anew if one.certainty >= SUGGESTED))


def _with(found: Found, reason: Reason) -> Found:
    reasons = (*found.reasons, reason)
    return Found(found.pair, certainty_of(reasons), _sorted(reasons))


def reasons_for(
    one: Thing,
    other: Thing,
    things: Mapping[uuid.UUID, Thing],
    common: Common,
    called: Reason | None = None,
) -> tuple[Reason, ...]:
    """Reasons for and against, the weightiest first; empty if no name supports the pair."""
    name = _by_names(one, other, common)
    if not name and not (called and called.is_of_names):
        return ()
    against = [counted(one, other), opposed(one, other)]
    if any(reason and reason.weight == NEVER for reason in against):
        return ()
    # Initials are introduced next to the full name, and say little about type.
    is_short = bool(name and name.kind == naming.ACRONYM)
    rest = [
        None if is_short else typed(one, other),
        None if is_short or called else together(one, other),
        neighbours.neighbours(one, other, things),
        Reason("types", SAME_TYPE) if one.type == other.type else None,
    ]
    return _sorted(reason for reason in (name, called, *rest, *against) if reason)


def _by_names(one: Thing, other: Thing, common: Common) -> Reason | None:
    """The weightiest name reason: spelling, initials and aliases overlap."""
    found = [reason for look in naming.BY_NAME if (reason := look(one, other, common))]
    return max(found, key=lambda reason: reason.weight, default=None)


def certainty_of(reasons: Iterable[Reason]) -> float:
    """Certainty from 0 to 1.

    >>> certainty_of([Reason("name", 5.2), Reason("types", -2.6)])
    0.5
    """
    weights = [reason.weight for reason in reasons]
    return 1 / (1 + math.exp(-(PRIOR + sum(weights)))) if weights else 0.0


def _sorted(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    return tuple(sorted(reasons, key=lambda reason: -reason.weight))


def _in_order(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda one: (-one.certainty, one.pair))


def _best(found: Iterable[Found]) -> list[Found]:
    counted = Counter[uuid.UUID]()
    kept = []
    for one in found:
        if all(counted[end] < MOST_OF_ONE for end in one.pair):
            counted.update(one.pair)
            kept.append(one)
    return kept
