"""From reasons to one certainty.

Reasons are weighed as Fellegi and Sunter do (A theory for record linkage, 1969): each adds to the
logarithm of the odds that two entities are one. The weights were set by eye on names of 708
encyclopaedia articles and on the demo; ``PRIOR`` says how seldom a pair that is worth comparing is
one thing.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from ingestion.stages.suggest import company, naming, opposing
from ingestion.stages.suggest.naming import Common
from ingestion.stages.suggest.things import Found, Reason, Thing
from ingestion.suggestions.decided import Pair, pair_of

PRIOR: Final = -2.6
SUGGESTED: Final = 0.4
"""From here on a person is asked."""
POSSIBLE: Final = 0.13
"""What reaches this by names and neighbours may be suggested for what its passages say."""
MOST_OF_ONE: Final = 6
"""Suggestions for one entity: the most certain ones."""
SAME_TYPE: Final = 0.4


def weighed(
    pairs: Iterable[tuple[Thing, Thing]],
    things: Mapping[uuid.UUID, Thing],
    common: Common,
    called: Mapping[Pair, Reason],
) -> list[Found]:
    """The pairs that may be one by their names and neighbours, the most certain first."""
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
    """What is worth asking a person, few for each entity, the most certain first."""
    weighed_anew = [
        _with(one, company.likeness(cosines[one.pair])) if one.pair in cosines else one
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
    """What speaks for and against, the weightiest first; empty where no name speaks for it."""
    name = _by_names(one, other, common)
    if not name and not (called and called.is_of_names):
        return ()
    against = [opposing.counted(one, other), opposing.opposed(one, other)]
    if any(reason and reason.weight == opposing.NEVER for reason in against):
        return ()
    # Initials are introduced beside the full name, and say little of what they are.
    is_short = bool(name and name.kind == naming.ACRONYM)
    rest = [
        None if is_short else opposing.typed(one, other),
        None if is_short or called else opposing.together(one, other),
        company.neighbours(one, other, things),
        _same_type(one, other),
    ]
    return _sorted(reason for reason in (name, called, *rest, *against) if reason)


def _by_names(one: Thing, other: Thing, common: Common) -> Reason | None:
    """The weightiest of what the names say: spelling, initials and aliases overlap."""
    found = [reason for look in naming.BY_NAME if (reason := look(one, other, common))]
    return max(found, key=lambda reason: reason.weight, default=None)


def _same_type(one: Thing, other: Thing) -> Reason | None:
    return Reason("types", SAME_TYPE) if one.type == other.type else None


def certainty_of(reasons: Iterable[Reason]) -> float:
    """0 to 1.

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
