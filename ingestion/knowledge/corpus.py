"""Detect whether the searchable content has changed."""

from __future__ import annotations

from typing import Final, LiteralString
from uuid import UUID

from kb_project.sql import run_sql


def corpus_version(*, workspace_id: UUID) -> int | None:
    """A number that grows with every change of searchable content. Call in the workspace's scope.

    None while a job is unfinished, since a stage's effects show before it ends, and if no job has
    ever ended: nothing can be concluded then.
    """
    rows = run_sql(CORPUS_VERSION, {"workspace": workspace_id})
    return int(rows[0][0]) if rows else None


# No row while any job is running, pending or paused, or if there was never one.
CORPUS_VERSION: Final[LiteralString] = """
SELECT v.number FROM ingestion_corpusversion AS v
 WHERE v.workspace_id = %(workspace)s
   AND NOT EXISTS (SELECT FROM ingestion_ingestionjob
                    WHERE workspace_id = %(workspace)s AND state IN ('pending', 'running'))
   AND NOT EXISTS (SELECT FROM ingestion_ingestionjob
                    WHERE workspace_id = %(workspace)s AND state = 'paused')
"""


# Search results may differ from now on.
CORPUS_CHANGED: Final[LiteralString] = """
INSERT INTO ingestion_corpusversion AS v (workspace_id, number) VALUES (%(workspace)s, 1)
    ON CONFLICT (workspace_id) DO UPDATE SET number = v.number + 1
"""
