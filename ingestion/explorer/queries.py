"""Which entities a picture of the graph shows, and how they are connected.

A picture opens on the most telling entities of a workspace, a document or a topic, or on some
entities with their neighbourhood, and grows from there. It is always bounded, and says how many
entities there are in all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final
from uuid import UUID

from django.db.models import Count, QuerySet

from ingestion.documents.queries import document_get
from ingestion.explorer import sql
from ingestion.graph.queries import PathOrder, paths_between
from ingestion.knowledge import periods, queries as knowledge_queries, topics
from ingestion.knowledge.facts import best_first
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.models import Community, CommunityReport, Entity, Evidence, Mention, Relationship
from ingestion.models.knowledge import TERMS
from kb_project.errors import NotFoundError, found
from kb_project.ports import graph_reader
from kb_project.sql import run_sql
from workspaces.models import Workspace

USUAL: Final = 120
LEAST: Final = 60
MOST: Final = 600
"""Entities in one picture; more can't be read."""
MOST_NAMED: Final = 60
"""Entities that an address may name."""
MORE: Final = 25
"""Neighbours added when an entity is expanded."""
CANDIDATES: Final = 3
"""How many times as many entities are considered as are shown."""
LINES: Final = 4
"""Relationships drawn of each entity, the strongest; an end may draw more of them."""
PATHS: Final = 3
MOST_QUOTES: Final = 12


