"""What an entity's page shows: why it matters, its facts by kind, its neighbourhood, its time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, TypeVar
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Model
from django.http import QueryDict

from ingestion.knowledge.facts import (
    KINDS,
    Fact,
    FactFilter,
    Neighbour,
    Neighbourhood,
    fact_groups,
    fact_rows,
    fact_types,
    facts_of,
    neighbourhood,
)
from ingestion.knowledge.insights import Bridge, entity_bridges
from ingestion.knowledge.periods import as_of_date
from ingestion.knowledge.queries import (
    ClaimFilter,
    ClaimView,
    central_in,
    claim_rows,
    claim_views,
    documents_count,
)
from ingestion.knowledge.spans import SourceSpan
from ingestion.models import Claim, CommunityReport, Entity
from kb_project.http.paging import Rows
from workspaces.models import Workspace

FIRST: Final = 12
"""Facts shown at first."""
FIRST_CLAIMS: Final = 5
PER_PAGE: Final = 24
NEIGHBOURS: Final = 12
MOST_DATED: Final = 40
LONGEST_TEXT: Final = 200
RowT = TypeVar("RowT", bound=Model)


# --- facts ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact with the passage to quote: one that no fact above it quotes, if there is any."""

    fact: Fact
    quote: SourceSpan | None

    @property
    def more(self) -> int:
        """Passages besides the one quoted."""
        return max(0, self.fact.relationship.evidence_count - 1)


@dataclass(frozen=True, slots=True)
class FactRows:
    """Facts that lead to entities of one type."""

    type: str
    total: int
    rows: tuple[FactRow, ...]


def first_facts(workspace: Workspace, entity: Entity) -> dict[str, Any]:
    """The strongest facts of each type, with how many there are in all."""
    types = fact_types(workspace, entity)
    groups = fact_groups(workspace, entity, types, FIRST)
    quoted: set[tuple[Any, ...]] = set()
    return {
        "facts_total": sum(number for _, number in types),
        "first": FIRST,
        "groups": [FactRows(one.type, one.total, _quoting(one.facts, quoted)) for one in groups],
    }


def facts_page(workspace: Workspace, entity: Entity, given: QueryDict) -> dict[str, Any]:
    """A page of the facts that match the form, with the types there are to choose from."""
    wanted = fact_filter_of(given)
    types = fact_types(workspace, entity, replace(wanted, type=""))
    page = _page(fact_rows(workspace, entity, wanted), given)
    facts = facts_of(workspace, entity, page.object_list)
    return {
        "wanted": wanted,
        "kinds": KINDS.items(),
        "types": types,
        "facts_total": sum(number for _, number in types),
        "page": page,
        "rows": _quoting(facts, set()),
    }


def fact_filter_of(given: QueryDict) -> FactFilter:
    """An unknown kind counts as none. Raises InputError for a date that does not exist."""
    kind = given.get("kind", "")
    return FactFilter(
        kind=kind if kind in KINDS else "",
        text=_words(given, "q"),
        type=_words(given, "type"),
        as_of=as_of_date(given.get("as_of")),
    )


def _page(rows: Rows[RowT], given: QueryDict) -> Page[RowT]:
    pages: Paginator[RowT] = Paginator(rows, PER_PAGE)  # type: ignore[arg-type]  # Rows will do
    return pages.get_page(given.get("page", ""))


def _words(given: QueryDict, name: str) -> str:
    return " ".join(given.get(name, "").replace("\0", " ").split())[:LONGEST_TEXT]


def _quoting(facts: Iterable[Fact], quoted: set[tuple[Any, ...]]) -> tuple[FactRow, ...]:
    """Choose a quote for each fact; one long sentence often states several."""
    rows = []
    for fact in facts:
        spans = {(one.document.pk, one.start, one.end): one for one in fact.sources}
        best = next((place for place in spans if place not in quoted), next(iter(spans), None))
        if fact.period:  # its sentence says when
            said = fact.period.source
            best = (said.document.pk, said.start, said.end)
        if best is not None:
            quoted.add(best)
        rows.append(FactRow(fact, spans[best] if best is not None else None))
    return tuple(rows)


# --- claims ---------------------------------------------------------------------------------------
def claims_page(workspace: Workspace, entity: Entity, given: QueryDict) -> dict[str, Any]:
    """A page of the claims that match the form."""
    status = given.get("status", "")
    wanted = ClaimFilter(
        type=_words(given, "type"),
        status=status if status in Claim.Status.values else "",
        text=_words(given, "q"),
        as_of=as_of_date(given.get("as_of")),
    )
    page = _page(claim_rows(workspace, entity, wanted), given)
    kinds = claim_rows(workspace, entity).order_by("type").values_list("type", flat=True)
    return {
        "wanted": wanted,
        "page": page,
        "claims": claim_views(entity, page.object_list),
        "claim_types": [(kind, kind) for kind in kinds.distinct()],
        "statuses": Claim.Status.choices,
    }


