"""Hand-written SQL of ingestion, each statement named by the question it answers.

Every statement names its workspace although row-level security would: the explicit condition is
what lets the planner use the indexes and prune partitions.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Arrays in one statement: faster than COPY through a temporary table for a document's few hundred
# rows, and row-level security refuses COPY itself.
ADD_POSTINGS: Final[LiteralString] = """
INSERT INTO ingestion_posting (workspace_id, term, chunk_id, frequency)
SELECT %(workspace)s, t.term, t.chunk, t.frequency
  FROM unnest(%(terms)s::text[], %(chunks)s::uuid[], %(frequencies)s::int2[])
       AS t (term, chunk, frequency)
"""

SITUATE_CHUNKS: Final[LiteralString] = """
UPDATE ingestion_chunk AS c SET context = t.context, terms = t.terms
  FROM unnest(%(chunks)s::uuid[], %(contexts)s::text[], %(lengths)s::int4[])
       AS t (chunk, context, terms)
 WHERE c.workspace_id = %(workspace)s AND c.id = t.chunk
"""

# Every bulk writer takes rows by ascending id, so that two of them never wait for each other in a
# circle.
ADD_ENTITIES: Final[LiteralString] = """
INSERT INTO ingestion_entity (workspace_id, id, key, sense, name, type, description,
       description_sources, mention_count, chunk_count, degree, rank, is_changed, created_at)
SELECT %(workspace)s, t.id, t.key, 0, t.name, t.type, '', '[]', 0, 0, 0, 0, true, now()
  FROM unnest(%(ids)s::uuid[], %(keys)s::text[], %(names)s::text[], %(types)s::text[])
       AS t (id, key, name, type)
 ORDER BY t.id
ON CONFLICT (workspace_id, key, sense) DO UPDATE SET is_changed = true
"""

ADD_ALIASES: Final[LiteralString] = """
INSERT INTO ingestion_alias (workspace_id, id, entity_id, key, name)
SELECT %(workspace)s, gen_random_uuid(), t.entity, t.key, t.name
  FROM unnest(%(entities)s::uuid[], %(keys)s::text[], %(names)s::text[]) AS t (entity, key, name)
 ORDER BY t.key, t.name
ON CONFLICT DO NOTHING
"""

ADD_MENTIONS: Final[LiteralString] = """
INSERT INTO ingestion_mention (workspace_id, id, document_id, entity_id, chunk_id, start, "end",
       surface, type, source)
SELECT %(workspace)s, gen_random_uuid(), %(document)s, t.*
  FROM unnest(%(entities)s::uuid[], %(chunks)s::uuid[], %(starts)s::int4[], %(ends)s::int4[],
              %(surfaces)s::text[], %(types)s::text[], %(sources)s::text[]) AS t
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

ADD_EVIDENCE: Final[LiteralString] = """
INSERT INTO ingestion_evidence (workspace_id, id, document_id, relationship_id, chunk_id, start,
       "end", predicate, kind, strength)
SELECT %(workspace)s, gen_random_uuid(), %(document)s, t.*
  FROM unnest(%(relationships)s::uuid[], %(chunks)s::uuid[], %(starts)s::int4[], %(ends)s::int4[],
              %(predicates)s::text[], %(kinds)s::text[], %(strengths)s::float8[]) AS t
ON CONFLICT DO NOTHING
"""

# What a document said before it is said anew: its facts are marked for another look first.
MARK_ENTITIES_OF_DOCUMENT: Final[LiteralString] = """
WITH named AS (
    SELECT id FROM ingestion_entity
     WHERE workspace_id = %(workspace)s AND id IN (
           SELECT entity_id FROM ingestion_mention
            WHERE workspace_id = %(workspace)s AND document_id = %(document)s)
     ORDER BY id FOR NO KEY UPDATE)
UPDATE ingestion_entity AS e SET is_changed = true
  FROM named WHERE e.workspace_id = %(workspace)s AND e.id = named.id
"""
MARK_RELATIONSHIPS_OF_DOCUMENT: Final[LiteralString] = """
WITH stated AS (
    SELECT id FROM ingestion_relationship
     WHERE workspace_id = %(workspace)s AND id IN (
           SELECT relationship_id FROM ingestion_evidence
            WHERE workspace_id = %(workspace)s AND document_id = %(document)s)
     ORDER BY id FOR NO KEY UPDATE)
UPDATE ingestion_relationship AS r SET is_changed = true
  FROM stated WHERE r.workspace_id = %(workspace)s AND r.id = stated.id
"""
FORGET_EVIDENCE: Final[LiteralString] = """
DELETE FROM ingestion_evidence WHERE workspace_id = %(workspace)s AND document_id = %(document)s
"""
FORGET_MENTIONS: Final[LiteralString] = """
DELETE FROM ingestion_mention WHERE workspace_id = %(workspace)s AND document_id = %(document)s
"""

