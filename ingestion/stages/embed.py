"""Embed: make the vectors of situated chunks, then those of their sentences.

In: the chunks of a group of versions.  Out: one ChunkEmbedding per chunk, under the embedder's
fingerprint; during a model change, another one under the next embedder's fingerprint; and a
SentenceVector for each sentence.
Safe to repeat: only what has no vector of the fingerprint is embedded. Each batch is committed, so
a stopped run resumes where it was.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence

from ingestion.models import Chunk, IngestionJob, SentenceVector
from ingestion.stage import Progress, StageOutcome
from ingestion.vectors import chunks as chunk_vectors, sentences
from kb_project.llm.ports import Embedder
from kb_project.ports import Ports, build_ports
from workspaces import access
from workspaces.ports import ports_for

# A few seconds of work on a small machine: the most that a killed worker loses.
BATCH = 16
# How many model changes are followed while one group is embedded.
MOST_CHANGES = 3


def run(jobs: Sequence[IngestionJob], ports: Ports, progress: Progress) -> list[StageOutcome]:
    workspace_id, versions = jobs[0].workspace_id, [job.version_id for job in jobs]
    made: Counter[uuid.UUID | None] = Counter()
    for _ in range(MOST_CHANGES):
        embedders = [each for each in (ports.embedder, ports.next_embedder) if each]
        for embedder in embedders:
            made += embed(workspace_id, versions, embedder, progress)
        # Meanwhile another model may have been chosen, or the swap may have happened.
        if chunk_vectors.wanted(workspace_id) <= {each.fingerprint for each in embedders}:
            break
        ports = ports_for(workspace_id)
    embed_sentences(workspace_id, versions, build_ports().embedder, progress)
    return [StageOutcome(written=made[version]) for version in versions]


def embed(
    workspace_id: uuid.UUID,
    versions: Sequence[uuid.UUID | None],
    embedder: Embedder,
    progress: Progress,
) -> Counter[uuid.UUID | None]:
    """Make the missing vectors and return how many for each version."""
    with access.in_workspace(workspace_id):
        chunks = Chunk.objects.in_workspace(workspace_id).filter(version__in=versions)
        waiting = list(
            chunk_vectors.without(chunks, workspace_id, embedder.fingerprint)
            .order_by("version_id", "ordinal")
            .only("pk", "version_id", "context", "text")
        )
        total = chunks.count() if len(waiting) > BATCH else len(waiting)
    done = total - len(waiting)
    for batch in chunk_vectors.in_batches(waiting, BATCH):
        chunk_vectors.make(workspace_id, batch, embedder)
        done += len(batch)
        if len(batch) < len(waiting):
            progress(done, total)
    return Counter(chunk.version_id for chunk in waiting)


def embed_sentences(
    workspace_id: uuid.UUID,
    versions: Sequence[uuid.UUID | None],
    embedder: Embedder,
    progress: Progress,
) -> None:
    """Make the missing sentence vectors."""
    with access.in_workspace(workspace_id):
        chunks = Chunk.objects.in_workspace(workspace_id).filter(version__in=versions)
        waiting = list(
            chunk_vectors.without(chunks, workspace_id, embedder.fingerprint, SentenceVector)
            .order_by("version_id", "ordinal")
            .select_related("document")
            .only("pk", "text", "regions", "heading_path", "document__title")
        )
    done = 0
    for batch in chunk_vectors.in_batches(waiting, sentences.BATCH):
        sentences.make(workspace_id, batch, embedder)
        done += len(batch)
        if len(batch) < len(waiting):
            progress(done, len(waiting))
