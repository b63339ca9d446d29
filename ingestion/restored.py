"""What is done once the rows of a workspace are back: what is derived, and what was under way."""

from __future__ import annotations

from typing import Final, LiteralString
from uuid import UUID

from ingestion import pipeline, pipeline_sql, projection, recovery
from ingestion.new_ids import new_ids
from ingestion.stages import snapshot
from kb_project.backup.restoring import Hooks
from kb_project.graph.stores import graph_store
from kb_project.sql import run_sql
from workspaces import access

# A pair stands by ascending id, and the ids are others now.
TURN_PAIRS: Final[LiteralString] = """
UPDATE ingestion_mergesuggestion SET left_id = right_id, right_id = left_id
 WHERE workspace_id = %(workspace)s AND left_id > right_id
"""
# What this session has written is told to the statistics now, not when it is idle.
TELL_STATISTICS: Final[LiteralString] = "SELECT pg_stat_force_next_flush()"


def settle(workspace_id: UUID, has_new_ids: bool) -> None:  # noqa: FBT001 - a hook's only switch
    """The projection in AGE and the snapshot of the walk, in the transaction of the rows."""
    with access.in_workspace(workspace_id):
        if has_new_ids:
            run_sql(TURN_PAIRS, {"workspace": workspace_id})
        projection.rebuild(workspace_id, graph_store())
        snapshot.renew(workspace_id)


def wake(workspace_id: UUID) -> int:
    """Let what was under way go on; returns how many jobs. Call after the rows are there to stay:
    the planner is told of them too."""
    run_sql(TELL_STATISTICS)
    run_sql(pipeline_sql.REFRESH_STATISTICS)
    return recovery.recover(workspace_id, lanes=tuple(pipeline.LANES))


HOOKS: Final = Hooks(new_ids, settle)