@dataclass(frozen=True, slots=True)
class Node:
    """An entity in a picture; ``degree`` counts all its neighbours, shown or not."""

    id: UUID
    name: str
    type: str
    degree: int
    x: float | None
    y: float | None
    topic: UUID | None
    is_term: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """All relationships between two entities."""

    a: UUID
    b: UUID
    weight: float
    evidence: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What a picture is of: ``id`` is an entity, document or topic; ``ids`` are entities.

    ``as_of`` is a date: relationships that do not hold then are left out.
    """

    kind: str = "workspace"
    id: UUID | None = None
    ids: tuple[UUID, ...] = ()
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Entities and relationships to draw.

    ``total`` counts the entities of the scope, shown or not; ``terms`` of them are terms, which
    lists of entities leave out. ``edges_total`` counts the connected pairs among those shown.
    ``focus`` are the entities asked for, ``paths`` those found, and ``remaining`` the neighbours of
    an expanded entity that are not shown yet.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    total: int = 0
    terms: int = 0
    edges_total: int = 0
    focus: tuple[UUID, ...] = ()
    paths: tuple[tuple[UUID, ...], ...] = ()
    remaining: int = 0


# --- opening --------------------------------------------------------------------------------------
def title_of(*, workspace: Workspace, scope: Scope) -> str:
    """Return the name of what the picture is of. Raises NotFoundError."""
    if scope.kind == "entity" and scope.id:
        return knowledge_queries.entity_get(workspace=workspace, entity_id=scope.id).name
    if scope.kind == "document" and scope.id:
        return document_get(workspace=workspace, document_id=scope.id).title
    if scope.kind == "topic" and scope.id:
        community = topics.community_get(workspace=workspace, community_id=scope.id)
        report = CommunityReport.objects.in_workspace(workspace).filter(community=community)
        return report.values_list("title", flat=True).first() or "A topic"
    return ""


def opening(*, workspace: Workspace, scope: Scope, limit: int = USUAL) -> Picture:
    """Return the picture that a scope opens with. Raises NotFoundError."""
    title_of(workspace=workspace, scope=scope)
    limit = max(1, min(limit, MOST))
    ids, counts = OPENINGS[scope.kind](workspace, scope, limit)
    focus = scope.ids or ((scope.id,) if scope.kind == "entity" and scope.id else ())
    nodes = _nodes(workspace, ids)
    shown = {node.id for node in nodes}
    edges = _edges(workspace, shown, shown, scope.as_of)
    return Picture(
        nodes=tuple(nodes),
        edges=tuple(drawn(edges, keep=[one for one in focus if one in shown][:3])),
        total=max(counts.total, len(nodes)),
        terms=counts.terms,
        edges_total=len(edges),
        focus=tuple(one for one in focus if one in shown),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """How many entities there are to show, and how many of them are terms."""

    total: int
    terms: int = 0


def _counts(rows: QuerySet[Entity]) -> Counts:
    terms = Count("pk", filter=TERMS)
    return Counts(**rows.aggregate(total=Count("pk"), terms=terms))


def _of_workspace(workspace: Workspace, scope: Scope, limit: int) -> tuple[list[UUID], Counts]:
    rows = Entity.objects.in_workspace(workspace)
    ranked = rows.order_by("-rank", "-mention_count", "name", "id").values_list("pk", flat=True)
    wanted = CANDIDATES * limit
    candidates = list(ranked.exclude(TERMS)[:wanted])
    counts = _counts(rows)
    if len(candidates) < LEAST:
        # A workspace of little else than terms shows them.
        candidates = list(dict.fromkeys([*candidates, *ranked[:wanted]]))
    else:
        counts = Counts(counts.total - counts.terms)
    return _telling(workspace, candidates, limit, scope.as_of), counts


def _of_document(workspace: Workspace, scope: Scope, limit: int) -> tuple[list[UUID], Counts]:
    values = {"workspace": workspace.pk, "id": scope.id, "limit": CANDIDATES * limit}
    rows = run_sql(sql.IN_DOCUMENT, values)
    named = Mention.objects.in_workspace(workspace).filter(document=scope.id).values("entity")
    counts = _counts(Entity.objects.in_workspace(workspace).filter(pk__in=named))
    return _telling(workspace, [row[0] for row in rows], limit, scope.as_of), counts


def _of_topic(workspace: Workspace, scope: Scope, limit: int) -> tuple[list[UUID], Counts]:
    rows = Entity.objects.in_workspace(workspace).filter(
        communities__community=scope.id, communities__workspace=workspace
    )
    ranked = rows.order_by("-rank", "-mention_count", "name", "id").values_list("pk", flat=True)
    candidates = list(ranked[: CANDIDATES * limit])
    return _telling(workspace, candidates, limit, scope.as_of), _counts(rows)


def _of_entity(workspace: Workspace, scope: Scope, limit: int) -> tuple[list[UUID], Counts]:
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=found(scope.id, "entity"))
    near = _neighbours(workspace, entity.pk, limit - 1, scope.as_of)
    links = Relationship.objects.in_workspace(workspace)
    ends = links.filter(source=entity).values("target")
    around = ends.union(links.filter(target=entity).values("source"))
    terms = Entity.objects.in_workspace(workspace).filter(TERMS, pk__in=around)
    counts = Counts(1 + entity.degree, terms.count())
    return _once([entity.pk, *near]), counts


def _of_entities(workspace: Workspace, scope: Scope, limit: int) -> tuple[list[UUID], Counts]:
    rows = Entity.objects.in_workspace(workspace).filter(pk__in=scope.ids)
    asked = list(rows.order_by("-rank", "id").values_list("pk", flat=True)[:limit])
    if not asked:
        raise NotFoundError(
            "None of these entities exists any more.",
            next_step="Open the whole graph, or search for a name.",
        )
    counts = _counts(Entity.objects.in_workspace(workspace))
    room = min(limit, max(LEAST, len(asked)))
    around = graph_reader().subgraph(workspace.pk, asked, room)
    return _once([*asked, *(node.id for node in around.nodes)])[:room], counts


Opening = Callable[[Workspace, Scope, int], tuple[list[UUID], Counts]]
OPENINGS: Final[dict[str, Opening]] = {
    "workspace": _of_workspace,
    "document": _of_document,
    "topic": _of_topic,
    "entity": _of_entity,
    "entities": _of_entities,
}


def _neighbours(workspace: Workspace, entity_id: UUID, limit: int, as_of: str) -> list[UUID]:
    """Return the strongest neighbours, of twice as many those that are neighbours at a date."""
    wanted = 2 * limit if as_of else limit
    near = graph_reader().neighbours(workspace.pk, entity_id, wanted)
    ids = _once([one.node.id for one in near])
    if as_of:
        edges = _edges(workspace, [entity_id], ids, as_of)
        tied = {end for edge in edges for end in (edge.a, edge.b)}
        ids = [one for one in ids if one in tied]
    return ids[:limit]


def _telling(
    workspace: Workspace, candidates: Sequence[UUID], limit: int, as_of: str
) -> list[UUID]:
    """Return the first candidates that are connected to another one, and fill up if few are."""
    edges = _edges(workspace, candidates, candidates, as_of)
    tied = {end for edge in edges for end in (edge.a, edge.b)}
    connected = [one for one in candidates if one in tied][:limit]
    missing = min(LEAST, limit) - len(connected)
    return connected + [one for one in candidates if one not in tied][: max(0, missing)]


def _once(ids: Collection[UUID]) -> list[UUID]:
    return list(dict.fromkeys(ids))


# --- growing --------------------------------------------------------------------------------------
def expanded(
    *, workspace: Workspace, entity_id: UUID, shown: Sequence[UUID], as_of: str = ""
) -> Picture:
    """Return an entity's strongest neighbours that are not shown yet. Raises NotFoundError."""
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    room = max(0, min(MORE, MOST - len(shown)))
    near = _neighbours(workspace, entity.pk, len(shown) + MORE, as_of)
    there = set(shown)
    fresh = [one for one in near if one not in there][:room]
    picture = added(
        workspace=workspace,
        ids=[entity.pk, *fresh],
        shown=shown,
        keep=[entity.pk],
        as_of=as_of,
    )
    drawn_here = sum(entity.pk in (edge.a, edge.b) for edge in picture.edges)
    return replace(picture, remaining=max(0, entity.degree - drawn_here), focus=(entity.pk,))


