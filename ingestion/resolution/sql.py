"""The SQL of the decisions in force, each statement named for what it reads."""

from __future__ import annotations

from typing import Final, LiteralString

# Decisions that determine how names resolve: those that join two names, every decision between
# names so joined, and what names mean in these documents.
RULINGS: Final[LiteralString] = """
WITH joined AS (
    SELECT left_key, right_key FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND verdict = 'same' AND right_key <> ''
       AND undone_at IS NULL
), keys AS (
    SELECT left_key AS key FROM joined UNION SELECT right_key FROM joined
)
SELECT left_key, right_key, document_id, sense, verdict, by, created_at, id, left_sense,
       right_sense, keeps_right
  FROM ingestion_resolutiondecision
 WHERE workspace_id = %(workspace)s AND undone_at IS NULL
   AND ((right_key = '' AND document_id = ANY(%(documents)s::uuid[]))
        OR (right_key <> '' AND left_key IN (SELECT key FROM keys)
            AND right_key IN (SELECT key FROM keys)))
"""

PLACEMENTS: Final[LiteralString] = """
SELECT key, own_key, document_id, chunk_id, "offset", target_key, target_sense, sequence
  FROM ingestion_mentionplacement
 WHERE workspace_id = %(workspace)s AND undone_at IS NULL
   AND (document_id IS NULL OR document_id = ANY(%(documents)s::uuid[]))
"""

# For an entity or a link that was made and deleted, the latest ruling counts.
DELETED: Final[LiteralString] = """
SELECT key, sense FROM (
    SELECT DISTINCT ON (key, sense) key, sense, field FROM ingestion_entityruling
     WHERE workspace_id = %(workspace)s AND undone_at IS NULL AND field IN ('created', 'deleted')
     ORDER BY key, sense, sequence DESC) AS last
 WHERE field = 'deleted'
"""
DROPPED: Final[LiteralString] = """
SELECT source_key, source_sense, target_key, target_sense FROM (
    SELECT DISTINCT ON (source_key, source_sense, target_key, target_sense)
           source_key, source_sense, target_key, target_sense, field
      FROM ingestion_relationshipruling
     WHERE workspace_id = %(workspace)s AND undone_at IS NULL AND field IN ('created', 'deleted')
     ORDER BY source_key, source_sense, target_key, target_sense, sequence DESC) AS last
 WHERE field = 'deleted'
"""

# People's edits to entities and links, later ones last.
ENTITY_RULINGS: Final[LiteralString] = """
SELECT key, sense, field, value FROM ingestion_entityruling
 WHERE workspace_id = %(workspace)s AND undone_at IS NULL
 ORDER BY sequence, id
"""
RELATIONSHIP_RULINGS: Final[LiteralString] = """
SELECT source_key, source_sense, target_key, target_sense, field, value
  FROM ingestion_relationshipruling
 WHERE workspace_id = %(workspace)s AND undone_at IS NULL
 ORDER BY sequence, id
"""

# Pairs whose latest decision is that they are distinct; a person's decision comes last.
TOLD_APART: Final[LiteralString] = """
SELECT left_key, left_sense, right_key, right_sense FROM (
    SELECT DISTINCT ON (left_key, left_sense, right_key, right_sense)
           left_key, left_sense, right_key, right_sense, verdict
      FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND right_key <> '' AND undone_at IS NULL
     ORDER BY left_key, left_sense, right_key, right_sense, by = 'person' DESC,
              created_at DESC, id DESC) AS last
 WHERE verdict = 'different'
"""

# The greatest sense ever used for a name, including undone decisions and entities without mentions;
# null if there is none.
LAST_SENSE: Final[LiteralString] = """
SELECT max(sense) FROM (
    SELECT sense FROM ingestion_entity WHERE workspace_id = %(workspace)s AND key = %(key)s
     UNION ALL
    SELECT sense FROM ingestion_entityruling WHERE workspace_id = %(workspace)s AND key = %(key)s
     UNION ALL
    SELECT target_sense FROM ingestion_mentionplacement
     WHERE workspace_id = %(workspace)s AND target_key = %(key)s
     UNION ALL
    SELECT greatest(sense, left_sense) FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND left_key = %(key)s
     UNION ALL
    SELECT right_sense FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND right_key = %(key)s) AS used
"""
