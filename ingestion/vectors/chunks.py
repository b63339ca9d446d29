"""Vectors of chunks: which are wanted, which are missing, and writing them.

A workspace's ``EmbeddingIndex`` rows say which model its vectors come from. During a change of
model both fingerprints are wanted. Writers of vectors share the workspace's lock, the swap holds it
exclusively, so the swap sees every vector of the old model.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Final, LiteralString

import numpy as np
from django.db.models import Exists, OuterRef, QuerySet

from ingestion.models import Chunk, ChunkEmbedding, SentenceVector
from kb_project.llm.ports import Embedder, Vectors
from kb_project.ports import build_ports
from kb_project.sql import run_sql, run_sql_count
from workspaces import access
from workspaces.editions import source_id
from workspaces.models import EmbeddingIndex, IndexState
from workspaces.ports import LOCAL

Chunks = QuerySet[Chunk]

BATCH_CHARACTERS: Final = 8_000
"""Of chunks that are embedded and saved together: another workspace waits for a batch's end."""
CURRENT: Final = (IndexState.ACTIVE, IndexState.BUILDING)

HOLD_WITH_OTHERS: Final[LiteralString] = """
SELECT pg_advisory_xact_lock_shared(hashtextextended('vectors ' || %(workspace)s::text, 0))
"""
HOLD_ALONE: Final[LiteralString] = """
SELECT pg_advisory_xact_lock(hashtextextended('vectors ' || %(workspace)s::text, 0))
"""

# A chunk that was situated again, replaced or archived meanwhile gets no outdated vector. Where
# there are cells, a vector goes into the nearest one.
ADD_VECTORS: Final[LiteralString] = """
INSERT INTO ingestion_chunkembedding (workspace_id, chunk_id, fingerprint, vector, cell)
SELECT c.workspace_id, c.id, %(fingerprint)s::varchar, t.vector::halfvec,
       (SELECT number FROM ingestion_cell
         WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s::varchar
         ORDER BY centre <#> t.vector::halfvec LIMIT 1 FOR KEY SHARE)
  FROM unnest(%(chunks)s::uuid[], %(contexts)s::text[], %(vectors)s::text[])
       AS t (chunk, context, vector)
  JOIN ingestion_chunk AS c
    ON c.workspace_id = %(workspace)s AND c.id = t.chunk AND c.context = t.context
   FOR KEY SHARE OF c
ON CONFLICT (workspace_id, chunk_id, fingerprint)
   DO UPDATE SET vector = excluded.vector, cell = excluded.cell
"""

# Is there a passage that has some vector, but none of the new model?
WOULD_BE_LOST: Final[LiteralString] = """
SELECT EXISTS (
    SELECT FROM ingestion_chunkembedding AS old
     WHERE old.workspace_id = %(workspace)s AND old.fingerprint <> %(fingerprint)s
       AND NOT EXISTS (SELECT FROM ingestion_chunkembedding AS new
                        WHERE new.workspace_id = old.workspace_id AND new.chunk_id = old.chunk_id
                          AND new.fingerprint = %(fingerprint)s))
"""

DELETE_SOME: Final[LiteralString] = """
DELETE FROM ingestion_chunkembedding
 WHERE workspace_id = %(workspace)s AND (chunk_id, fingerprint) IN (
       SELECT chunk_id, fingerprint FROM ingestion_chunkembedding
        WHERE workspace_id = %(workspace)s AND fingerprint <> ALL(%(kept)s::text[])
        LIMIT %(most)s)
"""


def wanted(workspace_id: uuid.UUID) -> set[str]:
    """The fingerprints that the workspace chose; empty if it leaves the model to settings."""
    return set(_chosen(workspace_id).values())


def kept(workspace_id: uuid.UUID, embedder: Embedder) -> list[str]:
    """The fingerprints in use or being built.

    ``embedder`` is the one from settings, used if the workspace chose none.
    """
    return sorted({IndexState.ACTIVE: embedder.fingerprint, **_chosen(workspace_id)}.values())


