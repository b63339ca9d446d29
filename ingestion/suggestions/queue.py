"""The queue of merge suggestions, ready for display; plain frozen dataclasses throughout.

``case_queue(workspace=, user=, limit=, after=) -> Queue``: the cases to decide, ordered by
certainty times effect; cases this user put off follow the others. ``queue.next`` is the ``after``
of the next page ('' at the end); it stays valid when cases are decided meanwhile.

``case_get(workspace=, key=, user=) -> Case``, ``case_counts(workspace=, user=) -> Counts`` and
``case_refused(workspace=, limit=) -> tuple[Refused, …]``: pairs that were suggested again after
someone decided that they are not the same, to be shown greyed with ``refused.sentence``.

All read in the workspace's scope (every gate of ``workspaces.access`` opens it). Decisions count as
they are now, whenever suggestions were last computed.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import F
from django.utils import timezone

from ingestion.models import EventKind, HistoryEvent, MergeSuggestion, SuggestionSkip, Verdict
from ingestion.resolution.pair_decisions import Decided, Pair, decided_pairs
from ingestion.suggestions.cases import Group, Suggested, grouped
from ingestion.suggestions.sides import Side, sides_of, sizes_of
from kb_project.errors import InputError, NotFoundError
from workspaces.models import User, Workspace

PAGE: Final = 10
LARGEST_PAGE: Final = 50
MOST_LOADED: Final = 5000
"""The weightiest suggestions, from which cases are made; no one works through more in a day."""
MOST_REASONS: Final = 4
MOST_SHOWN: Final = 999


@dataclass(frozen=True, slots=True)
class CasePair:
    """Two entities of a case, the certainty that they are one (0 to 1), and the reasons
    in words.
    """

    left: uuid.UUID
    right: uuid.UUID
    certainty: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Two to five entities that may be one. ``kept`` is the one a merge should keep.

    ``certainty`` is that of the least certain pair, ``effect`` grows with what would move.
    """

    key: uuid.UUID
    entities: tuple[Side, ...]
    pairs: tuple[CasePair, ...]
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
        said = dict.fromkeys(reason for pair in self.pairs for reason in pair.reasons)
        line = "; ".join(list(said)[:MOST_REASONS])
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

    left: Side
    right: Side
    certainty: float
    reasons: tuple[str, ...]
    said_by: str
    said_at: datetime
    decision_id: uuid.UUID | None
    event_id: uuid.UUID | None

    @property
    def sentence(self) -> str:
        day = timezone.localtime(self.said_at)
        return f"{self.said_by} marked these as not the same on {day.day} {day:%B %Y}."


def case_queue(
    *, workspace: Workspace, user: User | None = None, limit: int = PAGE, after: str = ""
) -> Queue:
    """Return a page of the queue. Raises InputError for an ``after`` that no page returned."""
    groups = open_groups(workspace)
    skipped = _skipped(workspace, user)
    ranked = {_rank(group, skipped): group for group in groups}
    first = _unpacked(after) if after else None
    ranks = [rank for rank in sorted(ranked) if first is None or rank > first]
    shown = ranks[:limit]
    return Queue(
        cases=_cases(workspace, [ranked[rank] for rank in shown], skipped),
        next=_packed(shown[-1]) if len(ranks) > limit else "",
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
    """Return the refused pairs, most certain first."""
    decided = decided_pairs(workspace.pk)
    apart = {pair: said for pair, said in decided.items() if said.verdict == Verdict.DIFFERENT}
    suggested = _suggested(workspace, among=apart)
    rows = [(one, apart[one.pair]) for one in suggested if one.pair in apart]
    rows = sorted(rows, key=lambda row: (-row[0].certainty, row[0].pair))[:limit]
    sides = sides_of(workspace, {end for one, _ in rows for end in one.pair})
    people = User.objects.in_bulk({said.user_id for _, said in rows if said.user_id})
    return tuple(_refused(one, said, sides, people) for one, said in rows)


def open_groups(workspace: Workspace) -> list[Group]:
    """Return the open cases, weightiest first."""
    decided = decided_pairs(workspace.pk)
    suggested = _suggested(workspace)
    sizes = sizes_of(workspace, {end for one in suggested for end in one.pair})
    there = [one for one in suggested if all(end in sizes for end in one.pair)]
    return grouped(there, sizes, decided.keys())


def _suggested(workspace: Workspace, among: Collection[Pair] | None = None) -> list[Suggested]:
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
        Suggested((left, right), score, _said(reasons) or (reason,))
        for left, right, score, reasons, reason in rows
    ]


def _said(reasons: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(reason["words"] for reason in reasons if reason["words"])


# --- the order ------------------------------------------------------------------------------------
Rank = tuple[float, float, str]
"""When it was put off (0: never), its negative weight, its key."""


def _rank(group: Group, skipped: Mapping[uuid.UUID, datetime]) -> Rank:
    at = skipped.get(group.key)
    return (at.timestamp() if at else 0.0, -group.weight, str(group.key))


def _packed(rank: Rank) -> str:
    return "~".join(str(part) for part in rank)


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
        kind__in=(EventKind.ENTITIES_MERGED, EventKind.NOT_THE_SAME),
        created_at__gte=midnight,
        undone_at=None,
    )
    return Counts(
        open=len(groups),
        skipped=sum(group.key in skipped for group in groups),
        decided_today=decided.count(),
    )


# --- display --------------------------------------------------------------------------------------
def _cases(
    workspace: Workspace, groups: Sequence[Group], skipped: Mapping[uuid.UUID, datetime]
) -> tuple[Case, ...]:
    sides = sides_of(workspace, {one for group in groups for one in group.entities})
    return tuple(_case(group, sides, is_skipped=group.key in skipped) for group in groups)


def _case(group: Group, sides: Mapping[uuid.UUID, Side], *, is_skipped: bool) -> Case:
    entities = tuple(sides[one] for one in group.entities)
    return Case(
        key=group.key,
        entities=entities,
        pairs=tuple(CasePair(*one.pair, one.certainty, one.reasons) for one in group.pairs),
        certainty=group.certainty,
        effect=group.effect,
        kept=min(entities, key=Side.worth_keeping).id,
        is_skipped=is_skipped,
    )


def _refused(
    one: Suggested,
    said: Decided,
    sides: Mapping[uuid.UUID, Side],
    people: Mapping[int, User],
) -> Refused:
    person = people.get(said.user_id or 0)
    said_by = said.model or (str(person) if person else "A former member")
    left, right = (sides[end] for end in one.pair)
    return Refused(
        left,
        right,
        one.certainty,
        one.reasons,
        said_by,
        said.created_at,
        said.decision_id,
        said.event_id,
    )
