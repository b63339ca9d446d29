"""Weigh names and surroundings of two entities into the certainty that they are one.

Reasons are weighed as by Fellegi and Sunter (A theory for record linkage, 1969): each adds to the
log odds that two entities are one. The weights were set by eye on names of 708 encyclopaedia
articles and on the demo; ``PRIOR`` says how rarely a pair worth comparing is one thing. The
surroundings are shared neighbours in the graph, similar passages, and sentences that call one by
the other's name.
"""

from __future__ import annotations

import math
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ingestion.resolution.keys import EntityPair, pair_of
from ingestion.stages.suggest import naming
from ingestion.stages.suggest.features import (
    JUNIORS,
    OPPOSED,
    UNTYPED,
    Candidate,
    Reason,
    Suggestion,
)
from ingestion.stages.suggest.naming import Common

PRIOR: Final = -2.6
SUGGESTED: Final = 0.4
"""The certainty from which a person is asked."""
POSSIBLE: Final = 0.13
"""Pairs that reach this by names and neighbours may be suggested on account of their passages."""
MOST_OF_ONE: Final = 6
"""Suggestions per entity: the most certain ones."""
SAME_TYPE: Final = 0.4


def weighed(
    pairs: Iterable[tuple[Candidate, Candidate]],
    entities: Mapping[uuid.UUID, Candidate],
    common: Common,
    stated: Mapping[EntityPair, Reason],
) -> list[Suggestion]:
    """The pairs that may be one by names and neighbours, the most certain first."""
    found = {}
    named = (pair for pair in pairs if naming.may_be_one(*pair))
    in_texts = (
        (entities[one], entities[other])
        for one, other in stated
        if one in entities and other in entities
    )
    for one, other in chain(named, in_texts):
        pair = pair_of(one.id, other.id)
        reasons = reasons_for(one, other, entities, common, stated.get(pair))
        certainty = certainty_of(reasons)
        if certainty >= POSSIBLE:
            found[pair] = Suggestion(pair, certainty, reasons)
    return _in_order(found.values())


def with_passages(
    found: Iterable[Suggestion], cosines: Mapping[EntityPair, float]
) -> list[Suggestion]:
    """The pairs worth asking a person about, few per entity, the most certain first."""
    weighed_again = []
    for one in found:
        if one.pair in cosines:
            reasons = _sorted((*one.reasons, similar_passages(cosines[one.pair])))
            one = Suggestion(one.pair, certainty_of(reasons), reasons)
        if one.certainty >= SUGGESTED:
            weighed_again.append(one)
    return best_of_each(weighed_again)


def best_of_each(found: Iterable[Suggestion]) -> list[Suggestion]:
    """The most certain pairs of each entity, the most certain first."""
    named = Counter[uuid.UUID]()
    best = []
    for one in _in_order(found):
        if all(named[end] < MOST_OF_ONE for end in one.pair):
            named.update(one.pair)
            best.append(one)
    return best


def reasons_for(
    one: Candidate,
    other: Candidate,
    entities: Mapping[uuid.UUID, Candidate],
    common: Common,
    stated: Reason | None = None,
) -> tuple[Reason, ...]:
    """Reasons for and against, the weightiest first; empty if no name supports the pair."""
    name = _by_names(one, other, common)
    if not name and not (stated and stated.is_of_names):
        return ()
    against = [counted(one, other), opposed(one, other)]
    if any(reason and reason.weight == NEVER for reason in against):
        return ()
    # Initials are introduced next to the full name, and say little about type.
    is_short = bool(name and name.kind == naming.ACRONYM)
    rest = [
        None if is_short else typed(one, other),
        None if is_short or stated else together(one, other),
        shared_neighbours(one, other, entities),
        Reason("types", SAME_TYPE) if one.type == other.type else None,
    ]
    return _sorted(reason for reason in (name, stated, *rest, *against) if reason)


def _by_names(one: Candidate, other: Candidate, common: Common) -> Reason | None:
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


def _in_order(found: Iterable[Suggestion]) -> list[Suggestion]:
    return sorted(found, key=lambda one: (-one.certainty, one.pair))


# --- vetoes and doubts ----------------------------------------------------------------------------
NEVER = float("-inf")
ONE_IS_COUNTED = -3.0
OTHER_TYPE = -1.0
GROUP_AND_OTHER = -4.0
SENTENCE = -1.2

# A nationality or a language is not the country.
PEOPLES = frozenset({"group", "language"})


def counted(one: Candidate, other: Candidate) -> Reason | None:
    """Henry VII is not Henry VIII, nor is 2024 2025; Henry may be either."""
    left, right = one.numbering, other.numbering
    if left == right:
        return None
    with_digits = [set(side) for side in (left, right) if any(map(str.isdigit, "".join(side)))]
    if (left and right) or any(side - JUNIORS for side in with_digits):
        return Reason("counted", NEVER)
    return Reason("counted", ONE_IS_COUNTED)


def opposed(one: Candidate, other: Candidate) -> Reason | None:
    """The northern one is not the southern one."""
    left, right = set(one.words), set(other.words)
    rows = {OPPOSED[word] for word in left - right if word in OPPOSED}
    if any(OPPOSED.get(word) in rows for word in right - left):
        return Reason("opposed", NEVER)
    return None


