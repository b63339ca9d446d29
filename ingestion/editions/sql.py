"""Hand-written SQL of editions."""

from __future__ import annotations

from typing import Final, LiteralString

# What is hidden from each member of a workspace: the restricted collections without a grant to them
# or to a group of theirs. Nothing from those who administer.
HIDDEN_BY_READER: Final[LiteralString] = """
SELECT m.user_id, ARRAY(
       SELECT c.id FROM ingestion_collection AS c
        WHERE c.workspace_id = %(workspace)s AND c.is_restricted
          AND NOT ('administer' = ANY(m.capabilities))
          AND NOT EXISTS (
              SELECT FROM ingestion_collectiongrant AS g
               WHERE g.workspace_id = %(workspace)s AND g.collection_id = c.id
                 AND (g.membership_id = m.id OR g.group_id IN (
                      SELECT group_id FROM workspaces_groupmember
                       WHERE workspace_id = %(workspace)s AND membership_id = m.id)))
        ORDER BY 1)
  FROM workspaces_membership AS m
 WHERE m.workspace_id = %(workspace)s
"""
RESTRICTED: Final[LiteralString] = """
SELECT id FROM ingestion_collection
 WHERE workspace_id = %(workspace)s AND is_restricted ORDER BY id
"""

# One sync of a workspace's editions at a time.
HOLD: Final[LiteralString] = """
SELECT pg_advisory_xact_lock(hashtextextended('editions ' || %(workspace)s::text, 0))
"""

# Opens an edition, unless somebody closed it since its documents were compared with the source's:
# then its row is another version.
VERSION: Final[LiteralString] = """
SELECT xmin::text FROM workspaces_workspace WHERE id = %(edition)s
"""
OPEN: Final[LiteralString] = """
UPDATE workspaces_workspace SET is_current = true
 WHERE id = %(edition)s AND NOT is_current AND xmin::text = %(version)s
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
