"""The queue of merge suggestions: pairs of entities that may be one, grouped into cases.

A case has two to five entities for review side by side. It never chains: each of its entities was
suggested with each of the others, and no two of them were decided to differ. A pair that fits into
no larger case is its own case. Cases are ordered by certainty times effect; those that a user put
off follow the others.

All queries read in the workspace's scope. Decisions count as they are now, whenever suggestions
were last computed.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, product
from typing import Final

from django.db.models import F
from django.utils import timezone

from ingestion.models import (
    EventKind,
    HistoryEvent,
    MergeSuggestion,
    ResolutionDecision,
    SuggestionSkip,
    Verdict,
)
from ingestion.resolution.decisions import decided_pairs
from ingestion.resolution.keys import EntityPair, pair_of
from ingestion.suggestions.filtering import CaseFilter, matching
from ingestion.suggestions.sides import Side, sides_of, sizes_of
from kb_project.errors import InputError, NotFoundError
from workspaces.models import User, Workspace

PAGE: Final = 10
LARGEST_PAGE: Final = 50
MOST_LOADED: Final = 5000
"""The weightiest suggestions, from which cases are made; no one works through more in a day."""
MOST_REASONS: Final = 4
MOST_SHOWN: Final = 999
MOST: Final = 5
"""Entities in one case: as many as fit side by side."""
CASE: Final = uuid.UUID("3f0f6a52-6c0e-5d43-9a53-0d9d6f6a7b11")
DECISIONS: Final = (EventKind.ENTITIES_MERGED, EventKind.NOT_THE_SAME)


@dataclass(frozen=True, slots=True)
class SuggestedPair:
    """Two entities that may be one, and the certainty of it (0 to 1).

    ``reasons`` are in words, the weightiest first.
    """

    pair: EntityPair
    certainty: float
    reasons: tuple[str, ...] = ()

    @property
    def left(self) -> uuid.UUID:
        return self.pair[0]

    @property
    def right(self) -> uuid.UUID:
        return self.pair[1]


@dataclass(frozen=True, slots=True)
class Group:
    """The entities of a case, the most mentioned first, and the pairs among them, most certain
    first.

    ``certainty`` is that of the least certain pair. ``effect`` is the logarithm of the mentions and
    facts that move when all are merged into the largest.
    """

    key: uuid.UUID
    entities: tuple[uuid.UUID, ...]
    pairs: tuple[SuggestedPair, ...]
    certainty: float
    effect: float

    @property
    def weight(self) -> float:
        """The sort key of the queue."""
        return round(self.certainty * self.effect, 6)


@dataclass(frozen=True, slots=True)
class Case:
    """Two to five entities that may be one. ``kept`` is the one a merge should keep.

    ``certainty`` is that of the least certain pair, ``effect`` grows with what would move.
    """

    key: uuid.UUID
    entities: tuple[Side, ...]
    pairs: tuple[SuggestedPair, ...]
    certainty: float
    effect: float
    kept: uuid.UUID
    is_skipped: bool

    @property
    def percent(self) -> int:
        return round(self.certainty * 100)

    @property
    def sentence(self) -> str:
        """The reasons: Same name after removing Inc.; share 4 neighbours."""
        reasons = dict.fromkeys(reason for pair in self.pairs for reason in pair.reasons)
        line = "; ".join(list(reasons)[:MOST_REASONS])
        return line[:1].upper() + line[1:]

    @property
    def expected(self) -> dict[uuid.UUID, int]:
        """The revisions a decision on this case is based on, for ``ChangeContext.expected``."""
        return {side.id: side.revision for side in self.entities}


@dataclass(frozen=True, slots=True)
class Counts:
    """``open`` counts cases, ``skipped`` those of them this user put off.

    ``decided_today`` counts everyone's active merges and not-the-same decisions since midnight.
    """

    open: int
    skipped: int
    decided_today: int


@dataclass(frozen=True, slots=True)
class Queue:
    cases: tuple[Case, ...]
    next: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class Refused:
    """Two entities that were suggested again after it was decided that they are not the same."""

    suggested: SuggestedPair
    left: Side
    right: Side
    decision: ResolutionDecision

    @property
    def said_by(self) -> str:
        return self.decision.model or str(self.decision.user or "A former member")

    @property
    def sentence(self) -> str:
        day = timezone.localtime(self.decision.created_at)
        return f"{self.said_by} marked these as not the same on {day.day} {day:%B %Y}."


def case_queue(
    *,
    workspace: Workspace,
    user: User | None = None,
    limit: int = PAGE,
    after: str = "",
    wanted: CaseFilter | None = None,
) -> Queue:
    """Return a page of the queue, of cases that match; its counts are of these.

    Raises InputError for an ``after`` that no page returned.
    """
    groups = open_groups(workspace)
    if wanted:
        groups = matching(workspace, groups, wanted)
    skipped = _skipped(workspace, user)
    ranked = {_rank(group, skipped): group for group in groups}
    first = _unpacked(after) if after else None
    ranks = [rank for rank in sorted(ranked) if first is None or rank > first]
    shown = ranks[:limit]
    return Queue(
        cases=_cases(workspace, [ranked[rank] for rank in shown], skipped),
        next="~".join(map(str, shown[-1])) if len(ranks) > limit else "",
        counts=_counts(workspace, groups, skipped),
    )


def case_get(*, workspace: Workspace, key: uuid.UUID, user: User | None = None) -> Case:
    """Return an open case. Raises NotFoundError if it was decided or is no longer suggested."""
    found = [group for group in open_groups(workspace) if group.key == key]
    if not found:
        raise NotFoundError(
            "This case is no longer open.", next_step="Continue with the next one in the queue."
        )
    return _cases(workspace, found, _skipped(workspace, user))[0]


def case_counts(*, workspace: Workspace, user: User | None = None) -> Counts:
    return _counts(workspace, open_groups(workspace), _skipped(workspace, user))


def case_refused(*, workspace: Workspace, limit: int = 20) -> tuple[Refused, ...]:
    """Return pairs that were suggested again after someone decided that they are not the same, the
    most certain first.
    """
    decided = decided_pairs(workspace.pk)
    apart = {pair: one for pair, one in decided.items() if one.verdict == Verdict.DIFFERENT}
    suggested = _suggested(workspace, among=apart)
    found = [one for one in suggested if one.pair in apart]
    shown = sorted(found, key=lambda one: (-one.certainty, one.pair))[:limit]
    sides = sides_of(workspace, {end for one in shown for end in one.pair})
    return tuple(Refused(one, sides[one.left], sides[one.right], apart[one.pair]) for one in shown)


def open_groups(workspace: Workspace) -> list[Group]:
    """Return the open cases, weightiest first."""
    decided = decided_pairs(workspace.pk)
    suggested = _suggested(workspace)
    sizes = sizes_of(workspace, {end for one in suggested for end in one.pair})
    there = [one for one in suggested if all(end in sizes for end in one.pair)]
    return grouped(there, sizes, decided.keys())


def _suggested(
    workspace: Workspace, among: Collection[EntityPair] | None = None
) -> list[SuggestedPair]:
    """Return all suggestions, or those whose left entity is that of one of the pairs."""
    found = MergeSuggestion.objects.in_workspace(workspace)
    if among is not None:
        found = found.filter(left__in={left for left, _ in among})
    rows = (
        found.annotate(weight=F("score") * F("effect"))
        .order_by("-weight", "left_id", "right_id")
        .values_list("left_id", "right_id", "score", "reasons", "reason")[:MOST_LOADED]
    )
    return [
        SuggestedPair(
            (left, right),
            score,
            tuple(one["words"] for one in reasons if one["words"]) or (reason,),
        )
        for left, right, score, reasons, reason in rows
    ]


# --- the order ------------------------------------------------------------------------------------
Rank = tuple[float, float, str]
"""When it was put off (0: never), its negative weight, its key."""


def _rank(group: Group, skipped: Mapping[uuid.UUID, datetime]) -> Rank:
    at = skipped.get(group.key)
    return (at.timestamp() if at else 0.0, -group.weight, str(group.key))


def _unpacked(after: str) -> Rank:
    try:
        at, weight, key = after.split("~")
        return float(at), float(weight), str(uuid.UUID(key))
    except ValueError as error:
        raise InputError(
            "The position in the queue is invalid.",
            code="no_such_page",
            next_step="Start at the front of the queue.",
        ) from error


def _skipped(workspace: Workspace, user: User | None) -> dict[uuid.UUID, datetime]:
    if user is None:
        return {}
    rows = SuggestionSkip.objects.in_workspace(workspace).filter(user=user)
    return dict(rows.values_list("case", "skipped_at"))


def _counts(
    workspace: Workspace, groups: Sequence[Group], skipped: Mapping[uuid.UUID, datetime]
) -> Counts:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    decided = HistoryEvent.objects.in_workspace(workspace).filter(
        kind__in=DECISIONS, created_at__gte=midnight, undone_at=None
    )
    return Counts(
        open=len(groups),
        skipped=sum(group.key in skipped for group in groups),
        decided_today=decided.count(),
    )


def _cases(
    workspace: Workspace, groups: Sequence[Group], skipped: Collection[uuid.UUID]
) -> tuple[Case, ...]:
    sides = sides_of(workspace, {one for group in groups for one in group.entities})
    cases = []
    for group in groups:
        entities = tuple(sides[one] for one in group.entities)
        case = Case(
            key=group.key,
            entities=entities,
            pairs=group.pairs,
            certainty=group.certainty,
            effect=group.effect,
            kept=min(entities, key=Side.worth_keeping).id,
            is_skipped=group.key in skipped,
        )
        cases.append(case)
    return tuple(cases)


# --- grouping -------------------------------------------------------------------------------------
def key_of(entities: Iterable[uuid.UUID]) -> uuid.UUID:
    """Return a key that depends only on the set of entities."""
    return uuid.uuid5(CASE, " ".join(sorted(str(one) for one in entities)))


def grouped(
    suggested: Iterable[SuggestedPair],
    sizes: Mapping[uuid.UUID, int],
    apart: Collection[EntityPair] = frozenset(),
) -> list[Group]:
    """Return cases, ordered by certainty times effect.

    ``sizes`` are mentions and facts of each entity. ``apart`` are pairs that were decided to
    differ.
    """
    asked = [one for one in suggested if one.pair not in apart]
    by_pair = {one.pair: one for one in asked}
    groups = _joined(sorted(asked, key=lambda one: (-one.certainty, one.pair)), by_pair.keys())
    inside = {pair for group in groups for pair in combinations(sorted(group), 2)}
    alone = [set(pair) for pair in by_pair if pair not in inside]
    cases = [_group(members, by_pair, sizes) for members in (*groups, *alone)]
    return sorted(cases, key=lambda case: (-case.weight, case.key))


def _joined(asked: Sequence[SuggestedPair], pairs: Collection[EntityPair]) -> list[set[uuid.UUID]]:
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


def _group(
    members: Collection[uuid.UUID],
    by_pair: Mapping[EntityPair, SuggestedPair],
    sizes: Mapping[uuid.UUID, int],
) -> Group:
    pairs = sorted(
        (by_pair[pair] for pair in combinations(sorted(members), 2)),
        key=lambda one: (-one.certainty, one.pair),
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
