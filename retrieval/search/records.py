"""Entities and relationships as records: what the scope says of each, and the passages that say it.

A description may rest on documents outside the scope. For a scoped question, an entity's text is
built from what is inside: a model's notes on the passages, else the sentences the description
quotes, else the sentence that first names the entity.

LightRAG orders an entity's relationships by the degrees of their ends: what everything is related
to comes first, whatever was asked. Here a relationship counts by what it says about the question:
how close the passages are that state it, how many of the question's words it shares, and how much
its ends are asked for.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, NamedTuple
from uuid import UUID

from kb_project.graph.compact import NOWHERE
from kb_project.sql import run_sql
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import terms
from retrieval.search import as_of, query_features, records_sql
from retrieval.search.keywords import GraphView, passages_of
from retrieval.search.query import Query
from retrieval.search.results import Record, RecordKind

SOURCES: Final = 8
"""Passages listed for a record; a hub is in hundreds."""
LONGEST: Final = 2_000
"""Characters of a record's text."""
CLOSE: Final = 1.0
WORDS: Final = 1.0
ENDS: Final = 0.5
TOGETHER: Final = 0.5
"""Weight of a passage that only names both ends together, against one that states a
relationship."""


@dataclass(frozen=True, slots=True)
class ScopedPassage:
    """A passage of the scope: its offset in its document, and its text if requested."""

    start: int
    text: str

    def quote(self, start: int, end: int) -> str:
        return " ".join(self.text[max(0, start - self.start) : end - self.start].split())

    def sentence_at(self, offset: int) -> str:
        """Return the sentence at an offset in the document's text."""
        inside = offset - self.start
        for start, end in sentence_spans(self.text):
            if inside < end:
                return " ".join(self.text[start:end].split())
        return ""


def scoped_passages(
    query: Query, chunk_ids: Iterable[UUID], *, wants_text: bool
) -> dict[UUID, ScopedPassage]:
    """Return the passages that exist and are in the scope."""
    wanted = list(set(chunk_ids))
    parameters = query.parameters(chunks=wanted, wants_text=wants_text)
    rows = run_sql(records_sql.PLACES, parameters) if wanted else []
    return {chunk_id: ScopedPassage(start, text) for chunk_id, start, text in rows}


# --- entities -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntityFacts:
    id: UUID
    name: str
    type: str
    description: str
    description_sources: str
    """JSON as Postgres writes it, read of the few that are shown."""

    @property
    def sources(self) -> list[tuple[UUID, int, int]]:
        """The chunks and spans the description rests on."""
        spans = json.loads(self.description_sources)
        return [(UUID(one["chunk"]), one["start"], one["end"]) for one in spans]


def entities_of(query: Query, entity_ids: Iterable[UUID]) -> dict[UUID, EntityFacts]:
    """Return the rows of entities, except excluded ones."""
    wanted = list(set(entity_ids) - set(query.exclude))
    rows = run_sql(records_sql.ENTITIES, query.parameters(entities=wanted)) if wanted else []
    return {row[0]: EntityFacts(*row) for row in rows}


def entity_records(
    query: Query, view: GraphView, rows: Mapping[UUID, EntityFacts], scores: Mapping[UUID, float]
) -> list[Record]:
    """Build records in the order of ``scores``, skipping unknown entities and those without a
    passage in scope."""
    wanted = [rows[entity_id] for entity_id in scores if entity_id in rows]
    places = view.index.entity_ids.places([one.id for one in wanted]).tolist()
    sources = {
        one.id: _entity_sources(view, one, place) for one, place in zip(wanted, places, strict=True)
    }
    chunks = (chunk_id for found in sources.values() for chunk_id in found)
    passages = scoped_passages(query, chunks, wants_text=query.is_scoped)
    kept = {
        entity_id: [chunk_id for chunk_id in found if chunk_id in passages][:SOURCES]
        for entity_id, found in sources.items()
    }
    texts = _entity_texts(query, wanted, kept, passages)
    return [
        Record(
            *(RecordKind.ENTITY, one.id, one.name, texts[one.id][:LONGEST]),
            *(tuple(kept[one.id]), scores[one.id]),
        )
        for one in wanted
        if kept[one.id] and texts[one.id]
    ]


def _entity_sources(view: GraphView, entity: EntityFacts, place: int) -> list[UUID]:
    """Return the description's passages, then others; more than are kept, since some may be
    gone."""
    described = [chunk_id for chunk_id, _, _ in entity.sources]
    mentioned = passages_of(view, place, 2 * SOURCES) if place != NOWHERE else []
    return list(dict.fromkeys([*described, *mentioned]))


