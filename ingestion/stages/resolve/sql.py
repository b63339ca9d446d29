"""The SQL of resolution: a group of documents at a time, each statement named for its result.

Arrays in one statement: faster than COPY through a temporary table for a group's few thousand rows,
and row-level security refuses COPY itself. Every bulk writer takes rows by ascending id, so that no
two writers deadlock.
"""

from __future__ import annotations

from typing import Final, LiteralString

EXTRACTIONS: Final[LiteralString] = """
SELECT c.document_id, c.id, c.start, c.text, x.payload
  FROM ingestion_chunk AS c
  JOIN ingestion_chunkextraction AS x ON x.workspace_id = %(workspace)s AND x.chunk_id = c.id
 WHERE c.workspace_id = %(workspace)s AND c.version_id = ANY(%(versions)s::uuid[])
 ORDER BY c.document_id, c.ordinal
"""

# Before a document is resolved again, its earlier facts are marked as changed. Arrays rather than
# joins: of a workspace that the planner knows nothing of yet, it compares each row with all others.
MARK_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT id FROM ingestion_entity
        WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
              SELECT DISTINCT entity_id FROM ingestion_mention
               WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
        ORDER BY id FOR NO KEY UPDATE))
"""
MARK_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT id FROM ingestion_relationship
        WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
              SELECT DISTINCT relationship_id FROM ingestion_evidence
               WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
        ORDER BY id FOR NO KEY UPDATE))
"""

ADD_ENTITIES: Final[LiteralString] = """
INSERT INTO ingestion_entity (workspace_id, id, key, sense, name, type, description,
       description_sources, mention_count, chunk_count, degree, rank, is_changed, created_at)
SELECT %(workspace)s, t.id, t.key, t.sense, t.name, t.type, '', '[]', 0, 0, 0, 0, true, now()
  FROM unnest(%(ids)s::uuid[], %(keys)s::text[], %(senses)s::int2[], %(names)s::text[],
              %(types)s::text[]) AS t (id, key, sense, name, type)
 ORDER BY t.id
ON CONFLICT (workspace_id, key, sense) DO UPDATE SET is_changed = true
"""

ADD_ALIASES: Final[LiteralString] = """
INSERT INTO ingestion_alias (workspace_id, id, entity_id, key, name)
SELECT %(workspace)s, gen_random_uuid(), t.entity, t.key, t.name
  FROM unnest(%(entities)s::uuid[], %(keys)s::text[], %(names)s::text[]) AS t (entity, key, name)
 ORDER BY t.key, t.name, t.entity
ON CONFLICT DO NOTHING
"""

ADD_MENTIONS: Final[LiteralString] = """
INSERT INTO ingestion_mention (workspace_id, id, document_id, entity_id, chunk_id, start, "end",
       surface, type, source, key, own_key, label)
SELECT %(workspace)s, gen_random_uuid(), t.*
  FROM unnest(%(documents)s::uuid[], %(entities)s::uuid[], %(chunks)s::uuid[], %(starts)s::int4[],
              %(ends)s::int4[], %(surfaces)s::text[], %(types)s::text[], %(sources)s::text[],
              %(keys)s::text[], %(own_keys)s::text[], %(labels)s::text[]) AS t
ON CONFLICT DO NOTHING
"""
# Names of deleted entities, so that the documents that use them can be found.
ADD_HIDDEN: Final[LiteralString] = """
INSERT INTO ingestion_hiddenname (workspace_id, id, document_id, key)
SELECT %(workspace)s, gen_random_uuid(), t.*
  FROM unnest(%(documents)s::uuid[], %(keys)s::text[]) AS t
ON CONFLICT DO NOTHING
"""

ADD_RELATIONSHIPS: Final[LiteralString] = """
INSERT INTO ingestion_relationship (workspace_id, id, source_id, target_id, description,
       keywords, weight, evidence_count, is_changed)
SELECT %(workspace)s, t.id, t.source, t.target, '', '{}', 0, 0, true
  FROM unnest(%(ids)s::uuid[], %(sources)s::uuid[], %(targets)s::uuid[]) AS t (id, source, target)
 ORDER BY t.id
ON CONFLICT (workspace_id, source_id, target_id) DO UPDATE SET is_changed = true
"""

