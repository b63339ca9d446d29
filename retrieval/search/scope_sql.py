"""Hand-written SQL for names that a question includes or excludes.

``%(documents)s`` is the scope, NULL for the whole workspace.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Which of some entities are named in each of some passages.
ENTITIES_NAMED_IN: Final[LiteralString] = """
SELECT DISTINCT chunk_id, entity_id FROM ingestion_mention
WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
  AND entity_id = ANY(%(entities)s::uuid[])
"""

# The passages that name most of some entities, and most often.
CHUNKS_NAMING: Final[LiteralString] = """
SELECT chunk_id FROM ingestion_mention
WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(entities)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
GROUP BY chunk_id
ORDER BY count(DISTINCT entity_id) DESC, count(*) DESC, chunk_id
LIMIT %(count)s
"""

# The entity with each of some names; keys as from ``normalise_name``. Of several, the most
# mentioned one.
ENTITIES_OF_KEYS: Final[LiteralString] = """
SELECT DISTINCT ON (a.key) a.key, e.id, e.name, e.type
FROM ingestion_alias a
JOIN ingestion_entity e ON e.workspace_id = a.workspace_id AND e.id = a.entity_id
WHERE a.workspace_id = %(workspace)s AND a.key = ANY(%(keys)s::text[])
ORDER BY a.key, e.mention_count DESC, e.id
"""