# Entities of the same type whose key begins like a new one's, or is one of its words: the few
# that are worth comparing. Keys sort by code point, so a prefix is a range.
NEAR_KEYS: Final[LiteralString] = """
SELECT t.key, e.id, e.key, e.type
  FROM unnest(%(keys)s::text[], %(types)s::text[], %(lows)s::text[], %(highs)s::text[])
       AS t (key, type, low, high)
 CROSS JOIN LATERAL (
    SELECT id, key, type FROM ingestion_entity
     WHERE workspace_id = %(workspace)s AND key >= t.low AND key < t.high
       AND key <> t.key AND type = t.type
     ORDER BY key LIMIT %(most)s) AS e
"""

ADD_SUGGESTIONS: Final[LiteralString] = """
INSERT INTO ingestion_mergesuggestion (workspace_id, id, left_id, right_id, score, reason, state,
       created_at)
SELECT %(workspace)s, gen_random_uuid(), t.left_id, t.right_id, t.score, t.reason, 'open', now()
  FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[], %(scores)s::float8[], %(reasons)s::text[])
       AS t (left_id, right_id, score, reason)
ON CONFLICT DO NOTHING
"""

# What the mentions of the changed entities say, by majority; the first in sort order wins a tie,
# so that the order of arrival does not matter. A name is taken only from spellings of the key
# itself: the short form that stands for a full name never becomes the name.
COUNT_ENTITIES: Final[LiteralString] = """
WITH counted AS (
    SELECT m.entity_id, count(*) AS mentions, count(DISTINCT m.chunk_id) AS chunks,
           mode() WITHIN GROUP (ORDER BY m.type) AS type,
           mode() WITHIN GROUP (ORDER BY m.surface)
               FILTER (WHERE a.key = e.key) AS name
      FROM ingestion_entity AS e
      JOIN ingestion_mention AS m ON m.workspace_id = %(workspace)s AND m.entity_id = e.id
      LEFT JOIN ingestion_alias AS a ON a.workspace_id = %(workspace)s
            AND a.entity_id = e.id AND a.name = m.surface
     WHERE e.workspace_id = %(workspace)s AND e.is_changed
     GROUP BY m.entity_id
), locked AS (
    SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
     ORDER BY id FOR NO KEY UPDATE
)
UPDATE ingestion_entity AS e
   SET mention_count = c.mentions, chunk_count = c.chunks, type = c.type,
       name = coalesce(c.name, e.name)
  FROM counted AS c JOIN locked AS l ON l.id = c.entity_id
 WHERE e.workspace_id = %(workspace)s AND e.id = c.entity_id
"""

COUNT_RELATIONSHIPS: Final[LiteralString] = """
WITH counted AS (
    SELECT v.relationship_id, sum(v.strength) AS weight, count(*) AS number,
           coalesce(array_agg(DISTINCT left(v.predicate, 80) ORDER BY left(v.predicate, 80))
                    FILTER (WHERE v.predicate <> ''), '{}') AS keywords
      FROM ingestion_relationship AS r
      JOIN ingestion_evidence AS v
        ON v.workspace_id = %(workspace)s AND v.relationship_id = r.id
     WHERE r.workspace_id = %(workspace)s AND r.is_changed
     GROUP BY v.relationship_id
), locked AS (
    SELECT id FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed
     ORDER BY id FOR NO KEY UPDATE
)
UPDATE ingestion_relationship AS r
   SET weight = c.weight, evidence_count = c.number, keywords = c.keywords[1:5]
  FROM counted AS c JOIN locked AS l ON l.id = c.relationship_id
 WHERE r.workspace_id = %(workspace)s AND r.id = c.relationship_id
"""