def typed(one: Candidate, other: Candidate) -> Reason | None:
    """Types that do not go together. Small models often err, so this is no proof."""
    if one.type == other.type or one.type in UNTYPED or other.type in UNTYPED:
        return None
    if one.type in PEOPLES or other.type in PEOPLES:
        return Reason("types", GROUP_AND_OTHER)
    return Reason("types", OTHER_TYPE, f"their types differ: {one.type} and {other.type}")


def together(one: Candidate, other: Candidate) -> Reason | None:
    """A sentence that names both seldom means one thing under two names."""
    if other.id in one.neighbours or one.id in other.neighbours:
        return Reason("together", SENTENCE, "but a sentence names both")
    return None


# --- surroundings ---------------------------------------------------------------------------------
MOST_BY_NEIGHBOURS: Final = 2.0
MOST_BY_PASSAGES: Final = 1.5
UNLIKE: Final = 0.2
STEEP: Final = 4.0
SAID: Final = 0.6
"""A reason of at least this weight is worth showing."""
_ALSO: Final = "also|better|otherwise|formerly|previously|originally|commonly|now|sometimes|once"
_CALLED: Final = r"known|called|named|nicknamed|abbreviated|alias|aka|a\.k\.a\.|d/b/a"
CALLS: Final = re.compile(
    rf"""\s*,?\s*\(?\s*(?:who\s|which\s)?(?:(?:is|was|are|were)\s)?(?P<also>(?:{_ALSO})\s)?\s*
         (?P<called>{_CALLED})\b(?:\s+(?:as|to|by|simply|the))*\s*["'“‘]?\s*""",
    re.VERBOSE | re.IGNORECASE,
)
PLAINLY: Final = frozenset({"called", "named"})
IS: Final = re.compile(r"^\s*(?:[,(]|.*\b(?:is|was|are|were)\s)", re.IGNORECASE)
"""*X, called Y* and *X is called Y* speak of X; *in X called Y* mostly does not."""
BORN: Final = re.compile(r"\s*,?\s*\(?\s*(?:born|née|nee)\s*", re.IGNORECASE)
OR: Final = re.compile(r"\s*,\s*or\s+[\"'“‘]?", re.IGNORECASE)
BRACKET: Final = re.compile(r"\s*\(\s*[\"'“‘]?")
LONGEST_GAP: Final = 40
"""Characters between two names of which one may be said to be the other's."""


@dataclass(frozen=True, slots=True)
class AdjacentNames:
    """Two names that follow each other, and the text between them and after the second.

    ``is_full``: the second has several words, unlike a maiden name alone.
    """

    first: uuid.UUID
    second: uuid.UUID
    between: str
    after: str = ""
    is_full: bool = True


def shared_neighbours(
    one: Candidate, other: Candidate, entities: Mapping[uuid.UUID, Candidate]
) -> Reason | None:
    """Shared neighbours; one that everything is linked to says little."""
    shared = (one.neighbours & other.neighbours) - {one.id, other.id}
    if not shared:
        return None
    weight = sum(1 / math.log2(2 + entities[near].degree) for near in shared if near in entities)
    words = f"share {len(shared)} {'neighbour' if len(shared) == 1 else 'neighbours'}"
    return Reason("neighbours", min(MOST_BY_NEIGHBOURS, weight), words)


def stated_names(adjacent: Iterable[AdjacentNames]) -> dict[EntityPair, Reason]:
    """Pairs for which a sentence says that one is the other's name."""
    found: dict[EntityPair, Reason] = {}
    for names in adjacent:
        reason = _stated_name(names)
        pair = pair_of(names.first, names.second)
        if reason and (pair not in found or found[pair].weight < reason.weight):
            found[pair] = reason
    return found


def _stated_name(names: AdjacentNames) -> Reason | None:
    quote = "… " + " ".join(names.between.split()).strip(" ,(\"“‘'") + " …"
    if calls := CALLS.fullmatch(names.between):
        is_sure = calls["also"] or calls["called"].lower() not in PLAINLY
        weight = 4.5 if is_sure else 2.8 if IS.match(names.between) else 1.4
        return Reason("called", weight, f"a document says “{quote}”", is_of_names=True)
    if names.is_full and BORN.fullmatch(names.between):
        return Reason("called", 3.6, f"a document says “{quote}”", is_of_names=True)
    closes = names.after.lstrip(" \"'”’").startswith(")")
    if BRACKET.fullmatch(names.between) and closes:
        return Reason("bracket", 1.5, "a document has one in brackets after the other")
    if OR.fullmatch(names.between):
        return Reason("called", 2.0, "a document says “or” between them", is_of_names=False)
    return None


def similar_passages(cosine: float) -> Reason:
    """How similar the passages that name either one are.

    ``cosine`` is between their mean vectors, relative to the mean of the workspace: two unrelated
    entities have 0, whatever the embedder finds alike in all texts. Checked by eye in 708 articles:
    31 of 37 pairs that seemed one thing had 0.2 or more, 15 of 22 others had less.
    """
    weight = max(-1.0, min(MOST_BY_PASSAGES, (cosine - UNLIKE) * STEEP))
    return Reason(
        "passages", weight, "their passages are about the same subject" if weight > SAID else ""
    )
