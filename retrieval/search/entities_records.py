"""Build entity records: what the scope says of each, and the passages that say it.

A description may rest on documents outside the scope. For a scoped question, the text is built from
what is inside: a model's notes on the passages, else the sentences the description quotes, else the
sentence that first names the entity.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from kb_project.text.sentences import sentence_spans
from retrieval.search import graph_sql
from retrieval.search.entities_likeness import Look, passages_of, positions_of
from retrieval.search.found import Record, RecordKind
from retrieval.search.query import Query

SOURCES: Final = 8
"""Passages listed for a record; a hub is in hundreds."""
LONGEST: Final = 2_000
"""Characters of a record's text."""


@dataclass(frozen=True, slots=True)
class Known:
    """An entity's row. ``sources`` are the chunks and spans its description rests on."""

    id: UUID
    name: str
    type: str
    description: str
    sources: tuple[tuple[UUID, int, int], ...]
    degree: int


@dataclass(frozen=True, slots=True)
class Place:
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


def entities_of(query: Query, entity_ids: Iterable[UUID]) -> dict[UUID, Known]:
    """Return the rows of entities, except excluded ones."""
    wanted = list(set(entity_ids) - set(query.exclude))
    parameters = {"workspace": query.workspace_id, "entities": wanted}
    rows = run_sql(graph_sql.ENTITIES, parameters) if wanted else []
    return {row[0]: Known(row[0], row[1], row[2], row[3], _spans(row[4]), row[5]) for row in rows}


def places_of(query: Query, chunk_ids: Iterable[UUID], *, wants_text: bool) -> dict[UUID, Place]:
    """Return the passages that exist and are in the scope."""
    wanted = list(set(chunk_ids))
    if not wanted:
        return {}
    parameters = {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "chunks": wanted,
        "wants_text": wants_text,
    }
    return {row[0]: Place(*row[1:]) for row in run_sql(graph_sql.PLACES, parameters)}


def entity_records(
    query: Query,
    around: Look,
    known: Mapping[UUID, Known],
    ranked: Sequence[tuple[UUID, float, tuple[str, ...]]],
) -> list[Record]:
    """Build records in the given order, skipping unknown entities and those without a passage in
    scope."""
    wanted = [known[entity_id] for entity_id, _, _ in ranked if entity_id in known]
    positions = positions_of(around.index)
    sources = {one.id: _sources(around, one, positions.get(one.id)) for one in wanted}
    chunks = (chunk_id for found in sources.values() for chunk_id in found)
    places = places_of(query, chunks, wants_text=query.documents is not None)
    kept = {
        entity_id: [chunk_id for chunk_id in found if chunk_id in places][:SOURCES]
        for entity_id, found in sources.items()
    }
    texts = _texts(query, wanted, kept, places)
    return [
        Record(
            RecordKind.ENTITY,
            entity_id,
            known[entity_id].name,
            texts[entity_id][:LONGEST],
            tuple(kept[entity_id]),
            score,
            why,
        )
        for entity_id, score, why in ranked
        if kept.get(entity_id) and texts.get(entity_id)
    ]


def _sources(around: Look, known: Known, position: int | None) -> list[UUID]:
    """Return the description's passages, then others; more than are kept, since some may be
    gone."""
    described = [chunk_id for chunk_id, _, _ in known.sources]
    mentioned = passages_of(around, position)[: 2 * SOURCES] if position is not None else []
    return list(dict.fromkeys([*described, *mentioned]))


def _texts(
    query: Query,
    wanted: Sequence[Known],
    kept: Mapping[UUID, Sequence[UUID]],
    places: Mapping[UUID, Place],
) -> dict[UUID, str]:
    if query.documents is None:
        return {one.id: one.description or f"{one.name} ({one.type})" for one in wanted}
    notes = _notes(query, list(kept))
    named = _named_at(query, kept)
    return {
        one.id: " ".join(notes.get(one.id, ()))
        or _quoted(one, places)
        or _first_named(named, one.id, kept[one.id], places)
        for one in wanted
    }


def _notes(query: Query, entity_ids: list[UUID]) -> dict[UUID, list[str]]:
    parameters = {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "entities": entity_ids,
    }
    notes: defaultdict[UUID, list[str]] = defaultdict(list)
    for entity_id, _, text in run_sql(graph_sql.NOTES_ON, parameters):
        if text not in notes[entity_id]:
            notes[entity_id].append(text)
    return notes


def _named_at(query: Query, kept: Mapping[UUID, Sequence[UUID]]) -> dict[tuple[UUID, UUID], int]:
    chunks = {chunk_id for found in kept.values() for chunk_id in found}
    parameters = {
        "workspace": query.workspace_id,
        "chunks": list(chunks),
        "entities": list(kept),
    }
    rows = run_sql(graph_sql.NAMED_AT, parameters)
    return {(entity_id, chunk_id): start for entity_id, chunk_id, start in rows}


def _quoted(known: Known, places: Mapping[UUID, Place]) -> str:
    quotes = (
        places[chunk_id].quote(start, end)
        for chunk_id, start, end in known.sources
        if chunk_id in places
    )
    return " ".join(dict.fromkeys(quote for quote in quotes if quote))


def _first_named(
    named: Mapping[tuple[UUID, UUID], int],
    entity_id: UUID,
    kept: Sequence[UUID],
    places: Mapping[UUID, Place],
) -> str:
    for chunk_id in kept:
        start = named.get((entity_id, chunk_id))
        if start is not None:
            return places[chunk_id].sentence_at(start)
    return ""


def _spans(sources: str) -> tuple[tuple[UUID, int, int], ...]:
    """Parse ``sources``, JSON as Postgres writes it."""
    return tuple((UUID(one["chunk"]), one["start"], one["end"]) for one in json.loads(sources))
