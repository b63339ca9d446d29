"""An entity's facts: filtered, counted, read in pages, and a first look at each kind."""

from __future__ import annotations

import heapq
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    OuterRef,
    Q,
    QuerySet,
    Window,
)
from django.db.models.functions import RowNumber

from ingestion.knowledge import periods
from ingestion.knowledge.periods import Replacement, replacements
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.models import Entity, Evidence, Relationship
from workspaces.models import Workspace

EXTRACTIVE: Final = "extractive"
"""``written_by`` of a description in the documents' own sentences."""
QUOTES: Final = 5
"""Passages read for each fact in a list; the others are on the fact's own page."""
RANKED: Final = 500
"""Facts among which the first look chooses."""
STRONGEST_READ: Final = 60
"""Facts in which an entity's closest neighbours are sought: two may link it in both directions."""
# "stated" sorts before "together".
_BEST: Final = ("kind", "-strength", "is_undated", "chunk_id", "start")
_STRONGEST: Final = ("-weight", "id")


@dataclass(frozen=True, slots=True)
class FactPeriod:
    """When a fact holds: ISO 8601 dates, the ``words`` that say so, and the passage they are in."""

    start: str
    end: str
    words: str
    source: SourceSpan

    @property
    def text(self) -> str:
        return periods.in_words(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Fact:
    """A relationship seen from one of its ends, with its evidence.

    ``description`` is a model's wording, if no passage states the relationship between the names;
    without it and ``predicate`` they are only named together. ``replaced`` says what holds instead
    of it now.
    """

    relationship: Relationship
    other: Entity
    is_outgoing: bool
    predicate: str
    sources: tuple[SourceSpan, ...]
    description: str = ""
    period: FactPeriod | None = None
    replaced: Replacement | None = None


@dataclass(frozen=True, slots=True)
class FactFilter:
    """What to list of an entity's facts, ``as_of`` a date.

    ``kind`` is a key of ``KINDS``, ``type`` the type of the entity at the other end. ``text`` is
    sought in that entity's name, in descriptions and in what sentences say between the two.
    """

    kind: str = ""
    text: str = ""
    type: str = ""
    as_of: str = ""


STATED: Final = "stated"
TOGETHER: Final = "together"
MADE: Final = "made"
KINDS: Final = {
    STATED: "Stated in a sentence",
    TOGETHER: "Named together",
    MADE: "Added by a person",
}


class EntityLinks:
    """The relationships of an entity, strongest first: a sequence to count and to cut slices from.

    An entity may have tens of thousands. Those that it is the source of and those that it is the
    target of are read from an index each, no further than the slice.
    """

    def __init__(self, sides: Mapping[str, QuerySet[Relationship]]) -> None:
        self.sides = sides
        """By the name of the other end."""

    def count(self) -> int:
        return sum(rows.order_by().count() for rows in self.sides.values())

    def __getitem__(self, index: slice) -> list[Relationship]:
        found = [rows[: index.stop] for rows in self.sides.values()]
        merged = heapq.merge(*found, key=lambda row: (-row.weight, row.pk))
        return list(islice(merged, index.start, index.stop))

    def filter(self, condition: Q) -> EntityLinks:
        return EntityLinks({end: rows.filter(condition) for end, rows in self.sides.items()})


def fact_rows(
    workspace: Workspace, entity: Entity, wanted: FactFilter = FactFilter()
) -> EntityLinks:
    """The relationships of an entity. ``facts_of`` reads the ends of those that are shown."""
    rows = Relationship.objects.in_workspace(workspace).order_by(*_STRONGEST)
    sides = {}
    for own, other in (("source", "target"), ("target", "source")):
        side = rows.filter(**{own: entity})
        if wanted.type:
            side = side.filter(**{f"{other}__type": wanted.type})
        if wanted.text:
            side = side.filter(_saying(workspace, other, wanted.text))
        side = side.filter(holds_at(workspace, wanted.as_of))
        sides[other] = _of_kind(workspace, side, wanted.kind)
    return EntityLinks(sides)


def holds_at(workspace: Workspace, as_of: str) -> Q:
    """Relationships that hold at a date: any of their dated evidence does, or they have none."""
    if not as_of:
        return Q()
    evidence = Evidence.objects.in_workspace(workspace).filter(relationship=OuterRef("pk"))
    dated = periods.dated(evidence)
    return Q(~Exists(dated)) | Q(Exists(periods.holding(dated, as_of)))


def _saying(workspace: Workspace, other: str, text: str) -> Q:
    said = Evidence.objects.in_workspace(workspace).filter(
        Q(predicate__icontains=text) | Q(description__icontains=text), relationship=OuterRef("pk")
    )
    named = Q(**{f"{other}__name__icontains": text})
    return named | Q(description__icontains=text) | Q(Exists(said))


def _of_kind(
    workspace: Workspace, rows: QuerySet[Relationship], kind: str
) -> QuerySet[Relationship]:
    evidence = Evidence.objects.in_workspace(workspace).filter(relationship=OuterRef("pk"))
    stated = Exists(evidence.filter(kind=Evidence.Kind.STATED))
    if kind == STATED:
        return rows.filter(stated)
    if kind == TOGETHER:
        return rows.filter(~stated, evidence_count__gt=0)
    return rows.filter(is_made=True) if kind == MADE else rows


def facts_of(workspace: Workspace, entity: Entity, rows: Iterable[Relationship]) -> list[Fact]:
    """The facts of these relationships, in their order, each with its best passages."""
    links = _with_ends(workspace, rows)
    evidence: dict[uuid.UUID, list[Evidence]] = {}
    best = best_evidence(workspace, [link.pk for link in links], QUOTES) if links else ()
    for row in best:
        evidence.setdefault(row.relationship_id, []).append(row)
    replaced = replacements(workspace, links)
    return [_fact(entity, link, evidence.get(link.pk, []), replaced.get(link.pk)) for link in links]


def _with_ends(workspace: Workspace, rows: Iterable[Relationship]) -> list[Relationship]:
    """The relationships with both entities, in their order."""
    links = list(rows)
    ends = {end for link in links for end in (link.source_id, link.target_id)}
    known = Entity.objects.in_workspace(workspace).in_bulk(ends)
    for link in links:
        link.source, link.target = known[link.source_id], known[link.target_id]
    return links


def best_first(rows: QuerySet[Evidence]) -> QuerySet[Evidence]:
    """Evidence in order: what states the relationship, strongest and dated first."""
    is_undated = ExpressionWrapper(Q(period_start="", period_end=""), BooleanField())
    return rows.annotate(is_undated=is_undated).order_by(*_BEST)


def best_evidence(
    workspace: Workspace | uuid.UUID,
    relationship_ids: Collection[uuid.UUID],
    most: int,
    documents: Collection[uuid.UUID] | None = None,
) -> QuerySet[Evidence]:
    """The best evidence of each relationship: a single one may rest on thousands of passages.

    Only evidence from ``documents``, if they are given.
    """
    rows = Evidence.objects.in_workspace(workspace).filter(relationship__in=set(relationship_ids))
    if documents is not None:
        rows = rows.filter(document__in=documents)
    place = Window(RowNumber(), partition_by="relationship_id", order_by=_BEST)
    ranked = best_first(rows).annotate(place=place).filter(place__lte=most)
    return ranked.select_related("chunk__document")


def _fact(
    entity: Entity,
    relationship: Relationship,
    evidence: Sequence[Evidence],
    replaced: Replacement | None,
) -> Fact:
    is_outgoing = relationship.source_id == entity.pk
    predicate = next((row.predicate for row in evidence if row.predicate), "")
    wording = next((row.description for row in evidence if row.description), "")
    return Fact(
        relationship=relationship,
        other=relationship.target if is_outgoing else relationship.source,
        is_outgoing=is_outgoing,
        predicate=predicate,
        sources=tuple(span_of(row) for row in evidence),
        description="" if predicate else _wording(relationship) or wording,
        period=next((_period(row) for row in evidence if row.period_start or row.period_end), None),
        replaced=replaced,
    )


def _period(row: Evidence) -> FactPeriod:
    words = row.chunk.text[row.period_quote_start or 0 : row.period_quote_end or 0]
    source = span_of(row)
    return FactPeriod(row.period_start, row.period_end, " ".join(words.split()), source)


def _wording(relationship: Relationship) -> str:
    """What a person or a model wrote; the documents' own sentences are quoted anyway."""
    return "" if relationship.written_by == EXTRACTIVE else relationship.description


def evidence_rows(*, workspace: Workspace, relationship: Relationship) -> QuerySet[Evidence]:
    """What states the relationship first, then what only names the two together."""
    rows = Evidence.objects.in_workspace(workspace).filter(relationship=relationship)
    return best_first(rows.select_related("chunk__document"))


def evidence_spans_of(rows: Iterable[Evidence]) -> list[SourceSpan]:
    return [span_of(row) for row in rows]


# --- a first look ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts that lead to entities of one type. ``total`` counts those that are not shown too."""

    type: str
    total: int
    facts: tuple[Fact, ...] = ()

    @property
    def more(self) -> int:
        return self.total - len(self.facts)


def fact_types(
    workspace: Workspace, entity: Entity, wanted: FactFilter = FactFilter()
) -> list[tuple[str, int]]:
    """Types at the other end with their number of facts, most first."""
    counts: Counter[str] = Counter()
    for other, rows in fact_rows(workspace, entity, wanted).sides.items():
        types = rows.order_by().values_list(f"{other}__type").annotate(number=Count("id"))
        counts.update(dict(types))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def fact_groups(
    workspace: Workspace, entity: Entity, types: Sequence[tuple[str, int]], most: int
) -> list[FactGroup]:
    """The ``most`` strongest facts, some of every type: the best of each, then the second best.

    Of an entity with more than ``RANKED`` facts, only the strongest so many are looked at.
    """
    strongest = _with_ends(workspace, fact_rows(workspace, entity)[:RANKED])
    by_type: defaultdict[str, list[Relationship]] = defaultdict(list)
    for row in strongest:
        other = row.target if row.source_id == entity.pk else row.source
        by_type[other.type].append(row)
    order = {row.pk: number for number, row in enumerate(strongest)}
    placed = [
        (place, order[row.pk], row) for rows in by_type.values() for place, row in enumerate(rows)
    ]
    rows = [row for _, _, row in sorted(placed, key=lambda one: one[:2])[:most]]
    found: dict[str, list[Fact]] = {}
    for fact in facts_of(workspace, entity, rows):
        found.setdefault(fact.other.type, []).append(fact)
    return [FactGroup(name, total, tuple(found[name])) for name, total in types if name in found]


# --- neighbours -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity linked to another one by facts of this weight and number of passages together."""

    entity: Entity
    weight: float
    evidence: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The closest neighbours of an entity, and which of them are linked to each other."""

    neighbours: tuple[Neighbour, ...]
    between: tuple[tuple[uuid.UUID, uuid.UUID], ...]


def neighbourhood(workspace: Workspace, entity: Entity, most: int) -> Neighbourhood:
    """The ``most`` closest neighbours, closest first."""
    found: dict[uuid.UUID, Neighbour] = {}
    for row in _with_ends(workspace, fact_rows(workspace, entity)[:STRONGEST_READ]):
        other = row.target if row.source_id == entity.pk else row.source
        known = found.get(other.pk, Neighbour(other, 0, 0))
        found[other.pk] = Neighbour(
            other, known.weight + row.weight, known.evidence + row.evidence_count
        )
    closest = sorted(found.values(), key=lambda one: (-one.weight, one.entity.name))[:most]
    ids = [one.entity.pk for one in closest]
    links = Relationship.objects.in_workspace(workspace).filter(source__in=ids, target__in=ids)
    pairs = {tuple(sorted(pair)) for pair in links.values_list("source_id", "target_id")}
    return Neighbourhood(tuple(closest), tuple((one, other) for one, other in sorted(pairs)))
