"""The SQL of the history, each statement named by the question it answers."""

from __future__ import annotations

from typing import Final, LiteralString

# The last of the later events that stand in the way of taking one back: of two that make or unmake
# identities of one entity, or change the life of one document, the later one; and whatever was done
# to what the earlier one made. An undoing counts as what it takes back.
BLOCKERS: Final[LiteralString] = """
WITH asked AS (
    SELECT id, sequence, batch, details,
           CASE WHEN kind = 'undo' THEN details->>'undoes_kind' ELSE kind END AS kind
      FROM ingestion_historyevent
     WHERE workspace_id = %(workspace)s AND id = ANY(%(events)s::uuid[])
)
SELECT DISTINCT ON (e.id) e.id, l.id, s.subject_id
  FROM asked AS e
  JOIN ingestion_historysubject AS s ON s.workspace_id = %(workspace)s AND s.event_id = e.id
  JOIN ingestion_historysubject AS t ON t.workspace_id = %(workspace)s
       AND t.subject_id = s.subject_id AND t.sequence > e.sequence
  JOIN ingestion_historyevent AS l ON l.workspace_id = %(workspace)s AND l.id = t.event_id
 WHERE l.undone_at IS NULL AND l.kind <> 'undo'
   AND (e.batch IS NULL OR l.batch IS DISTINCT FROM e.batch)
   AND ((s.kind = 'entity' AND e.kind = ANY(%(identity)s::text[])
         AND l.kind = ANY(%(identity)s::text[]))
        OR (s.kind = 'document' AND e.kind = ANY(%(life)s::text[])
            AND l.kind = ANY(%(life)s::text[]))
        OR jsonb_exists(e.details->'created', s.subject_id::text))
 ORDER BY e.id, l.sequence DESC
"""