# Keywords come as one text per row, joined by the unit separator.
ADD_EVIDENCE: Final[LiteralString] = """
INSERT INTO ingestion_evidence (workspace_id, id, document_id, relationship_id, chunk_id, start,
       "end", predicate, kind, strength, description, keywords, period_start, period_end,
       period_quote_start, period_quote_end)
SELECT %(workspace)s, gen_random_uuid(), t.document, t.relationship, t.chunk, t.start, t.stop,
       t.predicate, t.kind, t.strength, t.description, string_to_array(t.keywords, chr(31)),
       t.period_start, t.period_end, t.quote_start, t.quote_end
  FROM unnest(%(documents)s::uuid[], %(relationships)s::uuid[], %(chunks)s::uuid[],
              %(starts)s::int4[], %(ends)s::int4[], %(predicates)s::text[], %(kinds)s::text[],
              %(strengths)s::float8[], %(descriptions)s::text[], %(keywords)s::text[],
              %(period_starts)s::text[], %(period_ends)s::text[], %(quote_starts)s::int4[],
              %(quote_ends)s::int4[])
       AS t (document, relationship, chunk, start, stop, predicate, kind, strength, description,
             keywords, period_start, period_end, quote_start, quote_end)
ON CONFLICT DO NOTHING
"""

ADD_FRAGMENTS: Final[LiteralString] = """
INSERT INTO ingestion_fragment (workspace_id, id, document_id, entity_id, chunk_id, start, "end",
       text)
SELECT %(workspace)s, gen_random_uuid(), t.*
  FROM unnest(%(documents)s::uuid[], %(entities)s::uuid[], %(chunks)s::uuid[], %(starts)s::int4[],
              %(ends)s::int4[], %(texts)s::text[]) AS t
"""

ADD_CLAIMS: Final[LiteralString] = """
INSERT INTO ingestion_claim (workspace_id, id, document_id, subject_id, object_id, chunk_id, start,
       "end", type, status, period_start, period_end, description)
SELECT %(workspace)s, t.*
  FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[], %(subjects)s::uuid[], %(objects)s::uuid[],
              %(chunks)s::uuid[], %(starts)s::int4[], %(ends)s::int4[], %(types)s::text[],
              %(statuses)s::text[], %(period_starts)s::text[], %(period_ends)s::text[],
              %(descriptions)s::text[]) AS t
"""

# Entities of the same type whose key begins like a new one's: the few worth comparing. Keys sort by
# code point, so a prefix is a range.
NEAR_KEYS: Final[LiteralString] = """
SELECT t.key, e.id, e.key
  FROM unnest(%(keys)s::text[], %(types)s::text[], %(lows)s::text[], %(highs)s::text[])
       AS t (key, type, low, high)
 CROSS JOIN LATERAL (
    SELECT id, key FROM ingestion_entity
     WHERE workspace_id = %(workspace)s AND key >= t.low AND key < t.high
       AND key <> t.key AND type = t.type AND sense = 0
     ORDER BY key LIMIT %(most)s) AS e
"""

# Decided pairs are not suggested again.
ADD_SUGGESTIONS: Final[LiteralString] = """
INSERT INTO ingestion_mergesuggestion (workspace_id, id, left_id, right_id, score, reason, state,
       created_at)
SELECT %(workspace)s, gen_random_uuid(), t.left_id, t.right_id, t.score, t.reason, 'open', now()
  FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[], %(scores)s::float8[], %(reasons)s::text[],
              %(left_keys)s::text[], %(right_keys)s::text[])
       AS t (left_id, right_id, score, reason, left_key, right_key)
 WHERE NOT EXISTS (
       SELECT FROM ingestion_resolutiondecision AS d
        WHERE d.workspace_id = %(workspace)s AND d.left_key = t.left_key
          AND d.right_key = t.right_key AND d.undone_at IS NULL AND d.verdict <> 'unsure')
ON CONFLICT DO NOTHING
"""

# Documents that name an entity with one of these keys, or something deleted under them: in the
# order of their ids, at most so many (null: all).
DOCUMENTS_NAMING: Final[LiteralString] = """
SELECT m.document_id
  FROM ingestion_entity AS e
  JOIN ingestion_mention AS m ON m.workspace_id = %(workspace)s AND m.entity_id = e.id
 WHERE e.workspace_id = %(workspace)s AND e.key = ANY(%(keys)s::text[])
 UNION
SELECT document_id FROM ingestion_hiddenname
 WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s::text[])
 ORDER BY document_id LIMIT %(most)s::bigint
"""
# The version of each document that was read.
VERSIONS_READ: Final[LiteralString] = """
SELECT d.id, c.version_id
  FROM unnest(%(documents)s::uuid[]) AS d (id)
 CROSS JOIN LATERAL (
    SELECT version_id FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s AND document_id = d.id LIMIT 1) AS c
"""

