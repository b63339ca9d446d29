"""Hand-written SQL for searching: passages, names, the graph, reports.

``%(documents)s`` is the scope: NULL for the whole workspace, otherwise the documents to stay in.
``%(as_of)s`` is the date at which dated statements must hold, '' for any time. Dates sort as text,
and with ``~`` behind them after all they contain: see ``kb_project.text.values``.
Every statement names the workspace itself; row-level security is the second lock. Ids are passed as
arrays: the planner has few statistics on a newly filled workspace, and would join whole tables row
by row.
"""

from __future__ import annotations

from typing import Final, LiteralString

# BM25 (Robertson, k1 = 1.2, idf with +1 inside the logarithm so that it is never negative) over the
# workspace's own statistics; ``length`` is its b, ``passages`` how many have each of the terms. The
# rarest terms are read in full, until they have ``read`` postings; those left, which say little,
# are looked up in the passages that the others found, by the same formula: the idea of Turtle and
# Flood's MaxScore ("Query evaluation: strategies and optimizations", 1995), with a limit in place
# of its proof. A passage next to a better one in its document gets ``beside`` of that one's score,
# with ``wordless`` even if it has no word of its own: a subject is often named just before it is
# discussed. Otherwise, neighbours are those of the passages found, and none is looked up.
BEST_BY_WORDS: Final[LiteralString] = """
WITH stats AS MATERIALIZED (
    SELECT greatest(sum(passages), 1)::float8 AS chunks,
           greatest(sum(terms) / nullif(sum(indexed), 0), 1)::float8 AS mean
    FROM ingestion_corpuscount WHERE workspace_id = %(workspace)s
), weights AS MATERIALIZED (
    SELECT term, ln(1 + (chunks - passages + 0.5) / (passages + 0.5)) AS weight,
           sum(passages) OVER (ORDER BY passages, term) - passages < %(read)s AS is_read
    FROM (SELECT chunks, term, least(passages, chunks) AS passages  -- some may be gone since
          FROM unnest(%(terms)s::text[], %(passages)s::int[]) AS counted (term, passages)
          CROSS JOIN stats) AS capped
), likely AS MATERIALIZED (
    SELECT p.chunk_id,
           sum(w.weight * p.frequency * 2.2
               / (p.frequency
                  + 1.2 * (1 - %(length)s::float8 + %(length)s::float8 * p.length / s.mean)))
           AS score
    FROM weights w CROSS JOIN stats s CROSS JOIN LATERAL (
        SELECT chunk_id, frequency, length FROM ingestion_posting
        WHERE workspace_id = %(workspace)s AND term = w.term
          AND (%(documents)s::uuid[] IS NULL OR chunk_id IN (
              SELECT id FROM ingestion_chunk
              WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
        OFFSET 0) AS p
    WHERE w.is_read
    GROUP BY p.chunk_id
    ORDER BY score DESC, chunk_id
    LIMIT greatest(500, %(count)s)
), scored AS MATERIALIZED (
    SELECT l.chunk_id, l.score + coalesce((
        SELECT sum(
            w.weight * p.frequency * 2.2
            / (p.frequency
               + 1.2 * (1 - %(length)s::float8 + %(length)s::float8 * p.length / s.mean)))
        FROM weights w CROSS JOIN stats s CROSS JOIN LATERAL (
            SELECT frequency, length FROM ingestion_posting
            WHERE workspace_id = %(workspace)s AND term = w.term AND chunk_id = l.chunk_id
            LIMIT 1) AS p
        WHERE NOT w.is_read), 0) AS score
    FROM likely l
), placed AS MATERIALIZED (
    SELECT c.id, c.version_id, c.ordinal, s.score
    FROM scored s
    JOIN (SELECT id, version_id, ordinal FROM ingestion_chunk
          WHERE workspace_id = %(workspace)s AND id = ANY(ARRAY(SELECT chunk_id FROM scored))) AS c
      ON c.id = s.chunk_id
    WHERE %(beside)s::float8 > 0
), beside AS MATERIALIZED (
    SELECT id AS chunk_id, %(beside)s::float8 * max(score) AS score
    FROM (SELECT near.id, p.score
          FROM placed p CROSS JOIN LATERAL (
              SELECT id FROM ingestion_chunk
              WHERE workspace_id = %(workspace)s AND version_id = p.version_id
                AND ordinal = ANY(ARRAY[p.ordinal - 1, p.ordinal + 1]) OFFSET 0) AS near
          WHERE %(wordless)s
          UNION ALL
          SELECT id, greatest(
              CASE WHEN lag(ordinal) OVER page = ordinal - 1 THEN lag(score) OVER page END,
              CASE WHEN lead(ordinal) OVER page = ordinal + 1 THEN lead(score) OVER page END)
          FROM placed
          WHERE NOT %(wordless)s
          WINDOW page AS (PARTITION BY version_id ORDER BY ordinal)) AS neighbours
    WHERE score IS NOT NULL GROUP BY id
)
SELECT chunk_id, score, has_words, CASE WHEN has_words AND %(named)s THEN ARRAY(
           SELECT w.term FROM weights w WHERE EXISTS (
               SELECT FROM ingestion_posting
               WHERE workspace_id = %(workspace)s AND term = w.term AND chunk_id = best.chunk_id
               OFFSET 0)
           ORDER BY w.weight DESC, w.term) ELSE '{}' END AS terms
FROM (SELECT chunk_id, sum(score) AS score, bool_or(has_words) AS has_words
      FROM (SELECT chunk_id, score, true AS has_words FROM scored
            UNION ALL SELECT chunk_id, score, false FROM beside) AS either
      GROUP BY chunk_id
      HAVING bool_or(has_words) OR %(wordless)s
      ORDER BY score DESC, chunk_id
      LIMIT %(count)s) AS best
ORDER BY score DESC, chunk_id
"""

