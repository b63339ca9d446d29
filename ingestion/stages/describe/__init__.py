"""Describe: write a description of each changed entity and relationship.

In: mentions, evidence and fragments of the entities and relationships marked as changed.  Out:
their names, types, counts, weights and descriptions, each with its places, and contradictions.
Safe to repeat: everything is recomputed from the rows; the marks stay for the graph stage.

What people wrote takes precedence (``recompute``): what the documents would say is kept beside it.
Without a chat model a description is made of the documents' own sentences. With one it is made of
the model's notes on each passage (``summarise``); what has no notes is described as without a
model.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from ingestion.models import Chunk, IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.describe import sql, summarise
from ingestion.stages.describe.extractive import Passage, best_sentences, quoted, quoted_evidence
from ingestion.stages.describe.recompute import recompute_rows
from ingestion.stages.describe.written import Note, Place, Subject, Written
from kb_project.llm.ports import ChatModel
from kb_project.ports import Ports
from kb_project.sql import Row, bulk_plans, run_sql
from kb_project.text.regions import from_json
from workspaces import access

__all__ = ["BATCH", "Passage", "Place", "best_sentences", "run"]

# Mentions considered per entity.
MOST_MENTIONS = 6
BATCH = 500
# Answers between two progress reports, each of which renews the lease.
EVERY = 16

Places = Mapping[uuid.UUID, list[Place]]
Notes = Mapping[uuid.UUID, Subject]


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    scope = {"workspace": job.workspace_id}
    with access.in_workspace(job.workspace_id), bulk_plans():
        recompute_rows(job.workspace_id)
        introductions = _places_by_id(run_sql(sql.INTRODUCTIONS, {**scope, "most": MOST_MENTIONS}))
        best = _places_by_id(run_sql(sql.BEST_EVIDENCE, scope))
        entity_notes = _notes(run_sql(sql.ENTITY_NOTES, scope)) if ports.chat else {}
        link_notes = _notes(run_sql(sql.RELATIONSHIP_NOTES, scope)) if ports.chat else {}
    writer = _Writer(job.workspace_id, ports.chat, progress)
    writer.entities(introductions, entity_notes)
    writer.relationships(best, link_notes)
    return StageOutcome(written=len(introductions) + len(best))


def _places_by_id(rows: Iterable[Row]) -> dict[uuid.UUID, list[Place]]:
    places: dict[uuid.UUID, list[Place]] = defaultdict(list)
    for row_id, chunk_id, start, end in rows:
        places[row_id].append(Place(chunk_id, start, end))
    return places


def _notes(rows: Iterable[Row]) -> dict[uuid.UUID, Subject]:
    """Notes by subject. Rows come grouped by subject, in the order of the notes."""
    subjects = {}
    for row_id, group in groupby(rows, key=lambda row: row[0]):
        said = list(group)
        notes = [Note(text, Place(chunk, start, end)) for _, _, chunk, start, end, text in said]
        subjects[row_id] = Subject(row_id, said[0][1], notes)
    return subjects


class _Writer:
    """Describes what changed, in batches that are each committed."""

    def __init__(self, workspace_id: uuid.UUID, chat: ChatModel | None, progress: Progress) -> None:
        self._workspace_id = workspace_id
        self._chat = chat
        self._progress = progress
        self._answers = 0

    def entities(self, introductions: Places, notes: Notes) -> None:
        total = len(introductions)
        for done, batch in _batches(introductions):
            written = self._summarised(batch, notes, done - len(batch), total)
            with access.in_workspace(self._workspace_id):
                rest = {one: introductions[one] for one in batch if one not in written}
                chunks = _chunks(self._workspace_id, rest.values())
                written |= {one: quoted(places, chunks) for one, places in rest.items()}
                self._save(sql.DESCRIBE_ENTITIES, written, sources=_sources)
            self._progress(done, total)

    def relationships(self, best: Places, notes: Notes) -> None:
        for done, batch in _batches(best):
            written = self._summarised(batch, notes, done - len(batch), len(best))
            with access.in_workspace(self._workspace_id):
                rest = {one: best[one] for one in batch if one not in written}
                chunks = _chunks(self._workspace_id, rest.values())
                made = {one: quoted_evidence(places, chunks) for one, places in rest.items()}
                written |= {one: said for one, said in made.items() if said}
                self._save(sql.DESCRIBE_RELATIONSHIPS, written)

    def _summarised(
        self, batch: Sequence[uuid.UUID], notes: Notes, done: int, total: int
    ) -> dict[uuid.UUID, Written]:
        if self._chat is None:
            return {}

        def answered() -> None:
            self._answers += 1
            if not self._answers % EVERY:
                self._progress(done, total)

        subjects = [notes[one] for one in batch if one in notes]
        return summarise.describe(subjects, self._chat, answered)

    def _save(
        self,
        statement: sql.LiteralString,
        written: Mapping[uuid.UUID, Written],
        **more: Callable[[Written], object],
    ) -> None:
        said = list(written.values())
        values: dict[str, object] = {
            "workspace": self._workspace_id,
            "ids": list(written),
            "descriptions": [one.text for one in said],
            "writers": [one.by for one in said],
            "conflicts": [json.dumps([each.as_json() for each in one.conflicts]) for one in said],
        }
        values |= {name: [value_of(one) for one in said] for name, value_of in more.items()}
        run_sql(statement, values)


def _sources(written: Written) -> str:
    return json.dumps([place.as_json() for place in written.places])


def _batches(found: Places) -> Iterable[tuple[int, list[uuid.UUID]]]:
    """The ids in batches, each with how many are done once it is."""
    ids = list(found)
    for first in range(0, len(ids), BATCH):
        batch = ids[first : first + BATCH]
        yield first + len(batch), batch


def _chunks(workspace_id: uuid.UUID, places: Iterable[Sequence[Place]]) -> dict[uuid.UUID, Passage]:
    ids = {place.chunk_id for group in places for place in group}
    rows = Chunk.objects.in_workspace(workspace_id).filter(pk__in=ids)
    return {
        pk: Passage(pk, start, text, from_json(regions))
        for pk, start, text, regions in rows.values_list("pk", "start", "text", "regions")
    }
