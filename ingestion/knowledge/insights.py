"""What no list shows: who stands out in a topic, what joins topics, and who is said most about.

The rows come from the stage ``structure``; for the passages of a search it is counted here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from ingestion.knowledge import sql
from ingestion.knowledge.queries import UNTELLING
from ingestion.knowledge.spans import SourceSpan, spans_by_place
from ingestion.models import (
    CommunityReport,
    Entity,
    LoneDocument,
    TopicBridge,
    TopicStanding,
)
from kb_project.sql import run_sql
from workspaces.models import Workspace

PERSON: Final = "person"
MOST_BRIDGES: Final = 6
MOST_KNOWN: Final = 4
"""People shown beside a search, and as many of everything else."""
LEAST_PASSAGES: Final = 2
READABLE: Final = 140
"""Characters of a good quote: of several, the nearest to it in length is shown."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An entity with what makes it stand out, and the best quote where one is looked for."""

    entity: Entity
    facts: int
    passages: int
    documents: int
    quote: SourceSpan | None = None

    @property
    def is_person(self) -> bool:
        return self.entity.type.lower() == PERSON


@dataclass(frozen=True, slots=True)
class Bridge:
    """An entity that is part of ``facts`` of the ``of_facts`` facts between two topics.

    It belongs to ``own``.
    """

    entity: Entity
    own: CommunityReport
    other: CommunityReport
    facts: int
    of_facts: int


@dataclass(frozen=True, slots=True)
class TopicInsights:
    """Who and what stands out in a topic. ``documented`` has people first."""

    central: tuple[Standing, ...] = ()
    documented: tuple[Standing, ...] = ()
    bridges: tuple[Bridge, ...] = ()


def topic_insights(*, workspace: Workspace, community_id: UUID) -> TopicInsights:
    rows = list(
        TopicStanding.objects.in_workspace(workspace)
        .filter(community=community_id)
        .select_related("entity")
        .order_by("place")
    )
    documented = [row for row in rows if row.kind == TopicStanding.Kind.DOCUMENTED]
    quotes = _quotes(workspace, community_id, [row.entity_id for row in documented])
    known = [_standing(row, quotes.get(row.entity_id)) for row in documented]
    near = Q(community=community_id) | Q(other=community_id)
    return TopicInsights(
        central=tuple(_standing(row) for row in rows if row.kind == TopicStanding.Kind.CENTRAL),
        documented=tuple(sorted(known, key=lambda one: not one.is_person)),
        bridges=tuple(bridges(workspace=workspace, near=near)),
    )


def _standing(row: TopicStanding, quote: SourceSpan | None = None) -> Standing:
    return Standing(row.entity, row.facts, row.passages, row.documents, quote)


def _quotes(
    workspace: Workspace, community_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, SourceSpan]:
    if not ids:
        return {}
    given = {"workspace": workspace.pk, "community": community_id, "ids": list(ids)} | {
        "length": READABLE
    }
    return _spans(workspace, {row[0]: row[1:] for row in run_sql(sql.QUOTES, given)})


def _spans(
    workspace: Workspace, places: Mapping[UUID, tuple[Any, int, int]]
) -> dict[UUID, SourceSpan]:
    """Read all places with one query."""
    keys = {
        entity: (str(chunk), int(start), int(end)) for entity, (chunk, start, end) in places.items()
    }
    sources = [dict(zip(("chunk", "start", "end"), key, strict=True)) for key in keys.values()]
    spans = spans_by_place(workspace, sources)
    return {entity: spans[key] for entity, key in keys.items() if key in spans}


def bridges(
    *, workspace: Workspace, near: Q | None = None, most: int = MOST_BRIDGES
) -> list[Bridge]:
    """Those that most facts involve first, weighed by their share; each pair of topics once.

    Of a whole workspace, each entity is listed once.
    """
    rows = TopicBridge.objects.in_workspace(workspace).filter(near or Q()).select_related("entity")
    ranked = sorted(
        rows, key=lambda row: (-row.facts * row.facts / row.of_facts, row.entity.name, row.pk)
    )
    pairs: dict[frozenset[UUID], TopicBridge] = {}
    for row in ranked:
        pairs.setdefault(frozenset((row.community_id, row.other_id)), row)
    if near is None:
        pairs = _once(pairs)
    titles = _reports(workspace, pairs)
    return [
        Bridge(row.entity, titles[row.community_id], titles[row.other_id], row.facts, row.of_facts)
        for row in pairs.values()
        if row.community_id in titles and row.other_id in titles
    ][:most]


def _once(pairs: Mapping[frozenset[UUID], TopicBridge]) -> dict[frozenset[UUID], TopicBridge]:
    first: dict[UUID, frozenset[UUID]] = {}
    for pair, row in pairs.items():
        first.setdefault(row.entity_id, pair)
    return {pair: pairs[pair] for pair in first.values()}


def _reports(
    workspace: Workspace, pairs: Iterable[Collection[UUID]]
) -> dict[UUID, CommunityReport]:
    ids = {one for pair in pairs for one in pair}
    rows = CommunityReport.objects.in_workspace(workspace).filter(community__in=ids)
    return {row.community_id: row for row in rows}


def entity_bridges(*, workspace: Workspace, entity: Entity) -> list[Bridge]:
    """The two topics that an entity joins most, most shared first."""
    return bridges(workspace=workspace, near=Q(entity=entity), most=2)


# --- documents that stand alone -------------------------------------------------------------------
def lone_documents(workspace: Workspace) -> QuerySet[LoneDocument]:
    """Searched and wholly processed documents that share no entity with any other."""
    rows = LoneDocument.objects.in_workspace(workspace)
    return rows.filter(
        document__state="ready", document__disabled_at=None, document__trashed_at=None
    )


def names_alone(*, workspace: Workspace, document_id: UUID) -> int | None:
    """How many entities a document that stands alone mentions; None for any other."""
    rows = lone_documents(workspace).filter(document=document_id)
    names: int | None = rows.values_list("names", flat=True).first()
    return names


# --- who and what passages say most about ---------------------------------------------------------
def said_most_about(*, workspace: Workspace, chunk_ids: Collection[UUID]) -> list[Standing]:
    """Entities that several of the passages state something about, people first."""
    if not chunk_ids:
        return []
    given = {
        "workspace": workspace.pk,
        "chunks": list(chunk_ids),
        "least": LEAST_PASSAGES,
        "length": READABLE,
    }
    figures = {row[0]: row[1:] for row in run_sql(sql.STATED_IN, given)}
    named = Entity.objects.in_workspace(workspace).filter(pk__in=figures).exclude(UNTELLING)
    found = [Standing(one, *figures[one.pk][:3]) for one in named]
    found.sort(key=lambda one: (-one.passages, -one.documents, -one.facts, one.entity.key))
    people = [one for one in found if one.is_person][:MOST_KNOWN]
    shown = [*people, *[one for one in found if not one.is_person][:MOST_KNOWN]]
    quotes = _spans(workspace, {one.entity.pk: figures[one.entity.pk][3:] for one in shown})
    return [
        Standing(one.entity, one.facts, one.passages, one.documents, quotes.get(one.entity.pk))
        for one in shown
    ]
