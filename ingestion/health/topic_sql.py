"""The SQL of checks of topics, reports and summaries: each statement returns drift.

Rows are as in ``sql``. Callers decide whether a coming refresh will repair them.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Every entity must be in exactly one community of the root level.
UNGROUPED_ENTITIES: Final[LiteralString] = """
SELECT e.id::text, NULL
  FROM ingestion_entity AS e
  LEFT JOIN (SELECT m.entity_id, count(*) AS number
               FROM ingestion_communitymember AS m
               JOIN ingestion_community AS c
                 ON c.workspace_id = %(workspace)s AND c.id = m.community_id AND c.level = 0
              WHERE m.workspace_id = %(workspace)s
              GROUP BY m.entity_id) AS roots ON roots.entity_id = e.id
 WHERE e.workspace_id = %(workspace)s AND coalesce(roots.number, 0) <> 1
"""
MISCOUNTED_COMMUNITIES: Final[LiteralString] = """
SELECT c.id::text, c.id
  FROM ingestion_community AS c
  LEFT JOIN (SELECT community_id, count(*) AS number FROM ingestion_communitymember
              WHERE workspace_id = %(workspace)s GROUP BY community_id) AS m
    ON m.community_id = c.id
 WHERE c.workspace_id = %(workspace)s
   AND (coalesce(m.number, 0) = 0 OR m.number <> c.size)
"""
# A community must be one level below its parent, which contains all of its members.
MISNESTED_COMMUNITIES: Final[LiteralString] = """
SELECT c.id::text, c.id
  FROM ingestion_community AS c
  LEFT JOIN ingestion_community AS p ON p.workspace_id = %(workspace)s AND p.id = c.parent_id
 WHERE c.workspace_id = %(workspace)s
   AND (c.level > 0 AND p.id IS NULL OR c.level = 0 AND c.parent_id IS NOT NULL
        OR p.level <> c.level - 1)
UNION
SELECT c.id::text, c.id
  FROM ingestion_community AS c
  JOIN ingestion_communitymember AS m ON m.workspace_id = %(workspace)s AND m.community_id = c.id
 WHERE c.workspace_id = %(workspace)s AND c.parent_id IS NOT NULL
   AND NOT EXISTS (SELECT FROM ingestion_communitymember AS above
                    WHERE above.workspace_id = %(workspace)s
                      AND above.community_id = c.parent_id AND above.entity_id = m.entity_id)
"""
UNREPORTED_COMMUNITIES: Final[LiteralString] = """
SELECT c.id::text, c.id FROM ingestion_community AS c
 WHERE c.workspace_id = %(workspace)s AND NOT c.is_changed
   AND NOT EXISTS (SELECT FROM ingestion_communityreport AS r
                    WHERE r.workspace_id = %(workspace)s AND r.community_id = c.id)
"""
# Every sentence of an extractive report must have evidence, and every span must be inside its
# passage.
UNSUPPORTED_FINDINGS: Final[LiteralString] = """
SELECT f.id::text, r.community_id
  FROM ingestion_finding AS f
  JOIN ingestion_communityreport AS r ON r.workspace_id = %(workspace)s AND r.id = f.report_id
  JOIN ingestion_community AS c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
 WHERE f.workspace_id = %(workspace)s AND NOT c.is_changed AND r.written_by = 'extractive'
   AND NOT EXISTS (SELECT FROM ingestion_findingevidence AS v
                    WHERE v.workspace_id = %(workspace)s AND v.finding_id = f.id)
UNION ALL
SELECT v.id::text, r.community_id
  FROM ingestion_findingevidence AS v
  JOIN ingestion_chunk AS k ON k.workspace_id = %(workspace)s AND k.id = v.chunk_id
  JOIN ingestion_finding AS f ON f.workspace_id = %(workspace)s AND f.id = v.finding_id
  JOIN ingestion_communityreport AS r ON r.workspace_id = %(workspace)s AND r.id = f.report_id
  JOIN ingestion_community AS c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
 WHERE v.workspace_id = %(workspace)s AND NOT c.is_changed
   AND (v.document_id <> k.document_id OR v.start < k.start OR v."end" > k."end"
        OR v.start >= v."end")
"""
MISSING_REFERENCES: Final[LiteralString] = """
WITH said AS (
    SELECT f.id, r.community_id, t.kind, t.target
      FROM ingestion_finding AS f
      JOIN ingestion_communityreport AS r ON r.workspace_id = %(workspace)s AND r.id = f.report_id
      JOIN ingestion_community AS c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
     CROSS JOIN LATERAL (SELECT x ->> 'kind' AS kind, (x ->> 'id')::uuid AS target
                           FROM jsonb_array_elements(f."references") AS x) AS t
     WHERE f.workspace_id = %(workspace)s AND NOT c.is_changed
), there (kind, id) AS (
    SELECT 'entity', id FROM ingestion_entity WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'relationship', id FROM ingestion_relationship WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'claim', id FROM ingestion_claim WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'report', id FROM ingestion_communityreport WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'report', id FROM ingestion_community WHERE workspace_id = %(workspace)s
)
SELECT DISTINCT said.id::text, said.community_id FROM said
 WHERE NOT EXISTS (SELECT FROM there WHERE there.kind = said.kind AND there.id = said.target)
"""
# Trees of documents with fewer than two passages, nodes without children, wrong numbers of nodes.
BROKEN_TREES: Final[LiteralString] = """
SELECT t.id::text, NULL
  FROM ingestion_summarytree AS t
  LEFT JOIN (SELECT document_id, count(*) AS number FROM ingestion_summarynode
              WHERE workspace_id = %(workspace)s GROUP BY document_id) AS n
    ON n.document_id IS NOT DISTINCT FROM t.document_id
 WHERE t.workspace_id = %(workspace)s AND coalesce(n.number, 0) <> t.nodes
UNION ALL
SELECT t.id::text, NULL
  FROM ingestion_summarytree AS t
  LEFT JOIN (SELECT document_id, count(*) AS number FROM ingestion_chunk
              WHERE workspace_id = %(workspace)s GROUP BY document_id) AS c
    ON c.document_id = t.document_id
 WHERE t.workspace_id = %(workspace)s AND t.document_id IS NOT NULL AND coalesce(c.number, 0) < 2
UNION ALL
SELECT n.id::text, NULL FROM ingestion_summarynode AS n
 WHERE n.workspace_id = %(workspace)s
   AND NOT EXISTS (SELECT FROM ingestion_summaryedge AS e
                    WHERE e.workspace_id = %(workspace)s AND e.parent_id = n.id)
"""
# A report with an unchanged digest is left as it is, so clear the digest.
FORGET_REPORTS: Final[LiteralString] = """
UPDATE ingestion_communityreport SET digest = ''
 WHERE workspace_id = %(workspace)s AND community_id = ANY (%(ids)s::uuid[])
"""
FORGET_DIGESTS: Final[LiteralString] = """
UPDATE ingestion_summarytree SET digest = '' WHERE workspace_id = %(workspace)s
"""
