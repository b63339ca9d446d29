"""Statements of the suggest stage: what entities are compared by, and the suggestions."""

from __future__ import annotations

from typing import Final, LiteralString

# Symbols of source code are named exactly: getName is not a misspelt setName. Terms name no one,
# but one written as a name may: Eastray Shipping, next to Eastray Shipping Ltd.
ENTITIES: Final[LiteralString] = """
SELECT id, key, name, type, sense, mention_count, degree FROM ingestion_entity AS e
 WHERE workspace_id = %(workspace)s AND type <> ALL (%(exact)s::text[])
   AND (type <> %(term)s OR written_by <> 'extractive' OR is_made OR is_confirmed OR EXISTS (
       SELECT 1 FROM ingestion_mention AS m
        WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id AND m.type <> %(term)s))
"""

ENTITIES_OF: Final[LiteralString] = ENTITIES + "AND id = ANY (%(ids)s::uuid[])"

# Names other than an entity's own.
ALIASES: Final[LiteralString] = """
SELECT a.key, a.name, a.entity_id
  FROM ingestion_alias AS a
  JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = a.entity_id
 WHERE a.workspace_id = %(workspace)s AND a.key <> e.key
"""
ALIASES_OF: Final[LiteralString] = ALIASES + "AND a.entity_id = ANY (%(ids)s::uuid[])"

# Every entity's id, key, and a digest of what it is compared by: how it is named, and how many
# mentions and relationships it has. In columns: half a million rows would be millions of objects.
DIGESTS: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(id), ''::bytea), ''),
       coalesce(string_agg(int8send(hash_record_extended(
           ROW (id, key, name, type, sense, written_by, is_made, is_confirmed, mention_count,
                degree), 0)), ''::bytea), ''),
       coalesce(string_agg(key, E'\n'), '')
  FROM ingestion_entity
 WHERE workspace_id = %(workspace)s AND type <> ALL (%(exact)s::text[])
"""

# Digests of names, with whose they are: added by number, half a million take a third of the time
# that a join with their entities takes.
DIGESTS_OF_ALIASES: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(entity_id), ''::bytea), ''),
       coalesce(string_agg(int8send(hash_record_extended(ROW (entity_id, key, name), 0)),
                           ''::bytea), '')
  FROM ingestion_alias WHERE workspace_id = %(workspace)s
"""

# Whoever has one of these names beside their own.
ALSO_NAMED: Final[LiteralString] = """
SELECT DISTINCT entity_id FROM ingestion_alias
 WHERE workspace_id = %(workspace)s AND key = ANY (%(keys)s::text[])
"""

LINKS: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(source_id), ''::bytea), ''),
       coalesce(string_agg(uuid_send(target_id), ''::bytea), '')
  FROM ingestion_relationship WHERE workspace_id = %(workspace)s
"""
LINKS_OF: Final[LiteralString] = (
    LINKS + "AND (source_id = ANY (%(ids)s::uuid[]) OR target_id = ANY (%(ids)s::uuid[]))"
)

# Names that closely follow each other in a passage, with the text between them: in all passages, or
# in those that name one of %(ids)s.
_NAMED: Final[LiteralString] = """
WITH named AS (
    SELECT m.chunk_id, m.entity_id AS first, m."end" AS first_end,
           lead(m.entity_id) OVER following AS second,
           lead(m.start) OVER following AS second_start,
           lead(m."end") OVER following AS second_end,
           lead(m.surface) OVER following AS second_surface
      FROM ingestion_mention AS m
     WHERE m.workspace_id = %(workspace)s
"""
_BESIDE: Final[LiteralString] = """
    WINDOW following AS (PARTITION BY m.chunk_id ORDER BY m.start, m."end", m.entity_id)
), beside AS MATERIALIZED (
    SELECT * FROM named
     WHERE first <> second AND second_start - first_end BETWEEN 1 AND %(longest)s
)
SELECT b.first, b.second,
       substr(c.text, b.first_end - c.start + 1, b.second_start - b.first_end),
       substr(c.text, b.second_end - c.start + 1, 3),
       b.second_surface
  FROM beside AS b
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = b.chunk_id
"""
_WHERE_ONE_IS_NAMED: Final[LiteralString] = """
       AND m.chunk_id = ANY (ARRAY(
           SELECT chunk_id FROM ingestion_mention
            WHERE workspace_id = %(workspace)s AND entity_id = ANY (%(ids)s::uuid[])))