def _entity_texts(
    query: Query,
    wanted: Sequence[EntityFacts],
    kept: Mapping[UUID, Sequence[UUID]],
    passages: Mapping[UUID, ScopedPassage],
) -> dict[UUID, str]:
    if not query.is_scoped:
        return {one.id: one.description or f"{one.name} ({one.type})" for one in wanted}
    chunks = list({chunk_id for found in kept.values() for chunk_id in found})
    parameters = query.parameters(entities=list(kept), chunks=chunks)
    notes: defaultdict[UUID, dict[str, None]] = defaultdict(dict)
    for entity_id, _, text in run_sql(records_sql.NOTES_ON, parameters):
        notes[entity_id][text] = None
    named = {
        (entity, chunk): start for entity, chunk, start in run_sql(records_sql.NAMED_AT, parameters)
    }

    def first_named(one: EntityFacts) -> str:
        for chunk_id in kept[one.id]:
            if (one.id, chunk_id) in named:
                sentence = passages[chunk_id].sentence_at(named[one.id, chunk_id])
                return sentence if as_of.holds(sentence, query.as_of) else ""
        return ""

    return {
        one.id: " ".join(notes[one.id]) or _quoted(one, passages, query.as_of) or first_named(one)
        for one in wanted
    }


def _quoted(entity: EntityFacts, passages: Mapping[UUID, ScopedPassage], date: str) -> str:
    quotes = (
        passages[chunk_id].quote(start, end)
        for chunk_id, start, end in entity.sources
        if chunk_id in passages
    )
    held = (quote for quote in quotes if quote and as_of.holds(quote, date))
    return " ".join(dict.fromkeys(held))


# --- relationships --------------------------------------------------------------------------------


class Evidence(NamedTuple):
    """Where a relationship is stated; offsets are in the document's text. ``note`` is a model's."""

    chunk_id: UUID
    start: int
    end: int
    predicate: str
    note: str


@dataclass(frozen=True, slots=True)
class Relationship:
    """A directed relationship: A to B and B to A are two.

    ``predicates`` are those of its strongest evidence, ``closeness`` is that of the closest passage
    that states it. The whole ``evidence`` is read for the few that are shown: hubs have thousands.
    """

    id: UUID
    source: UUID
    target: UUID
    description: str
    keywords: tuple[str, ...]
    weight: float
    predicates: Sequence[str]
    closeness: float = 0.0
    evidence: tuple[Evidence, ...] = ()

    @property
    def ends(self) -> tuple[UUID, UUID]:
        return self.source, self.target

    def other(self, entity_id: UUID) -> UUID:
        return self.target if entity_id == self.source else self.source


def relationship_ids(query: Query, entity_ids: Sequence[UUID], count: int) -> list[UUID]:
    """Return the relationships of some entities: those between two of the entities, then the
    strongest."""
    parameters = query.parameters(entities=list(entity_ids), count=count)
    rows = run_sql(records_sql.RELATIONSHIPS_OF, parameters) if entity_ids else []
    return [id_ for (id_,) in rows]


def relationship_ids_near(query: Query, view: GraphView, passages: int, count: int) -> list[UUID]:
    """Return the relationships that the closest passages are evidence of: those in the closest
    first."""
    closest = sorted(view.close, key=lambda chunk_id: (-view.close[chunk_id], chunk_id))[:passages]
    parameters = query.parameters(
        chunks=closest,
        closeness=[view.close[chunk_id] for chunk_id in closest],
        together=TOGETHER,
        count=count,
    )
    return [id_ for (id_,) in run_sql(records_sql.RELATIONSHIPS_NEAR, parameters)]


def relationships_stated(
    query: Query, view: GraphView, ids: Sequence[UUID], *, is_weighed: bool = True
) -> list[Relationship]:
    """Return these relationships, as far as the scope states them, in this order, without their
    evidence. Unless they are to be weighed, predicates and closeness may be missing: reading all
    evidence takes longest."""
    if not ids:
        return []
    rows = {
        row[0]: row
        for row in run_sql(records_sql.RELATIONSHIPS, query.parameters(relationships=list(ids)))
    }
    found: dict[UUID, tuple[Sequence[str], float]] = dict.fromkeys(rows, ((), 0.0))
    if is_weighed or query.is_scoped:
        parameters = query.parameters(
            relationships=list(ids),
            chunks=list(view.close),
            closeness=list(view.close.values()),
            together=TOGETHER,
            sources=SOURCES,
        )
        weighed = run_sql(records_sql.EVIDENCE_WEIGHED, parameters)
        found = {id_: (predicates, closeness) for id_, predicates, closeness in weighed}
    return [
        Relationship(id_, source, target, text, tuple(words), float(weight), *found[id_])
        for id_, source, target, text, words, weight in (rows[one] for one in ids if one in rows)
        if id_ in found
    ]


