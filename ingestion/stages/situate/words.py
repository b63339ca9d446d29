"""Index the words of chunks: contexts, lengths and postings, written in batches."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Final, LiteralString

from ingestion.models import Chunk, ChunkEmbedding, Posting
from ingestion.stage import Progress
from ingestion.stages.situate.situated import Counted, Situated
from kb_project.sql import run_sql
from kb_project.text.terms import terms
from workspaces import access

BATCH = 400
# A longer term is not a word anyone searches for, but a hash or an encoded image.
TERM_LENGTH = 80
MOST_FREQUENT = 32_767  # what the column holds


def index(workspace_id: uuid.UUID, group: Sequence[Situated], progress: Progress) -> None:
    """Write contexts and postings, one transaction per batch; unchanged chunks are skipped."""
    rows = [
        (each, chunk, before)
        for each in group
        for chunk, before in zip(each.chunks, each.before, strict=True)
        if chunk.terms is None or chunk.context != before
    ]
    for each in group:
        each.written, each.before = 0, [chunk.context for chunk in each.chunks]
    counted = Counted(progress, len(rows))
    for first in range(0, len(rows), BATCH):
        batch = rows[first : first + BATCH]
        changed = [chunk.pk for _, chunk, before in batch if chunk.context != before]
        with access.in_workspace(workspace_id):
            postings = index_words(workspace_id, [chunk for _, chunk, _ in batch], changed)
        for (each, _, _), count in zip(batch, postings, strict=True):
            each.written += count
        if len(rows) > BATCH:
            counted.add(len(batch))


def index_words(
    workspace_id: uuid.UUID, chunks: Sequence[Chunk], changed: Sequence[uuid.UUID] = ()
) -> list[int]:
    """Write contexts, lengths and postings of some chunks; return each one's number of postings."""
    counts = [term_counts(situated(chunk)) for chunk in chunks]
    forget(workspace_id, chunks, set(changed))
    for chunk, counted in zip(chunks, counts, strict=True):
        chunk.terms = counted.total()
    there = run_sql(
        SITUATE_CHUNKS,
        {
            "workspace": workspace_id,
            "chunks": [chunk.pk for chunk in chunks],
            "contexts": [chunk.context for chunk in chunks],
            "lengths": [chunk.terms for chunk in chunks],
        },
    )
    here = {pk for (pk,) in there}
    pairs = [
        (one.pk, counted) for one, counted in zip(chunks, counts, strict=True) if one.pk in here
    ]
    run_sql(
        ADD_POSTINGS,
        {
            "workspace": workspace_id,
            "terms": [term for _, counted in pairs for term in counted],
            "chunks": [pk for pk, counted in pairs for _ in counted],
            "frequencies": [
                min(n, MOST_FREQUENT) for _, counted in pairs for n in counted.values()
            ],
        },
    )
    return [len(counted) for counted in counts]


def forget(workspace_id: uuid.UUID, chunks: Sequence[Chunk], changed: set[uuid.UUID]) -> None:
    """Drop the chunks' existing postings, and vectors made from outdated contexts.

    A chunk whose words were never indexed has neither.
    """
    ids = [chunk.pk for chunk in chunks if chunk.terms is not None]
    if ids:
        Posting.objects.in_workspace(workspace_id).filter(chunk_id__in=ids).delete()
    if stale := [pk for pk in ids if pk in changed]:
        ChunkEmbedding.objects.in_workspace(workspace_id).filter(chunk_id__in=stale).delete()


def situated(chunk: Chunk) -> str:
    """The text that is searched and embedded: the context, then the chunk."""
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def term_counts(text: str) -> Counter[str]:
    return Counter(term for term in terms(text) if len(term) <= TERM_LENGTH)


# Arrays in one statement: faster than COPY through a temporary table for a document's few hundred
# rows, and row-level security refuses COPY itself.
ADD_POSTINGS: Final[LiteralString] = """
INSERT INTO ingestion_posting (workspace_id, term, chunk_id, frequency)
SELECT %(workspace)s, t.term, t.chunk, t.frequency
  FROM unnest(%(terms)s::text[], %(chunks)s::uuid[], %(frequencies)s::int2[])
       AS t (term, chunk, frequency)
"""


# Returns those that still exist: a chunk may have been archived or replaced meanwhile.
SITUATE_CHUNKS: Final[LiteralString] = """
UPDATE ingestion_chunk AS c SET context = t.context, terms = t.terms
  FROM unnest(%(chunks)s::uuid[], %(contexts)s::text[], %(lengths)s::int4[])
       AS t (chunk, context, terms)
 WHERE c.workspace_id = %(workspace)s AND c.id = t.chunk
RETURNING c.id
"""
