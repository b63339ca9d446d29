"""Describe: write a description of each changed entity and relationship.

In: mentions, evidence and fragments of the entities and relationships marked as changed.  Out:
their names, types, counts, weights and descriptions, each with its places, and contradictions.
Safe to repeat: everything is recomputed from the rows; the marks stay for the graph stage.

What people wrote takes precedence (``recompute``): what the documents would say is kept beside it.
Without a chat model a description is made of the documents' own sentences. With one it is made of
the model's notes on each passage; what has no notes is described as without a model.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import LiteralString

from ingestion.models import Chunk, IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.describe import sql
from ingestion.stages.describe.quoting import (
    Chunks,
    PassageText,
    quoted_evidence,
    quoted_mentions,
)
from ingestion.stages.describe.recompute import recompute_rows
from ingestion.stages.describe.writing import (
    Describer,
    Description,
    Note,
    SourceSpan,
    Subject,
    from_notes,
)
from kb_project.ports import Ports
from kb_project.sql import Row, bulk_plans, run_sql
from kb_project.text.regions import from_json
from workspaces import access

# Mentions considered per entity.
MOST_MENTIONS = 24
BATCH = 500
# Answers between two progress reports, each of which renews the lease.
EVERY = 16

SpansById = Mapping[uuid.UUID, list[SourceSpan]]
Quote = Callable[[Sequence[SourceSpan], Chunks], Description | None]


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    scope = {"workspace": job.workspace_id}
    with access.in_workspace(job.workspace_id), bulk_plans():
        recompute_rows(job.workspace_id)
        mentions = _spans_by_id(run_sql(sql.INTRODUCTIONS, {**scope, "most": MOST_MENTIONS}))
        evidence = _spans_by_id(run_sql(sql.BEST_EVIDENCE, scope))
        entity_notes = _notes(run_sql(sql.ENTITY_NOTES, scope)) if ports.reader else {}
        link_notes = _notes(run_sql(sql.RELATIONSHIP_NOTES, scope)) if ports.reader else {}
    writer = _Writer(job.workspace_id, ports, progress)
    writer.write(mentions, entity_notes, quoted_mentions, sql.DESCRIBE_ENTITIES)
    writer.write(evidence, link_notes, quoted_evidence, sql.DESCRIBE_RELATIONSHIPS)
    return StageOutcome(written=len(mentions) + len(evidence))


def _spans_by_id(rows: Iterable[Row]) -> SpansById:
    spans: dict[uuid.UUID, list[SourceSpan]] = defaultdict(list)
    for row_id, *span in rows:
        spans[row_id].append(SourceSpan(*span))
    return spans


def _notes(rows: Iterable[Row]) -> dict[uuid.UUID, Subject]:
    """Notes by subject. Rows come grouped by subject, in the order of the notes."""
    subjects = {}
    for (row_id, name), group in groupby(rows, key=lambda row: row[:2]):
        notes = [Note(text, SourceSpan(*span)) for _, _, *span, text in group]
        subjects[row_id] = Subject(row_id, name, notes)
    return subjects


class _Writer:
    """Describes what changed, in batches that are each committed."""

    def __init__(self, workspace_id: uuid.UUID, ports: Ports, progress: Progress) -> None:
        self._workspace_id = workspace_id
        self._chat = ports.reader
        self._options = ports.options
        self._progress = progress
        self._answers = 0

    def write(
        self,
        spans: SpansById,
        notes: Mapping[uuid.UUID, Subject],
        quote: Quote,
        statement: LiteralString,
    ) -> None:
        """Describe each row from its notes, or else by quoting its spans."""
        ids = list(spans)
        for done in range(0, len(ids), BATCH):
            batch = ids[done : done + BATCH]
            subjects = [notes[one] for one in batch if one in notes]
            written = self._summarised(subjects, done, len(ids))
            with access.in_workspace(self._workspace_id):
                rest = {one: spans[one] for one in batch if one not in written}
                chunks = _chunks(self._workspace_id, rest.values())
                for one, found in rest.items():
                    if description := quote(found, chunks):
                        written[one] = description
                self._save(statement, written)
            self._progress(done + len(batch), len(ids))

    def _summarised(
        self, subjects: Sequence[Subject], done: int, total: int
    ) -> dict[uuid.UUID, Description]:
        if self._chat is None:
            return {}

        def answered() -> None:
            self._answers += 1
            if not self._answers % EVERY:
                self._progress(done, total)

        return from_notes(subjects, Describer(self._chat, answered, self._options))

    def _save(self, statement: LiteralString, written: Mapping[uuid.UUID, Description]) -> None:
        descriptions = list(written.values())
        values = {
            "workspace": self._workspace_id,
            "ids": list(written),
            "descriptions": [one.text for one in descriptions],
            "writers": [one.by for one in descriptions],
            "sources": [json.dumps([s.as_json() for s in one.sources]) for one in descriptions],
            "conflicts": [json.dumps([c.as_json() for c in one.conflicts]) for one in descriptions],
        }
        run_sql(statement, values)


def _chunks(
    workspace_id: uuid.UUID, spans: Iterable[Sequence[SourceSpan]]
) -> dict[uuid.UUID, PassageText]:
    ids = {span.chunk_id for group in spans for span in group}
    rows = Chunk.objects.in_workspace(workspace_id).filter(pk__in=ids)
    return {
        pk: PassageText(pk, start, text, from_json(regions))
        for pk, start, text, regions in rows.values_list("pk", "start", "text", "regions")
    }
