"""Compare the surroundings of two entities: shared neighbours in the graph, similar passages,
and sentences that call one by the other's name.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ingestion.resolution.pair_decisions import Pair, pair_of
from ingestion.stages.suggest.features import Reason, Thing

MOST_BY_NEIGHBOURS: Final = 2.0
MOST_BY_LIKENESS: Final = 1.5
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
BORN: Final = re.compile(r"\s*,?\s*\(?\s*(?:born|née|nee)\s*", re.IGNORECASE)
OR: Final = re.compile(r"\s*,\s*or\s+[\"'“‘]?", re.IGNORECASE)
BRACKET: Final = re.compile(r"\s*\(\s*[\"'“‘]?")
LONGEST_GAP: Final = 40
"""Characters between two names of which one may be said to be the other's."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Two names that follow each other, and the text between them and after the second.

    ``is_full``: the second has several words, unlike a maiden name alone.
    """

    first: uuid.UUID
    second: uuid.UUID
    between: str
    after: str = ""
    is_full: bool = True


def neighbours(one: Thing, other: Thing, things: Mapping[uuid.UUID, Thing]) -> Reason | None:
    """Shared neighbours; one that everything is linked to says little."""
    shared = (one.neighbours & other.neighbours) - {one.id, other.id}
    if not shared:
        return None
    weight = sum(1 / math.log2(2 + things[near].degree) for near in shared if near in things)
    number = len(shared)
    noun = "neighbour" if number == 1 else "neighbours"
    return Reason("neighbours", min(MOST_BY_NEIGHBOURS, weight), f"share {number} {noun}")


def calling(besides: Iterable[Beside]) -> dict[Pair, Reason]:
    """Pairs for which a sentence says that one is the other's name."""
    found: dict[Pair, Reason] = {}
    for beside in besides:
        reason = _calling(beside)
        pair = pair_of(beside.first, beside.second)
        if reason and (pair not in found or found[pair].weight < reason.weight):
            found[pair] = reason
    return found


def _calling(beside: Beside) -> Reason | None:
    said = _shown(beside.between)
    if calls := CALLS.fullmatch(beside.between):
        is_sure = calls["also"] or calls["called"].lower() not in PLAINLY
        weight = 4.5 if is_sure else 3.6
        return Reason("called", weight, f"a document says “{said}”", is_of_names=True)
    if beside.is_full and BORN.fullmatch(beside.between):
        return Reason("called", 3.6, f"a document says “{said}”", is_of_names=True)
    closes = beside.after.lstrip(" \"'”’").startswith(")")
    if BRACKET.fullmatch(beside.between) and closes:
        return Reason("bracket", 1.5, "a document has one in brackets after the other")
    if OR.fullmatch(beside.between):
        return Reason("called", 2.0, "a document says “or” between them", is_of_names=False)
    return None


def _shown(between: str) -> str:
    return "… " + " ".join(between.split()).strip(" ,(\"“‘'") + " …"


def likeness(cosine: float) -> Reason:
    """How similar the passages that name either one are.

    ``cosine`` is between their mean vectors, relative to the mean of the workspace: two unrelated
    entities have 0, whatever the embedder finds alike in all texts. Checked by eye in 708 articles:
    31 of 37 pairs that seemed one thing had 0.2 or more, 15 of 22 others had less.
    """
    weight = max(-1.0, min(MOST_BY_LIKENESS, (cosine - UNLIKE) * STEEP))
    return Reason(
        "passages", weight, "their passages are about the same subject" if weight > SAID else ""
    )
