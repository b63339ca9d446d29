"""Dense: the passages nearest to the question, by the vectors of their situated text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, LiteralString
from uuid import UUID

from psycopg.sql import SQL, Composed, Identifier, Literal, Placeholder

from ingestion.knowledge import corpus
from kb_project.sql import run_sql
from retrieval.search.query import Query, ScoredChunk

USUAL: Final = 200
"""Passages found at least: several steps of one search ask for the nearest."""

COSINES_OF_CHUNKS: Final[LiteralString] = """
SELECT chunk_id, -(vector <#> %(vector)s::halfvec)
FROM ingestion_chunkembedding
WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
  AND chunk_id = ANY(%(chunks)s::uuid[])
"""

# Progress of embedding in the scope: (vectors of this model, chunks).
EMBEDDED_IN_SCOPE: Final[LiteralString] = """
SELECT count(e.chunk_id), count(*)
FROM ingestion_chunk c
LEFT JOIN ingestion_chunkembedding e ON e.workspace_id = %(workspace)s AND e.chunk_id = c.id
    AND e.fingerprint = %(fingerprint)s
WHERE c.workspace_id = %(workspace)s AND c.document_id = ANY(%(documents)s::uuid[])
"""

IN_SCOPE: Final = SQL("""chunk_id IN (
    SELECT id FROM ingestion_chunk
    WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[]))""")

# Vectors without a cell, as all are in a workspace that is not large, and those of the cells near
# one of the questions; of all cells while it is not known how many to read.
IN_NEAR_CELLS: Final = SQL("cell IS NULL OR cell = ANY (ARRAY({}))")
NEAR_CELLS: Final = SQL("""(
    SELECT number FROM ingestion_cell
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
    ORDER BY centre <#> {}::halfvec
    LIMIT (SELECT probes FROM ingestion_cellindex
           WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s))""")


def nearest_to(count: int, *, is_scoped: bool) -> Composed:
    """Return the statement for the passages nearest to each of ``count`` vectors, ``vector_0`` …,
    by position, best first: all from one scan. Vectors have length one, so the inner product is
    the cosine.
    """
    vectors = [Placeholder(f"vector_{place}") for place in range(count)]
    names = [Identifier(f"cosine_{place}") for place in range(count)]
    cosines = SQL(", ").join(
        SQL("-(vector <#> {}::halfvec) AS {}").format(*each)
        for each in zip(vectors, names, strict=True)
    )
    near_cells = SQL(" UNION ").join(map(NEAR_CELLS.format, vectors))
    nearest = SQL(" UNION ALL ").join(
        SQL(
            "(SELECT {}::int AS place, chunk_id, {} AS cosine FROM scored"
            " ORDER BY cosine DESC, chunk_id LIMIT %(count)s)"
        ).format(Literal(place), name)
        for place, name in enumerate(names)
    )
    return SQL("""
WITH scored AS (
    SELECT chunk_id, {cosines}
    FROM ingestion_chunkembedding
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s AND ({where})
)
SELECT place, chunk_id, cosine FROM ({nearest}) AS near
ORDER BY place, cosine DESC, chunk_id
""").format(
        cosines=cosines,
        where=IN_SCOPE if is_scoped else IN_NEAR_CELLS.format(near_cells),
        nearest=nearest,
    )


def search(query: Query) -> list[ScoredChunk]:
    found = nearest(query, query.top_k)
    note_pending(query)
    return [
        ScoredChunk(chunk_id, cosine, (f"Close in meaning ({cosine:.2f})",))
        for chunk_id, cosine in found
    ]


def nearest(query: Query, count: int) -> list[tuple[UUID, float]]:
    """Return chunks with their cosines, best first: exact in a scope and up to ten thousand
    vectors of the model, else of the cells near the question (``ingestion.stages.cells``).
    """
    key = ("nearest", query.vector, query.documents)
    kept: tuple[int, list[tuple[UUID, float]]] = query.kept.get(key, (0, []))
    asked, found = kept
    if asked < count:
        asked = max(count, USUAL)
        found = nearest_to_each(query, [query.vector.literal], asked)[0]
        query.kept[key] = asked, found
    return found[:count]


def nearest_to_each(
    query: Query, vectors: Sequence[str], count: int
) -> list[list[tuple[UUID, float]]]:
    """Return, for each vector as Postgres writes it, what ``nearest`` returns for a question's."""
    found: defaultdict[int, list[tuple[UUID, float]]] = defaultdict(list)
    if vectors:
        parameters = query.parameters(fingerprint=query.vector.fingerprint, count=count)
        parameters |= {f"vector_{place}": vector for place, vector in enumerate(vectors)}
        statement = nearest_to(len(vectors), is_scoped=query.documents is not None)
        for place, chunk_id, cosine in run_sql(statement, parameters):
            found[place].append((chunk_id, float(cosine)))
    return [found[place] for place in range(len(vectors))]


def cosines(query: Query, chunk_ids: list[UUID]) -> dict[UUID, float]:
    """Return the cosines of the given chunks, leaving out those without a vector."""
    parameters = query.vector_parameters(chunks=chunk_ids)
    return {chunk: float(cosine) for chunk, cosine in run_sql(COSINES_OF_CHUNKS, parameters)}


def note_pending(query: Query) -> None:
    """Add a note if some passages have no vector yet: they could not be searched."""
    fingerprint = query.vector.fingerprint
    counts = corpus.counts(workspace_id=query.workspace_id, fingerprint=fingerprint)
    embedded, chunks = counts.vectors, counts.passages
    if embedded < chunks and query.documents is not None:
        parameters = query.parameters(fingerprint=fingerprint)
        embedded, chunks = run_sql(EMBEDDED_IN_SCOPE, parameters)[0]
    if embedded < chunks:
        query.note(
            "vectors_pending",
            f"{embedded:,} of {chunks:,} passages have vectors so far; the others cannot be"
            " found by meaning yet.",
        )
