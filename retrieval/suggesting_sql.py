"""Hand-written SQL of suggestions, each statement named by the question it answers.

``%(documents)s`` is the scope, NULL for the whole workspace.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Whom some passages name: most often first. Names of one passage only lead nowhere, so they come
# last.
ENTITIES_OF_CHUNKS: Final[LiteralString] = """
WITH named AS MATERIALIZED (
    SELECT entity_id, count(DISTINCT chunk_id) AS passages, count(*) AS mentions
    FROM ingestion_mention
    WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
    GROUP BY entity_id
)
SELECT e.id, e.name, e.type, e.chunk_count
FROM named n JOIN ingestion_entity e ON e.workspace_id = %(workspace)s AND e.id = n.entity_id
ORDER BY e.chunk_count > 1 DESC, n.passages DESC, n.mentions DESC, e.rank DESC, e.id
LIMIT %(count)s
"""

# The strongest links of some entities that a passage in the scope states. A description that rests
# on other documents too says more than the scope does, and is left out.
LINKS_OF_ENTITIES: Final[LiteralString] = """
WITH links AS MATERIALIZED (
    SELECT r.id, r.source_id, r.target_id, r.weight, r.description
    FROM ingestion_relationship r
    WHERE r.workspace_id = %(workspace)s
      AND (r.source_id = ANY(%(entities)s::uuid[]) OR r.target_id = ANY(%(entities)s::uuid[]))
    ORDER BY r.weight DESC, r.id
    LIMIT %(count)s
)
SELECT s.id, s.name, t.id, t.name,
       CASE WHEN %(documents)s::uuid[] IS NULL OR NOT EXISTS (
           SELECT FROM ingestion_evidence o
           WHERE o.workspace_id = %(workspace)s AND o.relationship_id = l.id
             AND o.document_id <> ALL(%(documents)s::uuid[]))
            THEN l.description ELSE '' END
FROM links l
JOIN ingestion_entity s ON s.workspace_id = %(workspace)s AND s.id = l.source_id
JOIN ingestion_entity t ON t.workspace_id = %(workspace)s AND t.id = l.target_id
WHERE EXISTS (
    SELECT FROM ingestion_evidence e
    WHERE e.workspace_id = %(workspace)s AND e.relationship_id = l.id
      AND (%(documents)s::uuid[] IS NULL OR e.document_id = ANY(%(documents)s::uuid[])))
ORDER BY l.weight DESC, l.id
"""

# The best-rated topics: title, who wrote it, the name that matters most in each, and its strongest
# link between two others.
TOPICS: Final[LiteralString] = """
WITH reports AS MATERIALIZED (
    SELECT r.title, r.written_by, r.rating, r.community_id, c.size, r.id
    FROM ingestion_communityreport r
    JOIN ingestion_community c ON c.workspace_id = r.workspace_id AND c.id = r.community_id
    WHERE r.workspace_id = %(workspace)s AND c.size > 1
    ORDER BY r.rating DESC, c.size DESC, r.id
    LIMIT %(count)s
)
SELECT r.title, r.written_by, first.name, link.source, link.target
FROM reports r
JOIN LATERAL (
    SELECT e.id, e.name FROM ingestion_communitymember m
    JOIN ingestion_entity e ON e.workspace_id = %(workspace)s AND e.id = m.entity_id
    WHERE m.workspace_id = %(workspace)s AND m.community_id = r.community_id
    ORDER BY e.rank DESC, e.mention_count DESC, e.id LIMIT 1
) first ON true
LEFT JOIN LATERAL (
    SELECT s.name AS source, t.name AS target
    FROM ingestion_relationship l
    JOIN ingestion_communitymember a ON a.workspace_id = %(workspace)s
      AND a.community_id = r.community_id AND a.entity_id = l.source_id
    JOIN ingestion_communitymember b ON b.workspace_id = %(workspace)s
      AND b.community_id = r.community_id AND b.entity_id = l.target_id
    JOIN ingestion_entity s ON s.workspace_id = %(workspace)s AND s.id = l.source_id
    JOIN ingestion_entity t ON t.workspace_id = %(workspace)s AND t.id = l.target_id
    WHERE l.workspace_id = %(workspace)s
    ORDER BY l.weight DESC, l.id LIMIT 1
) link ON true
ORDER BY r.rating DESC, r.size DESC, r.id
"""
