"""Statements of the explorer: nodes and relationships of a picture, by id."""

from __future__ import annotations

from typing import Final, LiteralString

# The topic is the broadest one the entity is in; the last column is models.knowledge.TERMS.
NODES: Final[LiteralString] = """
SELECT entity.id, entity.name, entity.type, entity.degree, position.x, position.y,
       (SELECT community.id
        FROM ingestion_communitymember AS member
        JOIN ingestion_community AS community
          ON community.workspace_id = %(workspace)s AND community.id = member.community_id
         AND community.level = 0
        WHERE member.workspace_id = %(workspace)s AND member.entity_id = entity.id
        LIMIT 1),
       entity.type = 'concept' AND entity.written_by = 'extractive'
         AND NOT entity.is_made AND NOT entity.is_confirmed
FROM ingestion_entity AS entity
LEFT JOIN ingestion_entityposition AS position
  ON position.workspace_id = %(workspace)s AND position.entity_id = entity.id
WHERE entity.workspace_id = %(workspace)s AND entity.id = ANY (%(ids)s::uuid[])
"""

# Relationships in both directions are one line. A union rather than OR: each half uses its own
# index, and only relationships between two of the entities are read, however many a hub has. One of
# which all dated evidence lies outside the date ``as_of`` is left out.
EDGES: Final[LiteralString] = """
WITH found AS (
    SELECT id, source_id, target_id, weight, evidence_count FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
      AND source_id = ANY (%(new)s::uuid[]) AND target_id = ANY (%(ids)s::uuid[])
    UNION
    SELECT id, source_id, target_id, weight, evidence_count FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
      AND source_id = ANY (%(ids)s::uuid[]) AND target_id = ANY (%(new)s::uuid[])
)
SELECT least(source_id, target_id), greatest(source_id, target_id),
       sum(weight), sum(evidence_count)::int
FROM found
WHERE %(as_of)s = '' OR id NOT IN (
    SELECT relationship_id FROM ingestion_evidence
    WHERE workspace_id = %(workspace)s AND relationship_id IN (SELECT id FROM found)
      AND (period_start <> '' OR period_end <> '')
    GROUP BY relationship_id
    HAVING NOT bool_or(
        (period_start = '' OR period_start COLLATE "C" <= %(as_of)s || '~')
        AND (period_end = '' OR (period_end || '~') COLLATE "C" >= %(as_of)s)))
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
"""

TYPES: Final[LiteralString] = """
SELECT type, count(*) FROM ingestion_entity
WHERE workspace_id = %(workspace)s GROUP BY type ORDER BY 2 DESC, 1
"""

IN_DOCUMENT: Final[LiteralString] = """
SELECT mention.entity_id
FROM ingestion_mention AS mention
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = mention.entity_id
WHERE mention.workspace_id = %(workspace)s AND mention.document_id = %(id)s
GROUP BY mention.entity_id, entity.type, entity.rank
ORDER BY entity.type = 'concept', count(*) DESC, entity.rank DESC, mention.entity_id
LIMIT %(limit)s
"""