def searched(workspace_id: uuid.UUID) -> str:
    """The fingerprint of the model whose vectors are searched."""
    return _chosen(workspace_id).get(IndexState.ACTIVE) or build_ports().embedder.fingerprint


def _chosen(workspace_id: uuid.UUID) -> dict[str, str]:
    """Fingerprint by state. A local index means the built-in model that settings name now."""
    workspace_id = source_id(workspace_id)
    with access.in_workspace(workspace_id):
        indexes = EmbeddingIndex.objects.in_workspace(workspace_id).filter(state__in=CURRENT)
        rows = indexes.values_list("state", "fingerprint", "provider")
        return {
            state: build_ports().embedder.fingerprint if provider == LOCAL else fingerprint
            for state, fingerprint, provider in rows
        }


def without(
    chunks: Chunks,
    workspace_id: uuid.UUID,
    fingerprint: str,
    vectors: type[ChunkEmbedding | SentenceVector] = ChunkEmbedding,
) -> Chunks:
    """The chunks that have no vector of this model, or whose sentences have none."""
    made = vectors.objects.in_workspace(workspace_id).filter(
        chunk_id=OuterRef("pk"), fingerprint=fingerprint
    )
    return chunks.filter(~Exists(made))


def in_batches(chunks: Sequence[Chunk], most: int) -> Iterator[list[Chunk]]:
    """Chunks in their order, so many at a time, and no more text than takes a few seconds."""
    batch: list[Chunk] = []
    characters = 0
    for chunk in chunks:
        if batch and (len(batch) == most or characters + len(chunk.text) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(chunk)
        characters += len(chunk.text)
    if batch:
        yield batch


def make(workspace_id: uuid.UUID, chunks: Sequence[Chunk], embedder: Embedder) -> None:
    """Embed the chunks' situated text and store the vectors. Call outside a transaction."""
    made = embedder.embed_passages([situated(chunk) for chunk in chunks])
    values = {
        "workspace": workspace_id,
        "fingerprint": embedder.fingerprint,
        "chunks": [chunk.pk for chunk in chunks],
        "contexts": [chunk.context for chunk in chunks],
        "vectors": literals(made),
    }
    with access.in_workspace(workspace_id):
        run_sql(HOLD_WITH_OTHERS, {"workspace": workspace_id})
        run_sql(ADD_VECTORS, values)


def situated(chunk: Chunk) -> str:
    """The text that is searched and embedded: the context, then the chunk."""
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def vectors_of(sent: Sequence[bytes]) -> Vectors:
    """Read what ``halfvec_send`` writes: the dimension and two empty bytes, then the numbers, each
    of two bytes with the higher first.
    """
    rows = np.frombuffer(b"".join(sent), ">f2").reshape(len(sent), -1)
    return rows[:, 2:].astype(np.float32)


def literals(rows: Vectors) -> list[str]:
    """Each vector in Postgres syntax.

    >>> literals(np.array([[0.5, -1.0]], np.float32))
    ['[0.5,-1.0]']
    """
    return ["[" + ",".join(map(repr, row)) + "]" for row in rows.tolist()]


def would_lose(workspace_id: uuid.UUID, fingerprint: str) -> bool:
    """Whether a swap would lose a passage. Holds the exclusive lock until the transaction ends."""
    values = {"workspace": workspace_id, "fingerprint": fingerprint}
    run_sql(HOLD_ALONE, {"workspace": workspace_id})
    [(is_lost,)] = run_sql(WOULD_BE_LOST, values)
    return bool(is_lost)


def delete_some(workspace_id: uuid.UUID, kept: Sequence[str], most: int) -> int:
    """Delete up to ``most`` vectors of other models; return how many."""
    values = {"workspace": workspace_id, "kept": list(kept), "most": most}
    with access.in_workspace(workspace_id):
        return run_sql_count(DELETE_SOME, values)


def has_others(workspace_id: uuid.UUID, kept: Sequence[str]) -> bool:
    with access.in_workspace(workspace_id):
        made = ChunkEmbedding.objects.in_workspace(workspace_id)
        return made.exclude(fingerprint__in=kept).exists()
