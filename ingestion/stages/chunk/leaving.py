"""Taking away passages that a version says no more, and what was made of them (``derived``).

What belongs to a chunk goes with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final, LiteralString

from ingestion import derived
from ingestion.models import Chunk
from kb_project.sql import run_sql

# Whom they spoke of: what rests on them is looked at again.
MARK_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT entity_id FROM ingestion_mention
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
          AND chunk_id = ANY(%(chunks)s::uuid[]))
"""
MARK_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT relationship_id FROM ingestion_evidence
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
          AND chunk_id = ANY(%(chunks)s::uuid[]))
"""


def leave(
    workspace_id: uuid.UUID, documents: Sequence[uuid.UUID], chunks: Sequence[uuid.UUID]
) -> None:
    """Call inside a transaction, with entities and relationships of the documents locked."""
    if not chunks:
        return
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "documents": list(documents),
        "chunks": list(chunks),
    }
    run_sql(MARK_ENTITIES, values)
    run_sql(MARK_RELATIONSHIPS, values)
    derived.forget(workspace_id, chunks)
    Chunk.objects.in_workspace(workspace_id).filter(pk__in=chunks).delete()
