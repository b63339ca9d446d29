"""Remove what was written about passages that are going away.

Reports and summaries must not state what no passage supports any more: they are deleted, or reduced
to what remains, until they are rewritten.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final, LiteralString

from kb_project.sql import run_sql

# Statements of reports that have no other evidence. Their report's summary is reduced to the rest
# until it is rewritten; a report with nothing left is deleted.
FORGET_FINDINGS: Final[LiteralString] = """
WITH touched AS MATERIALIZED (
    SELECT DISTINCT finding_id AS id FROM ingestion_findingevidence
     WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
), gone AS (
    -- OFFSET 0: asked about each, never joined with the evidence of the whole workspace.
    DELETE FROM ingestion_finding AS f
     WHERE f.workspace_id = %(workspace)s AND f.id = ANY (ARRAY(SELECT id FROM touched))
       AND NOT EXISTS (SELECT FROM ingestion_findingevidence AS e
                        WHERE e.workspace_id = %(workspace)s AND e.finding_id = f.id
                          AND e.chunk_id <> ALL(%(chunks)s::uuid[]) OFFSET 0)
    RETURNING f.report_id
)
SELECT DISTINCT report_id FROM gone
"""
MEND_REPORTS: Final[LiteralString] = """
UPDATE ingestion_communityreport AS r
   SET digest = '', summary = coalesce((
       SELECT string_agg(f.summary, ' ' ORDER BY f.ordinal) FROM ingestion_finding AS f
        WHERE f.workspace_id = %(workspace)s AND f.report_id = r.id AND f.part = 'summary'), '')
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(reports)s::uuid[])
"""
MARK_TOPICS: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT community_id FROM ingestion_communityreport
        WHERE workspace_id = %(workspace)s AND id = ANY(%(reports)s::uuid[])))
"""
FORGET_EMPTY_REPORTS: Final[LiteralString] = """
DELETE FROM ingestion_communityreport AS r
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(reports)s::uuid[])
   AND NOT EXISTS (SELECT FROM ingestion_finding AS f
                    WHERE f.workspace_id = %(workspace)s AND f.report_id = r.id)
"""

# Summaries of these passages and of whole documents, and everything built on those.
FORGET_SUMMARIES: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT parent_id AS id FROM ingestion_summaryedge
     WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
    UNION
    SELECT id FROM ingestion_summarynode
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
    UNION
    SELECT e.parent_id FROM above
      JOIN ingestion_summaryedge AS e ON e.workspace_id = %(workspace)s AND e.node_id = above.id
)
DELETE FROM ingestion_summarynode
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT id FROM above))
"""


def forget(
    workspace_id: uuid.UUID, chunks: Sequence[uuid.UUID], documents: Sequence[uuid.UUID] = ()
) -> None:
    """Remove what rests on the passages. Call before they are deleted.

    ``documents`` are those deleted as a whole.
    """
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "chunks": list(chunks),
        "documents": list(documents),
    }
    reports = [report_id for (report_id,) in run_sql(FORGET_FINDINGS, values)]
    if reports:
        for statement in (MEND_REPORTS, MARK_TOPICS, FORGET_EMPTY_REPORTS):
            run_sql(statement, values | {"reports": reports})
    run_sql(FORGET_SUMMARIES, values)
