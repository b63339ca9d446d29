"""Dense: the passages nearest to the question, by the vectors of their situated text."""

from __future__ import annotations

from uuid import UUID

from ingestion.knowledge import corpus
from kb_project.sql import run_sql
from retrieval.search import sql
from retrieval.search.query import Query, ScoredChunk


def search(query: Query) -> list[ScoredChunk]:
    found = nearest(query, query.top_k)
    note_pending(query)
    return [
        ScoredChunk(chunk_id, cosine, (f"Close in meaning ({cosine:.2f})",))
        for chunk_id, cosine in found
    ]


def nearest(query: Query, count: int) -> list[tuple[UUID, float]]:
    """Return chunks with their cosines, best first, by an exact scan of this model's vectors."""
    parameters = query.vector_parameters(count=count)
    return [(chunk, float(cosine)) for chunk, cosine in run_sql(sql.NEAREST_CHUNKS, parameters)]


def cosines(query: Query, chunk_ids: list[UUID]) -> dict[UUID, float]:
    """Return the cosines of the given chunks, leaving out those without a vector."""
    parameters = query.vector_parameters(chunks=chunk_ids)
    return {chunk: float(cosine) for chunk, cosine in run_sql(sql.COSINES_OF_CHUNKS, parameters)}


def note_pending(query: Query) -> None:
    """Add a note if some passages have no vector yet: they could not be searched."""
    fingerprint = query.vector.fingerprint
    counts = corpus.counts(workspace_id=query.workspace_id, fingerprint=fingerprint)
    embedded, chunks = counts.vectors, counts.passages
    if embedded < chunks and query.documents is not None:
        parameters = query.parameters(fingerprint=fingerprint)
        embedded, chunks = run_sql(sql.EMBEDDED_IN_SCOPE, parameters)[0]
    if embedded < chunks:
        query.note(
            "vectors_pending",
            f"{embedded:,} of {chunks:,} passages have vectors so far; the others cannot be"
            " found by meaning yet.",
        )
