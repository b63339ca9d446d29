"""Paths: how two entities are connected, each step with the sentence that supports it.

The two are the ends of a question such as *How is X connected to Y?*, else the first two names of
the question that the graph knows. The shortest paths come first, then those with more evidence. If
there is none within ``kb_project.graph.ports.MAX_HOPS`` steps, the result says so, with what the
two share. With fewer than two names, passages are searched by meaning and words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Final
from uuid import UUID

import regex

from ingestion.graph import queries as graph_queries
from ingestion.knowledge.spans import SourceSpan
from ingestion.models import Entity
from kb_project.graph.ports import MAX_HOPS, GraphPath, GraphReader
from kb_project.graph.walk import names_in
from kb_project.graph.walk_index import NO_ENTITY, WalkIndex
from kb_project.ports import graph_reader
from kb_project.text.names import normalise_name
from retrieval.search import as_of, hybrid, query_features, walk
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import (
    Connection,
    ModeResult,
    Record,
    RecordKind,
    Seed,
    Shares,
    Step,
)

SHARES: Final = Shares(passages=0.6, records=0.4)
MOST: Final = 3
"""Paths shown: more of them say less about each."""
CONSIDERED: Final = 10
"""Paths looked at, some of which may rest on documents outside the scope."""
NAMESAKES: Final = 3
"""Entities tried for a name that several have."""
QUOTES: Final = 20
"""Sentences looked at for each step, the strongest first."""
READABLE: Final = 300
"""Characters of a quote: a longer one is a row of a table."""
LONGER: Final = 1
"""Steps by which a path shown may exceed the shortest one."""

BESIDE: Final = 2
"""Words beside a name that do not make it another thing …"""
# … and those that do: *Ada Lind's father*, *who founded Y*.
_OTHER: Final = regex.compile(
    r"['’]s?(?![\p{L}\p{N}])|\b(?:who|whom|whose|that|which|of|by|in|on|at|for|from|his|her|its|their)\b|\p{Han}",
    regex.IGNORECASE,
)

Ends = tuple[tuple[UUID, ...], tuple[UUID, ...]]


def search(query: Query) -> ModeResult:
    index = walk.newest_index(query)
    ends = index and ends_of(index, query.question, query.exclude)
    if not ends:
        query.note(
            "paths_need_two",
            "Fewer than two known names in the question, so there is nothing to connect."
            f" {hybrid.INSTEAD}",
        )
        return ModeResult(hybrid.search(query))
    connection = _connection(query, ends)
    if connection is None:
        return ModeResult(hybrid.search(query))
    if not connection.paths:
        query.note("not_connected", not_connected(connection))
        return ModeResult(hybrid.search(query), connection=connection)
    return ModeResult(
        chunks=_chunks(connection)[: query.top_k],
        records=tuple(_records(connection)),
        seeds=tuple(Seed("entity", name, 1.0) for name in (connection.source, connection.target)),
        connection=connection,
        figures=(("paths", len(connection.paths)),),
    )


def not_connected(connection: Connection) -> str:
    """
    >>> not_connected(Connection("Ada", "Bo", 3))
    'No connection between “Ada” and “Bo” was found within 3 steps.'
    """
    return (
        f"No connection between “{connection.source}” and “{connection.target}” was found within"
        f" {connection.max_steps} steps."
    )


# --- the two ends ---------------------------------------------------------------------------------


def asked_ends(index: WalkIndex, question: str) -> Ends | None:
    """Return the entities at both ends if the question asks only how they are connected."""
    asked = query_features.connected_ends(question)
    if asked is None:
        return None
    first, second = (_entities(index, name) for name in asked)
    return _distinct(first, second)


def ends_of(index: WalkIndex, question: str, exclude: Sequence[UUID] = ()) -> Ends | None:
    """Return the ends asked for, else the first two names of the question."""
    if asked := asked_ends(index, question):
        return asked
    named = [_ids(index, places) for places in names_in(index, question).values()]
    known = [ids for ids in named if ids and not set(ids) & set(exclude)]
    return next(filter(None, (_distinct(a, b) for a, b in pairwise(known))), None)


def _entities(index: WalkIndex, name: str) -> tuple[UUID, ...]:
    """Return the entities of a name, or of the only known name beside a word or two, as in *the
    keeper Ada Lind*."""
    if places := index.entities_by_key.get(normalise_name(name)):
        return _ids(index, places)
    within = names_in(index, name)
    if len(within) != 1:
        return ()
    [(known, places)] = within.items()
    beside = name.replace(known, " ", 1)
    is_alone = not _OTHER.search(beside) and len(beside.split()) <= BESIDE
    return _ids(index, places) if is_alone else ()


def _ids(index: WalkIndex, places: Sequence[int]) -> tuple[UUID, ...]:
    ids = (index.entity_ids[place] for place in places)
    return tuple(one for one in ids if one != NO_ENTITY)[:NAMESAKES]


def _distinct(first: tuple[UUID, ...], second: tuple[UUID, ...]) -> Ends | None:
    return (first, second) if first and second and not set(first) & set(second) else None


# --- the paths ------------------------------------------------------------------------------------


def _connection(query: Query, ends: Ends) -> Connection | None:
    """Return the best connection of any two namesakes, or what the first two share.

    None if the entities are gone: the index is older than their merge or deletion.
    """
    rows = Entity.objects.in_workspace(query.workspace_id).filter(pk__in={*ends[0], *ends[1]})
    names = dict(rows.values_list("pk", "name"))
    pairs = [(a, b) for a, b in product(*ends) if a in names and b in names]
    if not pairs:
        return None
    reader = graph_reader()
    found = {pair: _supported(query, _paths(query, reader, *pair)) for pair in pairs}
    best = min(pairs, key=lambda pair: _rank(found[pair]))
    source, target = (names[one] for one in best)
    if found[best]:
        return Connection(source, target, MAX_HOPS, found[best])
    shared = graph_queries.shared_by(query.workspace_id, *best, documents=query.documents)
    return Connection(source, target, MAX_HOPS, (), shared.documents, shared.topics)


def _rank(paths: Sequence[Sequence[Step]]) -> int:
    return len(paths[0]) if paths else MAX_HOPS + 1


def _paths(query: Query, reader: GraphReader, source: UUID, target: UUID) -> list[GraphPath]:
    """Return the shortest paths and the best ones, without those through excluded entities."""
    workspace_id = query.workspace_id
    found = reader.paths(workspace_id, source, target)
    found += reader.best_paths(workspace_id, source, target, MAX_HOPS, CONSIDERED)
    once = {tuple(edge.id for edge in path.edges): path for path in found}.values()
    excluded = set(query.exclude)
    kept = (path for path in once if not excluded & {node.id for node in path.nodes})
    return sorted(kept, key=lambda path: (len(path.edges), -path.strength))


def _supported(query: Query, paths: Sequence[GraphPath]) -> tuple[tuple[Step, ...], ...]:
    """Return the first paths of which each step has a quote in scope, or was made by a person."""
    edges = {edge.id: edge for path in paths for edge in path.edges}
    spans = graph_queries.evidence_spans(query.workspace_id, edges, QUOTES, query.documents)
    spans = {
        edge: [span for span in said if as_of.holds(span.text, query.as_of)]
        for edge, said in spans.items()
    }
    views = graph_queries.path_views(query.workspace_id, paths)
    is_open = not query.is_scoped
    shown: list[tuple[Step, ...]] = []
    for path in views:
        steps = tuple(_steps(path, spans))
        is_backed = all(step.quote or (is_open and step.description) for step in steps)
        if is_backed and (not shown or len(steps) <= len(shown[0]) + LONGER):
            shown.append(steps)
    return tuple(shown[:MOST])


def _steps(
    path: graph_queries.PathView, spans: Mapping[UUID, Sequence[SourceSpan]]
) -> Iterator[Step]:
    for (before, after), edge in zip(pairwise(path.nodes), path.edges, strict=True):
        said = (edge.id, before.name, after.name, edge.predicate, edge.description)
        span = _readable(spans.get(edge.id, ()), before.name, after.name)
        if span is None:
            yield Step(*said)
        else:
            yield Step(*said, span.chunk_id, span.start, span.end, span.text)


def _readable(spans: Sequence[SourceSpan], *names: str) -> SourceSpan | None:
    """Return the quote that says it best to a stranger: short, and with both names in full."""
    return min(
        spans,
        key=lambda span: (
            len(span.text) > READABLE,
            sum(name not in span.text for name in names),
        ),
        default=None,
    )


# --- what the answer rests on ---------------------------------------------------------------------


def _chunks(connection: Connection) -> list[ScoredChunk]:
    """Return the passages in the order of the steps, each with the steps it supports."""
    reasons: dict[UUID, list[str]] = {}
    for step in _once(connection):
        if step.chunk_id is not None:
            reasons.setdefault(step.chunk_id, []).append(
                f"Connects “{step.source}” and “{step.target}”"
            )
    return [
        ScoredChunk(chunk_id, 1 / place, tuple(why))
        for place, (chunk_id, why) in enumerate(reasons.items(), start=1)
    ]


def _records(connection: Connection) -> Iterator[Record]:
    for step in _once(connection):
        title = f"{step.source} – {step.predicate or 'connected to'} – {step.target}"
        text = " ".join((step.description or step.quote).split())
        if step.chunk_id is not None:
            yield Record(RecordKind.RELATIONSHIP, step.id, title, text, (step.chunk_id,), 1.0)


def _once(connection: Connection) -> list[Step]:
    return list({step.id: step for path in connection.paths for step in path}.values())