"""
ADJACENT_NAMES: Final[LiteralString] = _NAMED + _BESIDE
ADJACENT_NAMES_OF: Final[LiteralString] = _NAMED + _WHERE_ONE_IS_NAMED + _BESIDE

# How similar are the passages that name one and those that name the other: the cosine of their mean
# vectors, relative to the mean of the workspace. No row if a passage names both. The means stand in
# a column, not in a join, so that the planner knows how many there are: it took them for one, and
# compared each pair with all.
COSINES: Final[LiteralString] = """
WITH pair AS MATERIALIZED (
    SELECT l, r FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[]) AS t (l, r)
     WHERE NOT EXISTS (
           SELECT FROM ingestion_mention AS m
             JOIN ingestion_mention AS n ON n.workspace_id = %(workspace)s
                  AND n.chunk_id = m.chunk_id AND n.entity_id = r
            WHERE m.workspace_id = %(workspace)s AND m.entity_id = l)
), mean AS MATERIALIZED (
    SELECT named.id, (
           SELECT avg(e.vector)
             FROM (SELECT DISTINCT m.chunk_id FROM ingestion_mention AS m
                    WHERE m.workspace_id = %(workspace)s AND m.entity_id = named.id
                    ORDER BY m.chunk_id LIMIT %(most)s) AS passage
             JOIN ingestion_chunkembedding AS e ON e.workspace_id = %(workspace)s
                  AND e.chunk_id = passage.chunk_id AND e.fingerprint = %(fingerprint)s) AS vector
      FROM (SELECT l AS id FROM pair UNION SELECT r FROM pair) AS named
), centre AS MATERIALIZED (
    SELECT avg(vector) AS vector
      FROM (SELECT vector FROM ingestion_chunkembedding
             WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
             ORDER BY chunk_id LIMIT %(sample)s) AS sample
)
SELECT pair.l, pair.r, 1 - ((l.vector - c.vector) <=> (r.vector - c.vector))
  FROM pair
  JOIN mean AS l ON l.id = pair.l
  JOIN mean AS r ON r.id = pair.r
 CROSS JOIN centre AS c
 WHERE l.vector IS NOT NULL AND r.vector IS NOT NULL
"""

# Earlier suggestions that were not found again are deleted.
FORGET: Final[LiteralString] = """
DELETE FROM ingestion_mergesuggestion AS s
 WHERE s.workspace_id = %(workspace)s
   AND (s.left_id, s.right_id) NOT IN (
       SELECT * FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[]) AS t (l, r))
"""

SUGGESTED: Final[LiteralString] = """
SELECT left_id, right_id, score FROM ingestion_mergesuggestion
 WHERE workspace_id = %(workspace)s
   AND NOT (left_id = ANY (%(ids)s::uuid[]) OR right_id = ANY (%(ids)s::uuid[]))
"""

# Entities may be deleted meanwhile: those that remain are locked until the transaction ends.
SUGGEST: Final[LiteralString] = """
WITH held AS MATERIALIZED (
    SELECT id FROM ingestion_entity
     WHERE workspace_id = %(workspace)s AND id = ANY (%(lefts)s::uuid[] || %(rights)s::uuid[])
     ORDER BY id FOR KEY SHARE
)
INSERT INTO ingestion_mergesuggestion AS s
       (workspace_id, id, left_id, right_id, score, effect, reason, reasons, state, created_at)
SELECT %(workspace)s, gen_random_uuid(), t.l, t.r, t.score, t.effect, t.reason, t.reasons::jsonb,
       t.state, now()
  FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[], %(scores)s::float8[], %(effects)s::float8[],
              %(sentences)s::text[], %(reasons)s::text[], %(states)s::text[])
       AS t (l, r, score, effect, reason, reasons, state)
 WHERE t.l IN (SELECT id FROM held) AND t.r IN (SELECT id FROM held)
 ORDER BY t.l, t.r
ON CONFLICT (workspace_id, left_id, right_id) DO UPDATE
   SET score = excluded.score, effect = excluded.effect, reason = excluded.reason,
       reasons = excluded.reasons, state = excluded.state
 WHERE (s.score, s.effect, s.reasons, s.state) IS DISTINCT FROM
       (excluded.score, excluded.effect, excluded.reasons, excluded.state)
"""