def stating(
    query: Query, relationships: Sequence[UUID], chunk_ids: Sequence[UUID]
) -> list[tuple[UUID, UUID]]:
    """Return which of some passages state which of some relationships: pairs of both ids."""
    parameters = query.parameters(relationships=relationships, chunks=chunk_ids)
    return [(row[0], row[1]) for row in run_sql(records_sql.STATING, parameters)]


def with_evidence(query: Query, relationships: Sequence[Relationship]) -> list[Relationship]:
    """Read the evidence of relationships, strongest first."""
    parameters = query.parameters(relationships=[one.id for one in relationships])
    evidence: defaultdict[UUID, list[Evidence]] = defaultdict(list)
    for row in run_sql(records_sql.EVIDENCE_OF, parameters) if relationships else []:
        evidence[row[0]].append(Evidence._make(row[1:]))
    return [replace(one, evidence=tuple(evidence[one.id])) for one in relationships]


def by_relevance(
    query: Query,
    relationships: Iterable[Relationship],
    rows: Mapping[UUID, EntityFacts],
    ends: Mapping[UUID, float],
) -> list[tuple[Relationship, float]]:
    """Score the relationships, best first. ``ends`` are the weights of entities."""
    wanted = frozenset(query_features.read(query.question).terms)
    most = max(ends.values(), default=0.0) or 1.0

    @cache
    def asked_in(text: str) -> frozenset[str]:
        """The question's telling words in a text: names and predicates recur."""
        return wanted.intersection(terms(text))

    def score(one: Relationship) -> float:
        names = (rows[end].name for end in one.ends)
        shared: frozenset[str] = frozenset().union(
            *map(asked_in, (*names, *one.keywords, one.description, *one.predicates))
        )
        asked = sum(ends.get(end, 0.0) for end in one.ends) / most
        words = len(shared) / (len(wanted) or 1)
        return CLOSE * one.closeness + WORDS * words + ENDS * asked

    known = (one for one in relationships if all(end in rows for end in one.ends))
    scored = [(one, score(one)) for one in known]
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0].weight, pair[0].id))


def relationship_records(
    query: Query,
    view: GraphView,
    ranked: Sequence[tuple[Relationship, float]],
    rows: Mapping[UUID, EntityFacts],
) -> list[Record]:
    """Build records in the given order; a scoped question gets only what the scope states. The
    relationships have their evidence."""
    sources = {}
    for one, _ in ranked:
        chunks = dict.fromkeys(place.chunk_id for place in one.evidence)
        sources[one.id] = sorted(chunks, key=lambda chunk_id: -view.closeness(chunk_id))[:SOURCES]
    is_scoped = query.is_scoped
    wanted = (chunk_id for found in sources.values() for chunk_id in found)
    passages = scoped_passages(query, wanted, wants_text=is_scoped)
    return [
        Record(
            RecordKind.RELATIONSHIP,
            one.id,
            f"{rows[one.source].name} → {rows[one.target].name}",
            _relationship_text(one, rows, passages if is_scoped else {})[:LONGEST],
            tuple(chunk_id for chunk_id in sources[one.id] if chunk_id in passages),
            score,
        )
        for one, score in ranked
        if not passages.keys().isdisjoint(sources[one.id])
    ]


def _relationship_text(
    one: Relationship, rows: Mapping[UUID, EntityFacts], passages: Mapping[UUID, ScopedPassage]
) -> str:
    if passages:
        statements = (
            place.note or passages[place.chunk_id].quote(place.start, place.end)
            for place in one.evidence
            if place.chunk_id in passages
        )
        return " ".join(dict.fromkeys(filter(None, statements)))
    if one.description:
        return one.description
    predicates = dict.fromkeys(place.predicate for place in one.evidence if place.predicate)
    between = ", ".join(predicates) or "is named together with"
    return f"{rows[one.source].name} {between} {rows[one.target].name}."
