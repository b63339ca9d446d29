"""Hand-written SQL for suggestions, each statement named after the question it answers.

``%(documents)s`` is the scope, NULL for the whole workspace.
"""

from __future__ import annotations

from typing import Final, LiteralString

# The entities that some passages name, the most frequent first. Those named in one passage only
# lead nowhere, so they come last.
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

# The strongest relationships of some entities that a passage in the scope states. A description
# that also rests on other documents says more than the scope does, and is left out.
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

# Passages to begin with: the first ones of the longest documents, and those that name most of the
# entities ranked highest.
PASSAGES_TO_BEGIN_WITH: Final[LiteralString] = """
WITH documents AS MATERIALIZED (
    SELECT document_id, count(*) AS chunks FROM ingestion_chunk
    WHERE workspace_id = %(workspace)s
    GROUP BY document_id ORDER BY chunks DESC, document_id LIMIT %(documents)s
), first AS (
    SELECT c.id, c.ordinal + 1 AS place, d.chunks AS weight
    FROM documents d CROSS JOIN LATERAL (
        SELECT id, ordinal FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = d.document_id
        ORDER BY ordinal LIMIT %(each)s
    ) c
), best AS MATERIALIZED (
    SELECT id FROM ingestion_entity
    WHERE workspace_id = %(workspace)s ORDER BY rank DESC, mention_count DESC, id LIMIT %(names)s
), telling AS (
    SELECT m.chunk_id AS id, 0 AS place, count(DISTINCT m.entity_id) AS weight
    FROM ingestion_mention m JOIN best b ON b.id = m.entity_id
    WHERE m.workspace_id = %(workspace)s
    GROUP BY m.chunk_id ORDER BY weight DESC, m.chunk_id LIMIT %(count)s
), either AS (SELECT * FROM first UNION ALL SELECT * FROM telling)
SELECT id FROM either GROUP BY id ORDER BY min(place), max(weight) DESC, id
"""