SNAPSHOT_PART: Final[LiteralString] = """
SELECT substr(payload, %(first)s, %(length)s) FROM ingestion_walksnapshot
WHERE workspace_id = %(workspace)s AND number = %(number)s
"""

# What a hit shows. ``end`` is an SQL keyword, hence the quotes.
PASSAGES: Final[LiteralString] = """
SELECT c.id, c.document_id, d.title, c.heading_path, c.page_first, c.start, c."end", c.text,
       c.regions
FROM ingestion_chunk c
JOIN ingestion_document d ON d.workspace_id = c.workspace_id AND d.id = c.document_id
WHERE c.workspace_id = %(workspace)s AND c.id = ANY(%(chunks)s::uuid[])
"""

CHUNKS_OF_DOCUMENTS: Final[LiteralString] = """
SELECT id FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""

PASSAGES_IN_SCOPE_WITH: Final[LiteralString] = """
SELECT term, count(*) FROM ingestion_posting
WHERE workspace_id = %(workspace)s AND term = ANY(%(terms)s::text[])
  AND chunk_id IN (
      SELECT id FROM ingestion_chunk
      WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[]))
GROUP BY term
"""

PASSAGES_IN_SCOPE: Final[LiteralString] = """
SELECT count(*) FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""


# --- names ----------------------------------------------------------------------------------------

# Which of some entities are named in each of some passages.
ENTITIES_NAMED_IN: Final[LiteralString] = """
SELECT DISTINCT chunk_id, entity_id FROM ingestion_mention
WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
  AND entity_id = ANY(%(entities)s::uuid[])
"""

# The passages that name most of some entities, and most often.
CHUNKS_NAMING: Final[LiteralString] = """
SELECT chunk_id FROM ingestion_mention
WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(entities)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
GROUP BY chunk_id
ORDER BY count(DISTINCT entity_id) DESC, count(*) DESC, chunk_id
LIMIT %(count)s
"""

# The entity with each of some names; keys as from ``normalise_name``. Of several, the most
# mentioned one.
ENTITIES_OF_KEYS: Final[LiteralString] = """
SELECT DISTINCT ON (a.key) a.key, e.id, e.name, e.type
FROM ingestion_alias a
JOIN ingestion_entity e ON e.workspace_id = a.workspace_id AND e.id = a.entity_id
WHERE a.workspace_id = %(workspace)s AND a.key = ANY(%(keys)s::text[])
ORDER BY a.key, e.mention_count DESC, e.id
"""


# --- time -----------------------------------------------------------------------------------------

# Those of some passages of which every statement is dated, and none holds at a date.
NOT_HOLDING: Final[LiteralString] = """
SELECT chunk_id
FROM (SELECT chunk_id, period_start, period_end FROM ingestion_evidence
      WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
      UNION ALL
      SELECT chunk_id, period_start, period_end FROM ingestion_claim
      WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])) AS said
GROUP BY chunk_id
HAVING NOT bool_or(
    (period_start = '' OR period_start COLLATE "C" <= %(as_of)s || '~')
    AND (period_end = '' OR (period_end || '~') COLLATE "C" >= %(as_of)s))
"""


# --- reports of topics ----------------------------------------------------------------------------

# The reports on some entities: those covering most of them first, then by rating.
REPORTS_ON: Final[LiteralString] = """
WITH named AS MATERIALIZED (
    SELECT community_id, array_agg(entity_id) AS members FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(entities)s::uuid[])
    GROUP BY community_id
)
SELECT r.id, r.title, r.summary, r.rating, n.members
FROM ingestion_communityreport r JOIN named n USING (community_id)
WHERE r.workspace_id = %(workspace)s
  AND r.community_id = ANY(ARRAY(SELECT community_id FROM named))
ORDER BY cardinality(n.members) DESC, r.rating DESC, r.id
LIMIT %(count)s
"""

# The findings of reports, with each one's passages and whether they are all in the scope.
FINDINGS_OF: Final[LiteralString] = """
SELECT f.report_id, f.part = 'summary', f.summary, f.explanation, e.chunks, e.is_inside
FROM ingestion_finding f
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(chunk_id ORDER BY document_id, start, id), '{}') AS chunks,
           coalesce(bool_and(
               %(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[])),
               %(documents)s::uuid[] IS NULL) AS is_inside
    FROM ingestion_findingevidence
    WHERE workspace_id = %(workspace)s AND finding_id = f.id) AS e
WHERE f.workspace_id = %(workspace)s AND f.report_id = ANY(%(reports)s::uuid[])
ORDER BY f.report_id, f.part = 'finding', f.ordinal, f.id
"""

