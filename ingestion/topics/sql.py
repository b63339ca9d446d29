"""Statements of the map of topics: where topics are, and how they are connected."""

from __future__ import annotations

from typing import Final, LiteralString

# Topics on a map have few of the entities of a large workspace: an array of ids finds each row by
# its key, and hash joins, inside ``bulk_plans``, put them together.

# The middle of a topic's entities; connected ones count more.
PLACES: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
)
SELECT member.community_id,
       sum(position.x * (1 + entity.degree)) / sum(1 + entity.degree),
       sum(position.y * (1 + entity.degree)) / sum(1 + entity.degree)
FROM member
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
 AND entity.id = ANY (ARRAY(SELECT entity_id FROM member))
JOIN ingestion_entityposition AS position
  ON position.workspace_id = %(workspace)s AND position.entity_id = member.entity_id
 AND position.entity_id = ANY (ARRAY(SELECT entity_id FROM member))
GROUP BY member.community_id
"""

LINKS: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
)
SELECT least(source.community_id, target.community_id),
       greatest(source.community_id, target.community_id), sum(link.weight), count(*)
FROM ingestion_relationship AS link
JOIN member AS source ON source.entity_id = link.source_id
JOIN member AS target ON target.entity_id = link.target_id
WHERE link.workspace_id = %(workspace)s
  AND link.source_id = ANY (ARRAY(SELECT entity_id FROM member))
  AND source.community_id <> target.community_id
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
"""
