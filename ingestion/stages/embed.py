"""Embed: make the vector of each situated chunk.

In: the chunks of a version.  Out: one ChunkEmbedding a chunk, under the embedder's fingerprint.
Safe to repeat: only chunks without a vector of this fingerprint are embedded; each batch is
committed, so that a stopped run goes on where it was.
"""

from __future__ import annotations

import uuid

from django.db.models import Exists, OuterRef

from ingestion.models import Chunk, ChunkEmbedding, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from kb_project.llm.ports import Vectors
from kb_project.ports import Ports
from workspaces import access

# Some seconds of work on a small machine: what a killed worker loses at most.
BATCH = 16


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    fingerprint = ports.embedder.fingerprint
    with access.in_workspace(job.workspace_id):
        waiting = without_vector(job, fingerprint)
        total = chunk_count(job) if len(waiting) > BATCH else len(waiting)
    done = total - len(waiting)
    for first in range(0, len(waiting), BATCH):
        batch = waiting[first : first + BATCH]
        vectors = ports.embedder.embed_passages([text for _, text in batch])
        save(job.workspace_id, [chunk for chunk, _ in batch], vectors, fingerprint)
        done += len(batch)
        if len(waiting) > BATCH:
            progress(done, total)
    return StageOutcome(written=len(waiting))


def chunk_count(job: IngestionJob) -> int:
    return Chunk.objects.in_workspace(job.workspace_id).filter(version=job.version_id).count()


def without_vector(job: IngestionJob, fingerprint: str) -> list[tuple[uuid.UUID, str]]:
    """Id and situated text of the version's chunks that have no vector of this model."""
    made = ChunkEmbedding.objects.in_workspace(job.workspace_id).filter(
        chunk_id=OuterRef("pk"), fingerprint=fingerprint
    )
    rows = (
        Chunk.objects.in_workspace(job.workspace_id)
        .filter(~Exists(made), version=job.version_id)
        .order_by("ordinal")
        .values_list("pk", "context", "text")
    )
    return [(pk, f"{context}\n{text}" if context else text) for pk, context, text in rows]


def save(
    workspace_id: uuid.UUID, chunk_ids: list[uuid.UUID], vectors: Vectors, fingerprint: str
) -> None:
    with access.in_workspace(workspace_id):
        ChunkEmbedding.objects.bulk_create(
            [
                ChunkEmbedding(
                    workspace_id=workspace_id,
                    chunk_id=chunk_id,
                    fingerprint=fingerprint,
                    vector=vector,
                )
                for chunk_id, vector in zip(chunk_ids, vectors, strict=True)
            ],
            update_conflicts=True,
            unique_fields=["workspace", "chunk", "fingerprint"],
            update_fields=["vector"],
        )
