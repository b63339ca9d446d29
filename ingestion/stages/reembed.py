"""Reembed: bring all vectors of a workspace in line with the model it chose.

In: every situated chunk, and the workspace's embedding indexes.  Out: while an index is being
made, a vector of its model for every chunk, then the swap: searches use the new model from one
moment to the next. What neither model in use nor model to come needs is deleted at the end: the
old model's vectors, those of a change that was given up, and those of a model that settings named
before.
Safe to repeat: what has its vector is left alone, and the swap is one transaction.
"""

from __future__ import annotations

import time
import uuid
from typing import Final

from ingestion import vectors
from ingestion.models import Chunk, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from kb_project.llm.ports import Embedder
from kb_project.ports import Ports
from workspaces import access
from workspaces.models import EmbeddingIndex, IndexState
from workspaces.ports import ports_for

# As in the stage that embeds documents: what a killed worker loses at most.
BATCH = 16
PAGE = 256
DELETED_AT_ONCE = 2_000
# A search that began before the swap still reads the old vectors.
SECONDS_FOR_SEARCHES = 20.0
_A_WHILE: Final = 1.0


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    ports = ports_for(job.workspace_id) if is_stale(job.workspace_id, ports) else ports
    made = 0
    if ports.next_embedder is not None:
        made = change(job.workspace_id, ports.next_embedder, progress)
        ports = ports_for(job.workspace_id)
    made += embed_all(job.workspace_id, ports.embedder, progress)
    tidy(job.workspace_id, ports.embedder, progress)
    return StageOutcome(written=made)


def is_stale(workspace_id: uuid.UUID, ports: Ports) -> bool:
    """Whether somebody chose a model since the ports were made."""
    held = {each.fingerprint for each in (ports.embedder, ports.next_embedder) if each}
    return not vectors.wanted(workspace_id) <= held


def change(workspace_id: uuid.UUID, embedder: Embedder, progress: Progress) -> int:
    """Make the next model's vectors until nothing lacks one, and swap; or until it is given up."""
    made = 0
    while is_building(workspace_id, embedder.fingerprint):
        made += embed_all(workspace_id, embedder, progress, is_next=True)
        if swap(workspace_id, embedder.fingerprint):
            wait(progress)
            break
    return made


def is_building(workspace_id: uuid.UUID, fingerprint: str) -> bool:
    with access.in_workspace(workspace_id):
        return (
            EmbeddingIndex.objects.in_workspace(workspace_id)
            .filter(state=IndexState.BUILDING, fingerprint=fingerprint)
            .exists()
        )


def embed_all(
    workspace_id: uuid.UUID, embedder: Embedder, progress: Progress, *, is_next: bool = False
) -> int:
    """Make the vectors that are missing; how many. A change that was given up ends it."""
    with access.in_workspace(workspace_id):
        total = situated_chunks(workspace_id).count()
        missing = vectors.without(
            situated_chunks(workspace_id), workspace_id, embedder.fingerprint
        ).count()
    made = 0
    while page := next_page(workspace_id, embedder.fingerprint):
        for first in range(0, len(page), BATCH):
            vectors.make(workspace_id, page[first : first + BATCH], embedder)
            made += len(page[first : first + BATCH])
            progress(min(total, total - missing + made), total)
        if is_next and not is_building(workspace_id, embedder.fingerprint):
            break
    return made


def situated_chunks(workspace_id: uuid.UUID) -> vectors.Chunks:
    """Those whose words are indexed: the others come to their vectors with their document."""
    return Chunk.objects.in_workspace(workspace_id).filter(terms__isnull=False)


def next_page(workspace_id: uuid.UUID, fingerprint: str) -> list[Chunk]:
    with access.in_workspace(workspace_id):
        rows = vectors.without(situated_chunks(workspace_id), workspace_id, fingerprint)
        return list(rows.only("pk", "context", "text")[:PAGE])


def swap(workspace_id: uuid.UUID, fingerprint: str) -> bool:
    """Searches use the new model from here on; false while a passage would be lost."""
    with access.in_workspace(workspace_id):
        if vectors.would_lose(workspace_id, fingerprint):
            return False
        indexes = EmbeddingIndex.objects.in_workspace(workspace_id)
        building = indexes.select_for_update().filter(
            state=IndexState.BUILDING, fingerprint=fingerprint
        )
        if not building:
            return False
        indexes.filter(state=IndexState.ACTIVE).update(state=IndexState.RETIRED)
        building.update(state=IndexState.ACTIVE)
    return True


def wait(progress: Progress) -> None:
    until = time.monotonic() + SECONDS_FOR_SEARCHES
    while time.monotonic() < until:
        progress(1, 1)
        time.sleep(_A_WHILE)


def tidy(workspace_id: uuid.UUID, embedder: Embedder, progress: Progress) -> None:
    """Delete the vectors of models that are neither in use nor to come."""
    while vectors.delete_some(workspace_id, vectors.kept(workspace_id, embedder), DELETED_AT_ONCE):
        progress(1, 1)
