"""What becomes of a run whose worker stopped in the middle: it waits for the next one.

Results are kept one by one, so the next worker goes on where this one was.
"""

from __future__ import annotations

import logging
from typing import Final, LiteralString
from uuid import UUID

from kb_project.sql import run_sql_count
from workspaces import access

logger = logging.getLogger(__name__)

MOST: Final = 3
"""Interrupted more often, a run may be what brings its workers down: it is left to people."""

REQUEUE: Final[LiteralString] = """
UPDATE retrieval_evaluationrun
   SET state = CASE WHEN wants_stop THEN 'stopped' ELSE 'queued' END,
       conditions = conditions || jsonb_build_object(
           'interruptions', coalesce((conditions ->> 'interruptions')::int, 0) + 1),
       worker = '', lease_until = NULL,
       finished_at = CASE WHEN wants_stop THEN now() END
 WHERE workspace_id = %(workspace)s AND id = %(run)s AND state = 'running' AND worker = %(worker)s
   AND coalesce((conditions ->> 'interruptions')::int, 0) < %(most)s
"""


def requeue(workspace_id: UUID, run_id: UUID, worker: str) -> bool:
    """False where the run has ended, or was interrupted too often."""
    values = {"workspace": workspace_id, "run": run_id, "worker": worker, "most": MOST}
    with access.in_workspace(workspace_id):
        is_waiting = bool(run_sql_count(REQUEUE, values))
    if is_waiting:
        logger.warning("evaluation interrupted, waits for another worker run=%s", run_id)
    return is_waiting
