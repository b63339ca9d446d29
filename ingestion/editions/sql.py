"""Hand-written SQL of editions."""

from __future__ import annotations

from typing import Final, LiteralString

# What the members of a workspace may see: for each, the restricted collections they were granted.
AUDIENCES: Final[LiteralString] = """
SELECT DISTINCT ARRAY(
       SELECT DISTINCT g.collection_id
         FROM ingestion_collectiongrant AS g
         JOIN ingestion_collection AS c
           ON c.workspace_id = %(workspace)s AND c.id = g.collection_id AND c.is_restricted
        WHERE g.workspace_id = %(workspace)s
          AND (g.membership_id = m.id OR g.group_id IN (
               SELECT group_id FROM workspaces_groupmember
                WHERE workspace_id = %(workspace)s AND membership_id = m.id))
        ORDER BY 1)
  FROM workspaces_membership AS m
 WHERE m.workspace_id = %(workspace)s AND NOT ('administer' = ANY(m.capabilities))
"""
RESTRICTED: Final[LiteralString] = """
SELECT id FROM ingestion_collection
 WHERE workspace_id = %(workspace)s AND is_restricted ORDER BY id
"""

# One sync of a workspace's editions at a time.
HOLD: Final[LiteralString] = """
SELECT pg_advisory_xact_lock(hashtextextended('editions ' || %(workspace)s::text, 0))
"""

# Documents outside the hidden collections, with what changes whenever one has to be copied again.
DOCUMENTS: Final[LiteralString] = """
SELECT d.id, d.state, d.updated_at, d.collection_id, v.vectors, v.models
  FROM ingestion_document AS d
  LEFT JOIN (SELECT c.document_id, count(*) AS vectors,
                    array_agg(DISTINCT e.fingerprint::text) AS models
               FROM ingestion_chunk AS c
               JOIN ingestion_chunkembedding AS e
                 ON e.workspace_id = %(workspace)s AND e.chunk_id = c.id
              WHERE c.workspace_id = %(workspace)s
              GROUP BY c.document_id) AS v ON v.document_id = d.id
 WHERE d.workspace_id = %(workspace)s
   AND (d.collection_id IS NULL OR d.collection_id <> ALL(%(hidden)s::uuid[]))
"""
DELETE_DOCUMENTS: Final[LiteralString] = """
DELETE FROM ingestion_document
 WHERE workspace_id = %(workspace)s AND id = ANY(%(documents)s::uuid[])
"""

# --- decisions ------------------------------------------------------------------------------------
# Every name that the edition's documents have, as its mentions know it.
KEYS: Final[LiteralString] = """
SELECT key FROM ingestion_mention WHERE workspace_id = %(workspace)s
 UNION
SELECT own_key FROM ingestion_mention WHERE workspace_id = %(workspace)s
 UNION
SELECT key FROM ingestion_hiddenname WHERE workspace_id = %(workspace)s
"""