def connected(
    *, workspace: Workspace, source: UUID, target: UUID, shown: Sequence[UUID], as_of: str = ""
) -> Picture:
    """Return the shortest paths between two entities; none if they are too far apart.

    With a date, those of them of which every step holds then.

    Raises NotFoundError.
    """
    ways = paths_between(workspace, source, target, most=PATHS, order=PathOrder.SHORTEST)
    paths = tuple(tuple(node.id for node in way.nodes) for way in ways.paths)
    named = _once([one for path in paths for one in path])
    edges_at = {frozenset((one.a, one.b)): one for one in _edges(workspace, named, named, as_of)}
    paths = tuple(
        path for path in paths if all(frozenset(step) in edges_at for step in pairwise(path))
    )
    ids = _once([source, target, *(one for path in paths for one in path)])
    picture = added(workspace=workspace, ids=ids, shown=shown, as_of=as_of)
    steps = {frozenset(step) for path in paths for step in pairwise(path)}
    lines = [edge for ends, edge in edges_at.items() if ends in steps]
    edges = dict.fromkeys([*lines, *picture.edges])
    return replace(picture, edges=tuple(edges), focus=(source, target), paths=paths)


def added(
    *,
    workspace: Workspace,
    ids: Sequence[UUID],
    shown: Sequence[UUID],
    keep: Sequence[UUID] = (),
    as_of: str = "",
) -> Picture:
    """Return entities to add to a picture, with their relationships to what it shows.

    Of ``keep`` all relationships are drawn, of the others the strongest.
    """
    there = set(shown)
    nodes = _nodes(workspace, [one for one in _once(ids) if one not in there])
    fresh = [node.id for node in nodes]
    edges = _edges(workspace, [*fresh, *keep], [*shown, *fresh], as_of)
    return Picture(
        nodes=tuple(nodes),
        edges=tuple(drawn(edges, keep=keep)),
        edges_total=len(edges),
        focus=tuple(ids),
    )


# --- nodes and edges ------------------------------------------------------------------------------
def _nodes(workspace: Workspace, ids: Sequence[UUID]) -> list[Node]:
    """Return the entities that exist, in the order of the ids."""
    if not ids:
        return []
    rows = run_sql(sql.NODES, {"workspace": workspace.pk, "ids": list(ids)})
    known = {row[0]: Node(*row) for row in rows}
    return [known[one] for one in ids if one in known]


def _edges(
    workspace: Workspace, new: Collection[UUID], ids: Collection[UUID], as_of: str = ""
) -> list[Edge]:
    """Return relationships between a new entity and any of ``ids``, strongest first."""
    if not new or not ids:
        return []
    values = {"workspace": workspace.pk, "new": list(new), "ids": list(ids), "as_of": as_of}
    return [Edge(*row) for row in run_sql(sql.EDGES, values)]


def drawn(edges: Sequence[Edge], *, keep: Collection[UUID] = ()) -> list[Edge]:
    """Choose the relationships to draw: the strongest of each entity, and all those of ``keep``.

    ``edges`` are the strongest first.
    """
    lines: Counter[UUID] = Counter()
    chosen = []
    for edge in edges:
        is_kept = edge.a in keep or edge.b in keep
        if is_kept or min(lines[edge.a], lines[edge.b]) < LINES:
            chosen.append(edge)
            lines.update((edge.a, edge.b))
    return chosen


# --- beside the picture ---------------------------------------------------------------------------
def types(*, workspace: Workspace) -> list[tuple[str, int]]:
    """Return the types of the workspace's entities with their number, most frequent first."""
    return [(kind, number) for kind, number in run_sql(sql.TYPES, {"workspace": workspace.pk})]


def topics_by_size(*, workspace: Workspace) -> list[tuple[UUID, str]]:
    """Return the broadest topics with their titles, largest first."""
    rows = Community.objects.in_workspace(workspace).filter(level=0).order_by("-size", "id")
    ids = list(rows.values_list("pk", flat=True))
    titles = dict(
        CommunityReport.objects.in_workspace(workspace)
        .filter(community__in=ids)
        .values_list("community_id", "title")
    )
    return [(one, titles.get(one, "A topic")) for one in ids]


@dataclass(frozen=True, slots=True)
class Statement:
    """A passage that supports a relationship, and how the sentence connects the two."""

    source: Entity
    target: Entity
    predicate: str
    span: SourceSpan
    period: str = ""


def statements_between(
    *, workspace: Workspace, a: UUID, b: UUID, as_of: str = ""
) -> list[Statement]:
    """Return the strongest passages about a relationship between two entities, at a date only
    those that hold then."""
    rows = (
        periods.holding(Evidence.objects.in_workspace(workspace), as_of)
        .filter(relationship__source__in=(a, b), relationship__target__in=(a, b))
        .select_related("relationship__source", "relationship__target", "chunk__document")
    )
    return [
        Statement(
            row.relationship.source,
            row.relationship.target,
            row.predicate,
            span_of(row),
            periods.in_words(row.period_start, row.period_end),
        )
        for row in best_first(rows)[:MOST_QUOTES]
    ]