# Facts that lost their last evidence go, and leave a tombstone for the projection.
BURY_RELATIONSHIPS: Final[LiteralString] = """
WITH gone AS (
    DELETE FROM ingestion_relationship AS r
     WHERE r.workspace_id = %(workspace)s AND r.is_changed AND NOT EXISTS (
           SELECT FROM ingestion_evidence AS v
            WHERE v.workspace_id = %(workspace)s AND v.relationship_id = r.id)
    RETURNING r.id)
INSERT INTO ingestion_graphtombstone (workspace_id, id) SELECT %(workspace)s, id FROM gone
ON CONFLICT DO NOTHING
"""
BURY_ENTITIES: Final[LiteralString] = """
WITH gone AS (
    DELETE FROM ingestion_entity AS e
     WHERE e.workspace_id = %(workspace)s AND e.is_changed AND NOT EXISTS (
           SELECT FROM ingestion_mention AS m
            WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id)
    RETURNING e.id)
INSERT INTO ingestion_graphtombstone (workspace_id, id) SELECT %(workspace)s, id FROM gone
ON CONFLICT DO NOTHING
"""

# The mentions that are most likely to introduce a changed entity: those in a document it names,
# then the earliest in each document.
INTRODUCTIONS: Final[LiteralString] = """
SELECT entity_id, chunk_id, start, "end" FROM (
    SELECT m.entity_id, m.chunk_id, m.start, m."end",
           row_number() OVER (PARTITION BY m.entity_id
                              ORDER BY m.source = 'title' DESC, c.ordinal, m.start, d.title, m.id
           ) AS place
      FROM ingestion_entity AS e
      JOIN ingestion_mention AS m ON m.workspace_id = %(workspace)s AND m.entity_id = e.id
      JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = m.chunk_id
      JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = m.document_id
     WHERE e.workspace_id = %(workspace)s AND e.is_changed) AS ranked
 WHERE place <= %(most)s
 ORDER BY entity_id, place
"""

BEST_EVIDENCE: Final[LiteralString] = """
SELECT DISTINCT ON (v.relationship_id) v.relationship_id, v.chunk_id, v.start, v."end"
  FROM ingestion_relationship AS r
  JOIN ingestion_evidence AS v ON v.workspace_id = %(workspace)s AND v.relationship_id = r.id
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = v.chunk_id
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = v.document_id
 WHERE r.workspace_id = %(workspace)s AND r.is_changed
 ORDER BY v.relationship_id, v.kind = 'stated' DESC, v.strength DESC, d.title, c.ordinal, v.start
"""

DESCRIBE_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity AS e SET description = t.description, description_sources = t.sources
  FROM unnest(%(ids)s::uuid[], %(descriptions)s::text[], %(sources)s::jsonb[])
       AS t (id, description, sources)
 WHERE e.workspace_id = %(workspace)s AND e.id = t.id
"""
DESCRIBE_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship AS r SET description = t.description
  FROM unnest(%(ids)s::uuid[], %(descriptions)s::text[]) AS t (id, description)
 WHERE r.workspace_id = %(workspace)s AND r.id = t.id
"""

CHUNKS_TO_WALK: Final[LiteralString] = """
SELECT c.id, d.title FROM ingestion_chunk AS c
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = c.document_id
 WHERE c.workspace_id = %(workspace)s
 ORDER BY d.title, c.document_id, c.ordinal
"""
ENTITIES_TO_WALK: Final[LiteralString] = """
SELECT id, key, type, name FROM ingestion_entity WHERE workspace_id = %(workspace)s ORDER BY key
"""
ALIASES_TO_WALK: Final[LiteralString] = """
SELECT DISTINCT a.key, a.entity_id
  FROM ingestion_alias AS a
  JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = a.entity_id
 WHERE a.workspace_id = %(workspace)s AND a.key <> e.key
 ORDER BY a.key, a.entity_id
"""
MENTIONS_TO_WALK: Final[LiteralString] = """
SELECT chunk_id, entity_id, count(*) FROM ingestion_mention
 WHERE workspace_id = %(workspace)s GROUP BY chunk_id, entity_id
"""

# The workspace's row serialises two builders; numbers only ever grow.
NEXT_SNAPSHOT: Final[LiteralString] = """
WITH locked AS (
    SELECT id FROM workspaces_workspace WHERE id = %(workspace)s FOR NO KEY UPDATE)
SELECT coalesce(max(s.number), 0) + 1
  FROM locked LEFT JOIN ingestion_walksnapshot AS s ON s.workspace_id = locked.id
"""