# Reports nearest to a question, best first: by the ``telling`` nearest of the passages they rest
# on, whose closeness is ``scores``, and by their own rating; those that rest on none of them come
# last. ``level`` keeps the topics of a level and those that end above it. NULL keeps every topic;
# the rating, at most 10, is read only where it can decide then.
NEAREST_REPORTS: Final[LiteralString] = """
WITH resting AS MATERIALIZED (
    SELECT e.report_id, n.chunk_id, n.score
    FROM unnest(%(chunks)s::uuid[], %(scores)s::float8[]) AS n (chunk_id, score)
    JOIN ingestion_findingevidence e
      ON e.workspace_id = %(workspace)s AND e.chunk_id = n.chunk_id
    GROUP BY e.report_id, n.chunk_id, n.score
), near AS MATERIALIZED (
    SELECT report_id, sum(score) / %(telling)s AS score
    FROM (SELECT report_id, score,
                 row_number() OVER (PARTITION BY report_id ORDER BY score DESC) AS place
          FROM resting) AS placed
    WHERE place <= %(telling)s GROUP BY report_id
), likely AS (
    (SELECT r.id, r.community_id FROM near n
     JOIN ingestion_communityreport r ON r.workspace_id = %(workspace)s AND r.id = n.report_id
     WHERE %(level)s::int IS NOT NULL OR n.score >= coalesce(
         (SELECT score FROM near ORDER BY score DESC LIMIT 1 OFFSET %(count)s - 1),
         0) - 10 * %(rating)s
     ORDER BY n.score + %(rating)s * r.rating DESC, r.id)
    UNION ALL
    (SELECT id, community_id FROM ingestion_communityreport
     WHERE workspace_id = %(workspace)s AND id NOT IN (SELECT report_id FROM near)
       AND (%(documents)s::uuid[] IS NULL OR id IN (
           SELECT report_id FROM ingestion_findingevidence
           WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
     ORDER BY rating DESC, id)
)
SELECT l.id FROM likely l
WHERE %(level)s::int IS NULL OR EXISTS (
    SELECT FROM ingestion_community c
    WHERE c.workspace_id = %(workspace)s AND c.id = l.community_id AND c.level <= %(level)s
      AND (c.level = %(level)s OR c.size = 0 OR c.size > (
          SELECT coalesce(sum(part.size), 0) FROM ingestion_community part
          JOIN ingestion_communityreport written
            ON written.workspace_id = %(workspace)s AND written.community_id = part.id
          WHERE part.workspace_id = %(workspace)s AND part.parent_id = c.id)))
LIMIT %(count)s
"""

# Reports from the roots down to a level.
REPORTS_DOWN_TO: Final[LiteralString] = """
SELECT r.id FROM ingestion_community c
JOIN ingestion_communityreport r ON r.workspace_id = %(workspace)s AND r.community_id = c.id
WHERE c.workspace_id = %(workspace)s AND c.level <= %(level)s
ORDER BY c.level, r.rating DESC, r.id
LIMIT %(count)s
"""

REPORTS: Final[LiteralString] = """
SELECT r.id, c.id, c.parent_id, c.level, c.size, r.title, r.summary, r.rating
FROM ingestion_communityreport r
JOIN ingestion_community c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(reports)s::uuid[])
ORDER BY c.level, c.size DESC, r.title, r.id
"""

# Topics, of some, whose members are all excluded.
TOPICS_OF_ONLY: Final[LiteralString] = """
SELECT community_id FROM ingestion_communitymember
WHERE workspace_id = %(workspace)s AND community_id = ANY(%(topics)s::uuid[])
GROUP BY community_id HAVING bool_and(entity_id = ANY(%(entities)s::uuid[]))
"""

# The number of passages in the scope that name members of each topic.
PASSAGES_OF_TOPICS: Final[LiteralString] = """
SELECT member.community_id, count(DISTINCT mention.chunk_id)
FROM ingestion_communitymember AS member
JOIN ingestion_mention AS mention
  ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY(%(topics)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR mention.document_id = ANY(%(documents)s::uuid[]))
GROUP BY member.community_id
"""

# Entities named in some passages that belong to some topics, those in most passages first.
NAMES_IN_BOTH: Final[LiteralString] = """
SELECT entity.name
FROM ingestion_mention AS mention
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = mention.entity_id
WHERE mention.workspace_id = %(workspace)s AND mention.chunk_id = ANY(%(chunks)s::uuid[])
  AND NOT mention.entity_id = ANY(%(exclude)s::uuid[])
  AND mention.entity_id IN (
      SELECT entity_id FROM ingestion_communitymember
      WHERE workspace_id = %(workspace)s AND community_id = ANY(%(topics)s::uuid[]))
GROUP BY entity.id, entity.name, entity.rank
ORDER BY count(DISTINCT mention.chunk_id) DESC, entity.rank DESC, entity.name, entity.id
LIMIT %(count)s
"""
