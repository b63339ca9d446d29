"""The SQL statements of curation."""

from __future__ import annotations

from typing import Final, LiteralString

# What a merge would move: mentions and relationships, how many of those would become self-loops,
# and how many of the rest would be new to the kept entity.
MERGE_MOVES: Final[LiteralString] = """
WITH touched AS (
    SELECT source_id, target_id,
           CASE WHEN source_id = ANY(%(others)s::uuid[]) THEN %(kept)s::uuid
                ELSE source_id END AS source,
           CASE WHEN target_id = ANY(%(others)s::uuid[]) THEN %(kept)s::uuid
                ELSE target_id END AS target
      FROM ingestion_relationship
     WHERE workspace_id = %(workspace)s
       AND (source_id = ANY(%(others)s::uuid[]) OR target_id = ANY(%(others)s::uuid[]))
)
SELECT (SELECT count(*) FROM ingestion_mention
         WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(others)s::uuid[])),
       (SELECT count(*) FROM touched),
       (SELECT count(*) FROM touched WHERE source = target),
       (SELECT count(*) FROM (
            SELECT DISTINCT source, target FROM touched AS t
             WHERE source <> target AND NOT EXISTS (
                   SELECT FROM ingestion_relationship AS r
                    WHERE r.workspace_id = %(workspace)s
                      AND r.source_id = t.source AND r.target_id = t.target)) AS new)
"""

# Reports on topics that contain one of the entities.
REPORTS_ABOUT: Final[LiteralString] = """
SELECT count(DISTINCT r.id)
  FROM ingestion_communitymember AS m
  JOIN ingestion_communityreport AS r
    ON r.workspace_id = %(workspace)s AND r.community_id = m.community_id
 WHERE m.workspace_id = %(workspace)s AND m.entity_id = ANY(%(entities)s::uuid[])
"""

# What documents contain, and what nothing else supports: passages, mentions, facts lost and kept,
# entities lost, reports on topics that contain one of their entities.
DOCUMENTS_HOLD: Final[LiteralString] = """
WITH stated AS (
    SELECT DISTINCT relationship_id AS id FROM ingestion_evidence
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), lost AS (
    SELECT s.id FROM stated AS s
      JOIN ingestion_relationship AS r ON r.workspace_id = %(workspace)s AND r.id = s.id
     WHERE NOT r.is_made AND NOT EXISTS (
           SELECT FROM ingestion_evidence AS e
            WHERE e.workspace_id = %(workspace)s AND e.relationship_id = s.id
              AND NOT e.document_id = ANY(%(documents)s::uuid[]))
), named AS (
    SELECT DISTINCT entity_id AS id FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), unnamed AS (
    SELECT n.id FROM named AS n
      JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = n.id
     WHERE NOT e.is_made AND NOT EXISTS (
           SELECT FROM ingestion_mention AS m
            WHERE m.workspace_id = %(workspace)s AND m.entity_id = n.id
              AND NOT m.document_id = ANY(%(documents)s::uuid[]))
)
SELECT (SELECT count(*) FROM ingestion_chunk
         WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])),
       (SELECT count(*) FROM ingestion_mention
         WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])),
       (SELECT count(*) FROM lost),
       (SELECT count(*) FROM stated) - (SELECT count(*) FROM lost),
       (SELECT count(*) FROM unnamed),
       (SELECT count(DISTINCT r.id)
          FROM ingestion_communitymember AS m
          JOIN ingestion_communityreport AS r
            ON r.workspace_id = %(workspace)s AND r.community_id = m.community_id
         WHERE m.workspace_id = %(workspace)s AND m.entity_id IN (SELECT id FROM named))
"""