@dataclass(frozen=True, slots=True)
class Period:
    """What is claimed of one time."""

    when: str
    claims: tuple[ClaimView, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Dated claims in order of time; ``left`` counts those that did not fit."""

    periods: tuple[Period, ...]
    left: int


def timeline(workspace: Workspace, entity: Entity) -> Timeline:
    rows = claim_rows(workspace, entity, ClaimFilter(is_dated=True))
    views = claim_views(entity, rows[:MOST_DATED])
    left = rows.count() - len(views) if len(views) == MOST_DATED else 0
    periods = groupby(views, key=lambda view: view.period)
    return Timeline(tuple(Period(when, tuple(claims)) for when, claims in periods), left)


# --- why it matters -------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Significance:
    """What is worth knowing first: documents, its place in a topic, topics it joins, neighbours.

    ``place`` is 1 for the most central entity of ``topic``.
    """

    documents: int
    of_documents: int
    links: int
    closest: Neighbour | None
    topic: CommunityReport | None = None
    place: int = 0
    joins: tuple[Bridge, ...] = ()

    @property
    def centrality(self) -> str:
        """
        >>> Significance(1, 1, 0, None, place=1).centrality
        'The most central entity'
        >>> Significance(1, 1, 0, None, place=3).centrality
        'Among the most central'
        """
        return "The most central entity" if self.place == 1 else "Among the most central"


def significance(
    workspace: Workspace,
    entity: Entity,
    *,
    documents: int,
    topics: Sequence[CommunityReport],
    closest: Neighbour | None,
) -> Significance:
    standing = central_in(workspace, entity)
    central = {standing.community_id: standing.place} if standing else {}
    topic = next((one for one in topics if one.community_id in central), None)
    return Significance(
        documents=documents,
        of_documents=documents_count(workspace),
        links=entity.degree,
        closest=closest,
        topic=topic,
        place=central[topic.community_id] if topic else 0,
        joins=tuple(entity_bridges(workspace=workspace, entity=entity)),
    )


# --- the neighbourhood as a picture ---------------------------------------------------------------
WIDTH: Final = 400
HEIGHT: Final = 300
ACROSS: Final = 84
DOWN: Final = 108
LONGEST_LABEL: Final = 17
WIDEST: Final = 5.0


@dataclass(frozen=True, slots=True)
class Point:
    """A neighbour in the picture; ``anchor`` is the side from which its label is written."""

    neighbour: Neighbour
    x: float
    y: float
    label: str
    label_x: float
    label_y: float
    anchor: str
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Picture:
    """The entity in the middle, its closest neighbours around it, and the links between them."""

    points: tuple[Point, ...]
    lines: tuple[Line, ...]
    x: float = WIDTH / 2
    y: float = HEIGHT / 2
    width: int = WIDTH
    height: int = HEIGHT


def picture(around: Neighbourhood) -> Picture:
    """Place neighbours of one type side by side, on an ellipse that leaves room for names."""
    ordered = sorted(around.neighbours, key=lambda one: (one.entity.type, -one.weight))
    most = max((one.weight for one in ordered), default=1) or 1
    points = tuple(_point(one, index, len(ordered), most) for index, one in enumerate(ordered))
    at = {point.neighbour.entity.pk: point for point in points}
    return Picture(points, tuple(_line(at, pair) for pair in around.between))


def _point(neighbour: Neighbour, index: int, number: int, most: float) -> Point:
    angle = 2 * math.pi * (index + 0.5) / number - math.pi / 2
    x, y = WIDTH / 2 + ACROSS * math.cos(angle), HEIGHT / 2 + DOWN * math.sin(angle)
    side = round(math.cos(angle), 3)
    is_right = side >= 0
    return Point(
        neighbour=neighbour,
        x=round(x, 1),
        y=round(y, 1),
        label=_shortened(neighbour.entity.name),
        label_x=round(x + (10 if is_right else -10), 1),
        label_y=round(y + 4, 1),
        anchor="start" if is_right else "end",
        width=round(1 + (WIDEST - 1) * neighbour.weight / most, 1),
    )


def _shortened(name: str) -> str:
    """
    >>> _shortened("Hestay Harbour Board of 1869")
    'Hestay Harbour B…'
    """
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1].rstrip()}…"


def _line(at: dict[UUID, Point], pair: tuple[UUID, UUID]) -> Line:
    one, other = at[pair[0]], at[pair[1]]
    return Line(one.x, one.y, other.x, other.y)


def entity_known(
    workspace: Workspace,
    entity: Entity,
    *,
    documents: int,
    topics: Sequence[CommunityReport],
) -> dict[str, Any]:
    """Everything about an entity's facts that its page shows at first."""
    around = neighbourhood(workspace, entity, NEIGHBOURS)
    why = significance(
        workspace,
        entity,
        documents=documents,
        topics=topics,
        closest=next(iter(around.neighbours), None),
    )
    return first_facts(workspace, entity) | {
        "why": why,
        "around": around,
        "picture": picture(around),
        "timeline": timeline(workspace, entity),
    }
