"""Reembed: bring all vectors of a workspace in line with the chosen embedding model.

In: every situated chunk, and the workspace's embedding indexes.  Out: while an index is being
built, a vector of its model for every chunk; then a swap, so that all searches switch to the new
model at once. At the end, vectors that neither the current nor the next model needs are deleted:
those of the old model, of an abandoned change, and of a model that the settings named before.
Safe to repeat: chunks that have their vector are skipped, and the swap is one transaction.
"""

from __future__ import annotations

import time
import uuid
from typing import Final

from ingestion.models import Chunk, IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.vectors import chunks
from kb_project.llm.ports import Embedder
from kb_project.ports import Ports
from workspaces import access
from workspaces.models import EmbeddingIndex, IndexState
from workspaces.ports import ports_for

# As in the embed stage: the most that a killed worker loses.
BATCH = 16
PAGE = 256
DELETED_AT_ONCE = 2_000
# Searches that began before the swap still read the old vectors.
SECONDS_FOR_SEARCHES = 20.0
_A_WHILE: Final = 1.0


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    held = {each.fingerprint for each in (ports.embedder, ports.next_embedder) if each}
    if not chunks.wanted(job.workspace_id) <= held:
        # A different model was chosen after these ports were built.
        ports = ports_for(job.workspace_id)
    made = 0
    if ports.next_embedder is not None:
        made = change(job.workspace_id, ports.next_embedder, progress)
        ports = ports_for(job.workspace_id)
    made += embed_all(job.workspace_id, ports.embedder, progress)
    # Delete the vectors of models that are neither current nor next.
    while chunks.delete_some(
        job.workspace_id, chunks.kept(job.workspace_id, ports.embedder), DELETED_AT_ONCE
    ):
        progress(1, 1)
    return StageOutcome(written=made)


def change(workspace_id: uuid.UUID, embedder: Embedder, progress: Progress) -> int:
    """Build the next model's vectors until none is missing, then swap; stop if it is abandoned."""
    made = 0
    while is_building(workspace_id, embedder.fingerprint):
        made += embed_all(workspace_id, embedder, progress, is_next=True)
        if swap(workspace_id, embedder.fingerprint):
            until = time.monotonic() + SECONDS_FOR_SEARCHES
            while time.monotonic() < until:
                progress(1, 1)
                time.sleep(_A_WHILE)
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
    """Make the missing vectors and return how many. Stops if the change is abandoned."""
    # Chunks whose words are indexed; the others get their vectors along with their document.
    situated = Chunk.objects.in_workspace(workspace_id).filter(terms__isnull=False)
    waiting = chunks.without(situated, workspace_id, embedder.fingerprint)
    with access.in_workspace(workspace_id):
        total, missing = situated.count(), waiting.count()

    def next_page() -> list[Chunk]:
        with access.in_workspace(workspace_id):
            return list(waiting.only("pk", "context", "text")[:PAGE])

    made = 0
    while page := next_page():
        for batch in chunks.in_batches(page, BATCH):
            chunks.make(workspace_id, batch, embedder)
            made += len(batch)
            progress(min(total, total - missing + made), total)
        if is_next and not is_building(workspace_id, embedder.fingerprint):
            break
    return made


def swap(workspace_id: uuid.UUID, fingerprint: str) -> bool:
    """Make searches use the new model. False while that would lose a passage."""
    with access.in_workspace(workspace_id):
        if chunks.would_lose(workspace_id, fingerprint):
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