# Holders of these names: each entity by document, with the type the document gives it, and whether
# anything was ever decided about the name there. Of each meaning the first so many, and from the
# first of these documents on all: a common name has thousands.
HOLDERS: Final[LiteralString] = """
WITH named AS MATERIALIZED (
    SELECT id, key, sense FROM ingestion_entity
     WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s::text[])
), holding AS MATERIALIZED (
    SELECT DISTINCT entity_id, document_id FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND entity_id = ANY(ARRAY(SELECT id FROM named))
), aged AS (
    SELECT e.key, e.sense, e.id, d.id AS document_id, d.created_at,
           row_number() OVER (PARTITION BY e.key, e.sense ORDER BY d.created_at, d.id) AS place,
           count(*) FILTER (WHERE d.id = ANY(%(documents)s::uuid[]))
               OVER (PARTITION BY e.key ORDER BY d.created_at, d.id) AS begun
      FROM holding AS h
      JOIN named AS e ON e.id = h.entity_id
      JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = h.document_id
       AND d.id = ANY(ARRAY(SELECT document_id FROM holding))
), wanted AS MATERIALIZED (
    SELECT * FROM aged WHERE place <= %(earliest)s OR begun > 0
), said AS MATERIALIZED (
    SELECT entity_id, document_id, mode() WITHIN GROUP (ORDER BY type) AS type
      FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND entity_id = ANY(ARRAY(SELECT id FROM wanted))
       AND document_id = ANY(ARRAY(SELECT document_id FROM wanted))
     GROUP BY entity_id, document_id
), decided AS MATERIALIZED (
    SELECT left_key, document_id FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND left_key = ANY(%(keys)s::text[]) AND right_key = ''
       AND document_id IS NOT NULL
)
SELECT w.key, w.sense, w.id, w.document_id, extract(epoch FROM w.created_at)::float8, s.type,
       (w.key, w.document_id) IN (SELECT left_key, document_id FROM decided)
  FROM wanted AS w
  JOIN said AS s ON s.entity_id = w.id AND s.document_id = w.document_id
 ORDER BY w.key, w.created_at, w.document_id
"""

# Notes on these entities, in all or some documents.
NOTES: Final[LiteralString] = """
SELECT entity_id, document_id, text FROM (
    SELECT f.entity_id, f.document_id, f.text, d.created_at,
           row_number() OVER (PARTITION BY f.entity_id, f.document_id
                              ORDER BY c.ordinal, f.start, f.text) AS place
      FROM ingestion_fragment AS f
      JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = f.chunk_id
      JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = f.document_id
     WHERE f.workspace_id = %(workspace)s AND f.entity_id = ANY(%(entities)s::uuid[])
       AND (%(documents)s::uuid[] IS NULL OR f.document_id = ANY(%(documents)s::uuid[]))) AS ranked
 WHERE place <= %(most)s
 ORDER BY entity_id, created_at, document_id, place
"""

# Text around the first mentions of an entity in each document, or in some.
QUOTES_OF: Final[LiteralString] = """
SELECT entity_id, document_id, quote FROM (
    SELECT m.entity_id, m.document_id, d.created_at,
           substr(c.text, greatest(m.start - c.start - %(around)s, 0) + 1,
                  m."end" - m.start + 2 * %(around)s) AS quote,
           row_number() OVER (PARTITION BY m.entity_id, m.document_id
                              ORDER BY c.ordinal, m.start) AS place
      FROM ingestion_mention AS m
      JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = m.chunk_id
      JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = m.document_id
     WHERE m.workspace_id = %(workspace)s AND m.entity_id = ANY(%(entities)s::uuid[])
       AND (%(documents)s::uuid[] IS NULL OR m.document_id = ANY(%(documents)s::uuid[]))) AS ranked
 WHERE place <= %(most)s
 ORDER BY entity_id, created_at, document_id, place
"""

# Undecided suggestions about names that are new, or new to the model: no refresh has described them
# from its notes. Names found alike later, among those known, are for a person to decide. The most
# similar first, with the
# documents of this group that name one of the two.
OPEN_PAIRS: Final[LiteralString] = """
SELECT l.key, r.key, array_agg(DISTINCT m.document_id)
  FROM ingestion_mergesuggestion AS s
  JOIN ingestion_entity AS l ON l.workspace_id = %(workspace)s AND l.id = s.left_id
  JOIN ingestion_entity AS r ON r.workspace_id = %(workspace)s AND r.id = s.right_id
  JOIN ingestion_mention AS m ON m.workspace_id = %(workspace)s
       AND m.entity_id IN (s.left_id, s.right_id) AND m.document_id = ANY(%(documents)s::uuid[])
 WHERE s.workspace_id = %(workspace)s AND s.state = 'open' AND l.sense = 0 AND r.sense = 0
   AND (s.left_id = ANY(%(entities)s::uuid[]) OR s.right_id = ANY(%(entities)s::uuid[]))
   AND 'extractive' IN (l.written_by, r.written_by)
   AND NOT EXISTS (
       SELECT FROM ingestion_resolutiondecision AS d
        WHERE d.workspace_id = %(workspace)s
          AND (d.left_key, d.right_key) IN ((l.key, r.key), (r.key, l.key)))
 GROUP BY s.id, s.score, l.key, r.key
 ORDER BY s.score DESC, l.key, r.key
"""
