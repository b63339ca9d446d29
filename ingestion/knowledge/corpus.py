"""Whether what can be searched is still what it was."""

from __future__ import annotations

from typing import Final, LiteralString
from uuid import UUID

from kb_project.sql import run_sql


def corpus_version(*, workspace_id: UUID) -> int | None:
    """A number that grows with every change of what can be searched; in the workspace's scope.

    None while a job is unfinished, since a stage is seen before it ends, and where no job has ever
    ended: then nothing may be concluded from it.
    """
    rows = run_sql(CORPUS_VERSION, {"workspace": workspace_id})
    return int(rows[0][0]) if rows else None


# No row while anything is under way or waits, or where nothing ever was.
CORPUS_VERSION: Final[LiteralString] = """
SELECT v.number FROM ingestion_corpusversion AS v
 WHERE v.workspace_id = %(workspace)s
   AND NOT EXISTS (SELECT FROM ingestion_ingestionjob
                    WHERE workspace_id = %(workspace)s AND state IN ('pending', 'running'))
   AND NOT EXISTS (SELECT FROM ingestion_ingestionjob
                    WHERE workspace_id = %(workspace)s AND state = 'paused')
"""


# What is found is another thing from now on.
CORPUS_CHANGED: Final[LiteralString] = """
INSERT INTO ingestion_corpusversion AS v (workspace_id, number) VALUES (%(workspace)s, 1)
    ON CONFLICT (workspace_id) DO UPDATE SET number = v.number + 1
"""
