"""Hand-written SQL for retrieval, each statement named after the question it answers.

``%(documents)s`` is the scope: NULL for the whole workspace, otherwise the documents to stay in.
Every statement names the workspace itself; row-level security is the second lock.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Vectors have length one, so the inner product is the cosine; an exact scan is the fastest lossless
# way up to 10,000 chunks.
NEAREST_CHUNKS: Final[LiteralString] = """
WITH scored AS MATERIALIZED (
    SELECT chunk_id, -(vector <#> %(vector)s::halfvec) AS cosine
    FROM ingestion_chunkembedding
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
      AND (%(documents)s::uuid[] IS NULL OR chunk_id IN (
          SELECT id FROM ingestion_chunk
          WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
)
SELECT chunk_id, cosine FROM scored ORDER BY cosine DESC, chunk_id LIMIT %(count)s
"""

# Progress of embedding: (vectors of this model, chunks), in the scope.
EMBEDDED_CHUNKS: Final[LiteralString] = """
SELECT
    (SELECT count(*) FROM ingestion_chunkembedding e
     JOIN ingestion_chunk c ON c.workspace_id = e.workspace_id AND c.id = e.chunk_id
     WHERE e.workspace_id = %(workspace)s AND e.fingerprint = %(fingerprint)s
       AND (%(documents)s::uuid[] IS NULL OR c.document_id = ANY(%(documents)s::uuid[]))),
    (SELECT count(*) FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s
       AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[])))
"""

COSINES_OF_CHUNKS: Final[LiteralString] = """
SELECT chunk_id, -(vector <#> %(vector)s::halfvec)
FROM ingestion_chunkembedding
WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
  AND chunk_id = ANY(%(chunks)s::uuid[])
"""

# BM25 (Robertson, k1 = 1.2, idf with +1 inside the logarithm so that it is never negative) over the
# workspace's own statistics; ``length`` is its b. A passage next to a better one in its document
# gets ``beside`` of that one's score, with ``wordless`` even if it has no word of its own: a
# subject is often named just before it is discussed.
BEST_BY_WORDS: Final[LiteralString] = """
WITH stats AS MATERIALIZED (
    SELECT greatest(count(*), 1)::float8 AS chunks, greatest(avg(terms), 1)::float8 AS mean
    FROM ingestion_chunk WHERE workspace_id = %(workspace)s
), hits AS MATERIALIZED (
    SELECT term, chunk_id, frequency
    FROM ingestion_posting
    WHERE workspace_id = %(workspace)s AND term = ANY(%(terms)s::text[])
), weights AS (
    SELECT term,
           ln(1 + (stats.chunks - count(*) + 0.5) / (count(*) + 0.5)) AS weight
    FROM hits, stats GROUP BY term, stats.chunks
), scored AS MATERIALIZED (
    SELECT h.chunk_id, c.version_id, c.ordinal,
           sum(w.weight * h.frequency * 2.2
               / (h.frequency
                  + 1.2 * (1 - %(length)s::float8 + %(length)s::float8 * c.terms / s.mean)))
               AS score,
           array_agg(h.term ORDER BY w.weight DESC) AS terms
    FROM hits h
    JOIN weights w ON w.term = h.term
    JOIN ingestion_chunk c ON c.workspace_id = %(workspace)s AND c.id = h.chunk_id
    CROSS JOIN stats s
    WHERE %(documents)s::uuid[] IS NULL OR c.document_id = ANY(%(documents)s::uuid[])
    GROUP BY h.chunk_id, c.version_id, c.ordinal
    ORDER BY score DESC, h.chunk_id
    LIMIT greatest(500, %(count)s)
), beside AS MATERIALIZED (
    SELECT c.id AS chunk_id, %(beside)s::float8 * max(s.score) AS score
    FROM scored s
    CROSS JOIN LATERAL (VALUES (s.ordinal - 1), (s.ordinal + 1)) AS next (ordinal)
    JOIN ingestion_chunk c ON c.workspace_id = %(workspace)s
        AND c.version_id = s.version_id AND c.ordinal = next.ordinal
    WHERE %(beside)s::float8 > 0
    GROUP BY c.id
)
SELECT chunk_id, coalesce(s.score, 0) + coalesce(b.score, 0) AS score,
       coalesce(s.terms, '{}') AS terms
FROM scored s FULL JOIN beside b USING (chunk_id)
WHERE s.terms IS NOT NULL OR %(wordless)s
ORDER BY score DESC, chunk_id
LIMIT %(count)s
"""

# What a hit shows. ``end`` is an SQL keyword, hence the quotes.
PASSAGES: Final[LiteralString] = """
SELECT c.id, c.document_id, d.title, c.heading_path, c.page_first, c.start, c."end", c.text,
       c.regions
FROM ingestion_chunk c
JOIN ingestion_document d ON d.workspace_id = c.workspace_id AND d.id = c.document_id
WHERE c.workspace_id = %(workspace)s AND c.id = ANY(%(chunks)s::uuid[])
"""

NEWEST_SNAPSHOT: Final[LiteralString] = """
SELECT number FROM ingestion_walksnapshot
WHERE workspace_id = %(workspace)s ORDER BY number DESC LIMIT 1
"""
SNAPSHOT_PAYLOAD: Final[LiteralString] = """
SELECT payload FROM ingestion_walksnapshot
WHERE workspace_id = %(workspace)s AND number = %(number)s
"""

CHUNKS_OF_DOCUMENTS: Final[LiteralString] = """
SELECT id FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""

NAMES_OF_ENTITIES: Final[LiteralString] = """
SELECT id, name FROM ingestion_entity
WHERE workspace_id = %(workspace)s AND id = ANY(%(entities)s::uuid[])
"""

TERM_FREQUENCIES: Final[LiteralString] = """
SELECT term, count(*) FROM ingestion_posting
WHERE workspace_id = %(workspace)s AND term = ANY(%(terms)s::text[])
  AND (%(documents)s::uuid[] IS NULL OR chunk_id IN (
      SELECT id FROM ingestion_chunk
      WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
GROUP BY term
"""

COUNT_PASSAGES: Final[LiteralString] = """
SELECT count(*) FROM ingestion_chunk
WHERE workspace_id = %(workspace)s
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
"""
