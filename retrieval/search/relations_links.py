"""Load relationships, weigh their relevance, and build records from them.

LightRAG orders an entity's edges by the degrees of their ends: what everything is related to comes
first, whatever was asked. Here an edge counts by what it says about the question: how close the
passages are that state it, how many of the question's words it shares, and how much its ends are
asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import Row, run_sql
from kb_project.text.terms import terms
from retrieval.search import graph_sql, query_features
from retrieval.search.entities_likeness import Look
from retrieval.search.entities_records import LONGEST, SOURCES, Known, Place, places_of
from retrieval.search.found import Record, RecordKind
from retrieval.search.query import Query

CLOSE: Final = 1.0
WORDS: Final = 1.0
ENDS: Final = 0.5
TOGETHER: Final = 0.5
"""Weight of a passage that only names both ends together, against one that states a
relationship."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a relationship is stated; offsets are in the document's text. ``note`` is a model's."""

    chunk_id: UUID
    start: int
    end: int
    predicate: str
    is_stated: bool
    note: str


@dataclass(frozen=True, slots=True)
class Link:
    """A directed relationship: A to B and B to A are two."""

    id: UUID
    source: UUID
    target: UUID
    description: str
    keywords: tuple[str, ...]
    weight: float
    evidence: tuple[Evidence, ...]

    @property
    def ends(self) -> tuple[UUID, UUID]:
        return self.source, self.target

    def other(self, entity_id: UUID) -> UUID:
        return self.target if entity_id == self.source else self.source


def links_of(query: Query, entity_ids: Sequence[UUID], count: int) -> list[Link]:
    """Return the relationships of some entities that the scope states: those between two of them,
    then the strongest."""
    return _with_evidence(query, _rows_of(query, entity_ids, count))


def chunks_stating(query: Query, entity_ids: Sequence[UUID], count: int) -> set[UUID]:
    """Return the passages that are evidence of what ``links_of`` returns."""
    links = [row[0] for row in _rows_of(query, entity_ids, count)]
    if not links:
        return set()
    parameters = _parameters(query) | {"relationships": links}
    return {chunk_id for (chunk_id,) in run_sql(graph_sql.CHUNKS_STATING, parameters)}


def _rows_of(query: Query, entity_ids: Sequence[UUID], count: int) -> Sequence[Row]:
    parameters = _parameters(query) | {"entities": list(entity_ids), "count": count}
    return run_sql(graph_sql.LINKS_OF, parameters) if entity_ids else []


def links_in(query: Query, closeness: Mapping[UUID, float], count: int) -> list[Link]:
    """Return the relationships that close passages are evidence of, those in the closest first."""
    near: defaultdict[UUID, float] = defaultdict(float)
    parameters = _parameters(query) | {"chunks": list(closeness)}
    for link, chunk_id, is_stated in run_sql(graph_sql.EVIDENCE_IN, parameters):
        near[link] = max(near[link], closeness[chunk_id] * (1.0 if is_stated else TOGETHER))
    best = sorted(near, key=lambda link: (-near[link], link))[:count]
    return _with_evidence(
        query, run_sql(graph_sql.LINKS, parameters | {"relationships": best}) if best else []
    )


def _with_evidence(query: Query, rows: Sequence[Row]) -> list[Link]:
    if not rows:
        return []
    parameters = _parameters(query) | {"relationships": [row[0] for row in rows]}
    evidence: defaultdict[UUID, list[Evidence]] = defaultdict(list)
    for link, *place in run_sql(graph_sql.EVIDENCE_OF, parameters):
        evidence[link].append(Evidence(*place))
    return [
        Link(link, source, target, said, tuple(words), float(weight), tuple(evidence[link]))
        for link, source, target, said, words, weight in rows
        if evidence[link]
    ]


def relevance(
    query: Query,
    around: Look,
    links: Iterable[Link],
    known: Mapping[UUID, Known],
    ends: Mapping[UUID, float],
) -> list[tuple[Link, float]]:
    """Score the relationships, best first. ``ends`` are the weights of entities."""
    wanted = frozenset(query_features.read(query.question).terms)
    most = max(ends.values(), default=0.0) or 1.0
    found = [
        (
            link,
            CLOSE * _closeness(around, link)
            + WORDS * _shared(link, known, wanted)
            + ENDS * sum(ends.get(end, 0.0) for end in link.ends) / most,
        )
        for link in links
        if all(end in known for end in link.ends)
    ]
    return sorted(found, key=lambda one: (-one[1], -one[0].weight, one[0].id))


def _closeness(around: Look, link: Link) -> float:
    return max(
        around.closeness(one.chunk_id) * (1.0 if one.is_stated else TOGETHER)
        for one in link.evidence
    )


def _shared(link: Link, known: Mapping[UUID, Known], wanted: frozenset[str]) -> float:
    """Return the share of the question's telling words that the relationship's text has."""
    if not wanted:
        return 0.0
    said = [
        *(known[end].name for end in link.ends),
        *link.keywords,
        link.description,
        *(one.predicate for one in link.evidence[:SOURCES]),
    ]
    return len(wanted.intersection(terms(" ".join(said)))) / len(wanted)


def link_records(
    query: Query,
    around: Look,
    ranked: Sequence[tuple[Link, float]],
    known: Mapping[UUID, Known],
) -> list[Record]:
    """Build records in the given order; a scoped question gets only what the scope states."""
    sources = {link.id: _sources(around, link) for link, _ in ranked}
    chunks = (chunk_id for found in sources.values() for chunk_id in found)
    is_scoped = query.documents is not None
    places = places_of(query, chunks, wants_text=is_scoped)
    return [
        Record(
            RecordKind.RELATIONSHIP,
            link.id,
            f"{known[link.source].name} → {known[link.target].name}",
            _text(link, known, places if is_scoped else {})[:LONGEST],
            tuple(chunk_id for chunk_id in sources[link.id] if chunk_id in places),
            score,
        )
        for link, score in ranked
        if not places.keys().isdisjoint(sources[link.id])
    ]


def _sources(around: Look, link: Link) -> list[UUID]:
    """Return the passages that state the relationship, those closest to the question first."""
    chunks = dict.fromkeys(one.chunk_id for one in link.evidence)
    return sorted(chunks, key=lambda chunk_id: -around.closeness(chunk_id))[:SOURCES]


def _text(link: Link, known: Mapping[UUID, Known], places: Mapping[UUID, Place]) -> str:
    if places:
        said = (
            one.note or places[one.chunk_id].quote(one.start, one.end)
            for one in link.evidence
            if one.chunk_id in places
        )
        return " ".join(dict.fromkeys(text for text in said if text))
    if link.description:
        return link.description
    predicates = dict.fromkeys(one.predicate for one in link.evidence if one.predicate)
    between = ", ".join(predicates) or "is named together with"
    return f"{known[link.source].name} {between} {known[link.target].name}."


def _parameters(query: Query) -> dict[str, object]:
    return {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "exclude": list(query.exclude),
    }
