"""Statements of exports and imports."""

from __future__ import annotations

from typing import Final, LiteralString

# The evidence of some facts, the best first and at most so much of each, with its quotes.
EVIDENCE: Final[LiteralString] = """
SELECT e.relationship_id, substr(c.text, e.start - c.start + 1, e.end - e.start), e.predicate,
       e.kind, d.title, d.id, v.number, e.start, e.end, e.period_start, e.period_end
  FROM (SELECT *, row_number() OVER (PARTITION BY relationship_id
                                         ORDER BY kind, strength DESC, chunk_id, start) AS place
          FROM ingestion_evidence
         WHERE workspace_id = %(workspace)s
           AND relationship_id = ANY(%(facts)s::uuid[])) AS e
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = e.chunk_id
  JOIN ingestion_documentversion AS v ON v.workspace_id = %(workspace)s AND v.id = c.version_id
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = e.document_id
 WHERE e.place <= %(most)s
 ORDER BY e.relationship_id, e.place
"""
PREDICATES: Final[LiteralString] = """
SELECT relationship_id, predicate FROM ingestion_evidence
 WHERE workspace_id = %(workspace)s AND relationship_id = ANY(%(facts)s::uuid[])
   AND predicate <> ''
 GROUP BY relationship_id, predicate
 ORDER BY relationship_id, count(*) DESC, predicate
"""
ALIASES: Final[LiteralString] = """
SELECT DISTINCT entity_id, name FROM ingestion_alias
 WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(entities)s::uuid[])
 ORDER BY entity_id, name
"""
TOPICS: Final[LiteralString] = """
SELECT m.entity_id, r.title
  FROM ingestion_communitymember AS m
  JOIN ingestion_community AS t ON t.workspace_id = %(workspace)s AND t.id = m.community_id
  JOIN ingestion_communityreport AS r
    ON r.workspace_id = %(workspace)s AND r.community_id = m.community_id
 WHERE m.workspace_id = %(workspace)s AND m.entity_id = ANY(%(entities)s::uuid[])
 ORDER BY m.entity_id, t.level, r.title
"""

# Entities that go by one of these names: by their own key, or by an alias.
HOLDERS: Final[LiteralString] = """
SELECT e.key AS name, e.id, e.key, e.sense, e.name, e.type, e.mention_count
  FROM ingestion_entity AS e
 WHERE e.workspace_id = %(workspace)s AND e.key = ANY(%(keys)s::text[])
 UNION
SELECT a.key, e.id, e.key, e.sense, e.name, e.type, e.mention_count
  FROM ingestion_alias AS a
  JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = a.entity_id
 WHERE a.workspace_id = %(workspace)s AND a.key = ANY(%(keys)s::text[])
"""
# The greatest sense ever used for each of these names.
LAST_SENSES: Final[LiteralString] = """
SELECT key, max(sense) FROM (
    SELECT key, sense FROM ingestion_entity
     WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s::text[])
     UNION ALL
    SELECT key, sense FROM ingestion_entityruling
     WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s::text[])
     UNION ALL
    SELECT target_key, target_sense FROM ingestion_mentionplacement
     WHERE workspace_id = %(workspace)s AND target_key = ANY(%(keys)s::text[])
     UNION ALL
    SELECT left_key, greatest(sense, left_sense) FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND left_key = ANY(%(keys)s::text[])
     UNION ALL
    SELECT right_key, right_sense FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND right_key = ANY(%(keys)s::text[])) AS used
 GROUP BY key
"""
