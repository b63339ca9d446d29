"""Whether what can be searched is still what it was."""

from __future__ import annotations

from uuid import UUID

from ingestion import sql
from kb_project.sql import run_sql


def corpus_version(*, workspace_id: UUID) -> int | None:
    """A number that grows with every change of what can be searched; in the workspace's scope.

    None while a job is unfinished, since a stage is seen before it ends, and where no job has ever
    ended: then nothing may be concluded from it.
    """
    rows = run_sql(sql.CORPUS_VERSION, {"workspace": workspace_id})
    return int(rows[0][0]) if rows else None
