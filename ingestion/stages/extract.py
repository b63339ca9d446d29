"""Extract: find who and what each chunk speaks of, and how they are linked.

In: the chunks of a version.  Out: one ChunkExtraction a chunk, offsets in the document's text.
Safe to repeat: chunks already read by this method are left alone; each batch is committed.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from ingestion.extractors import METHOD, Extraction, extract_many
from ingestion.models import Chunk, ChunkExtraction, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from ingestion.selectors import version_of
from kb_project.ports import Ports
from workspaces import access

BATCH = 32

NOTHING_FOUND = (
    "No names were found in this document. It is found by words and meaning, but not by"
    " who and what it speaks of."
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as the extractor needs it."""

    chunk_id: uuid.UUID
    text: str
    start: int


def run(job: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
    with access.in_workspace(job.workspace_id):
        version = version_of(job)
        waiting, done = _passages(job)
    found = 0
    for first in range(0, len(waiting), BATCH):
        batch = waiting[first : first + BATCH]
        extractions = extract_many(
            [passage.text for passage in batch],
            language=version.language,
            title=version.document.title,
        )
        found += sum(len(extraction.mentions) for extraction in extractions)
        save(job.workspace_id, batch, extractions)
        if len(waiting) > BATCH:
            progress(done + first + len(batch), done + len(waiting))
    warnings = (NOTHING_FOUND,) if waiting and not done and not found else ()
    return StageOutcome(written=found, warnings=warnings)


def _passages(job: IngestionJob) -> tuple[list[Passage], int]:
    """The chunks not read yet by this method, and how many are."""
    chunks = Chunk.objects.in_workspace(job.workspace_id).filter(version=job.version_id)
    read = ChunkExtraction.objects.in_workspace(job.workspace_id).filter(
        chunk_id=OuterRef("pk"), method=METHOD
    )
    rows = list(
        chunks.annotate(is_read=Exists(read))
        .order_by("ordinal")
        .values_list("pk", "text", "start", "is_read")
    )
    waiting = [Passage(pk, text, start) for pk, text, start, is_read in rows if not is_read]
    return waiting, len(rows) - len(waiting)


def save(
    workspace_id: uuid.UUID, passages: Sequence[Passage], extractions: Sequence[Extraction]
) -> None:
    rows = [
        ChunkExtraction(
            workspace_id=workspace_id,
            chunk_id=passage.chunk_id,
            method=METHOD,
            payload=extraction.shifted(passage.start).as_json(),
        )
        for passage, extraction in zip(passages, extractions, strict=True)
    ]
    with access.in_workspace(workspace_id):
        ChunkExtraction.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["workspace", "chunk"],
            update_fields=["method", "payload"],
        )
