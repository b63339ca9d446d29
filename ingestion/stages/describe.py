"""Describe: say what each changed entity and relationship is, in the documents' own words.

In: mentions and evidence of the entities and relationships marked as changed.  Out: their names,
types, counts, weights and descriptions, each sentence with its place.
Safe to repeat: everything is computed anew from the rows; the marks stay for the graph stage.
"""

from __future__ import annotations

import json
import uuid
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingestion import sql
from ingestion.models import Chunk, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql
from kb_project.text.sentences import sentence_spans
from workspaces import access

# Mentions looked at, and sentences kept, per entity.
MOST_MENTIONS = 6
MOST_SENTENCES = 3
# A sentence shorter than this is a heading or a caption; one longer is no description.
SHORTEST, LONGEST = 25, 500
BATCH = 500


@dataclass(frozen=True, slots=True)
class Place:
    """A span in a chunk; offsets in the document's text."""

    chunk_id: uuid.UUID
    start: int
    end: int

    def as_json(self) -> dict[str, object]:
        return {"chunk": str(self.chunk_id), "start": self.start, "end": self.end}


def run(job: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
    scope = {"workspace": job.workspace_id}
    with access.in_workspace(job.workspace_id), bulk_plans():
        for statement in (
            sql.BURY_RELATIONSHIPS,
            sql.BURY_ENTITIES,
            sql.COUNT_ENTITIES,
            sql.COUNT_RELATIONSHIPS,
        ):
            run_sql(statement, scope)
        introductions = _places_by_id(run_sql(sql.INTRODUCTIONS, {**scope, "most": MOST_MENTIONS}))
        best = _places_by_id(run_sql(sql.BEST_EVIDENCE, scope))
    described = describe_entities(job.workspace_id, introductions, progress)
    with access.in_workspace(job.workspace_id):
        describe_relationships(job.workspace_id, best)
    return StageOutcome(written=described + len(best))


def _places_by_id(
    rows: Iterable[tuple[uuid.UUID, uuid.UUID, int, int]],
) -> dict[uuid.UUID, list[Place]]:
    places: dict[uuid.UUID, list[Place]] = defaultdict(list)
    for row_id, chunk_id, start, end in rows:
        places[row_id].append(Place(chunk_id, start, end))
    return places


def describe_entities(
    workspace_id: uuid.UUID, introductions: Mapping[uuid.UUID, list[Place]], progress: Progress
) -> int:
    ids = list(introductions)
    for first in range(0, len(ids), BATCH):
        batch = {row_id: introductions[row_id] for row_id in ids[first : first + BATCH]}
        with access.in_workspace(workspace_id):
            chunks = _chunks(workspace_id, batch.values())
            _save_descriptions(workspace_id, batch, chunks)
        progress(min(first + BATCH, len(ids)), len(ids))
    return len(ids)


def _chunks(workspace_id: uuid.UUID, places: Iterable[Sequence[Place]]) -> dict[uuid.UUID, Passage]:
    ids = {place.chunk_id for group in places for place in group}
    rows = Chunk.objects.in_workspace(workspace_id).filter(pk__in=ids)
    return {
        pk: Passage(pk, start, text) for pk, start, text in rows.values_list("pk", "start", "text")
    }


class Passage:
    """A chunk's text with its sentences, found once."""

    def __init__(self, chunk_id: uuid.UUID, start: int, text: str) -> None:
        self.chunk_id = chunk_id
        self.start = start
        self.text = text
        self.sentences = sentence_spans(text)
        self._starts = [a for a, _ in self.sentences]

    def sentence_at(self, offset: int) -> Place | None:
        """The sentence that holds the document offset."""
        index = bisect_right(self._starts, offset - self.start) - 1
        if index < 0:
            return None
        start, end = self.sentences[index]
        return Place(self.chunk_id, self.start + start, self.start + end)

    def quote(self, place: Place) -> str:
        return self.text[place.start - self.start : place.end - self.start]


def _save_descriptions(
    workspace_id: uuid.UUID,
    mentions: Mapping[uuid.UUID, list[Place]],
    chunks: Mapping[uuid.UUID, Passage],
) -> None:
    described = {row_id: best_sentences(places, chunks) for row_id, places in mentions.items()}
    run_sql(
        sql.DESCRIBE_ENTITIES,
        {
            "workspace": workspace_id,
            "ids": list(described),
            "descriptions": [
                " ".join(_one_line(chunks[place.chunk_id].quote(place)) for place in sentences)
                for sentences in described.values()
            ],
            "sources": [
                json.dumps([place.as_json() for place in sentences])
                for sentences in described.values()
            ],
        },
    )


def best_sentences(mentions: Sequence[Place], chunks: Mapping[uuid.UUID, Passage]) -> list[Place]:
    """The sentences around the mentions, in the mentions' order, each text once.

    Fragments are taken only where there is nothing better.
    """
    places = []
    for mention in mentions:
        passage = chunks.get(mention.chunk_id)
        place = passage.sentence_at(mention.start) if passage else None
        if place:
            places.append(place)
    whole = [place for place in places if SHORTEST <= place.end - place.start <= LONGEST]
    seen: set[str] = set()
    kept = []
    for place in whole or places[:1]:
        text = _one_line(chunks[place.chunk_id].quote(place))
        if text not in seen:
            seen.add(text)
            kept.append(place)
    return kept[:MOST_SENTENCES]


def describe_relationships(workspace_id: uuid.UUID, best: Mapping[uuid.UUID, list[Place]]) -> None:
    chunks = _chunks(workspace_id, best.values())
    quotes = {
        row_id: _one_line(chunks[place.chunk_id].quote(place))
        for row_id, (place,) in best.items()
        if place.chunk_id in chunks
    }
    run_sql(
        sql.DESCRIBE_RELATIONSHIPS,
        {
            "workspace": workspace_id,
            "ids": list(quotes),
            "descriptions": [quote[:2000] for quote in quotes.values()],
        },
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
