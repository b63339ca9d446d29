"""Reports and summaries of passages that go.

What was made of several passages must not say any longer what nothing bears out: it goes too, or is
told by what remains, until it is made anew.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final, LiteralString

from kb_project.sql import run_sql

# Statements of reports that rest on nothing else. Their report is told by what remains of its
# summary until it is written anew; one of which nothing remains goes.
FORGET_FINDINGS: Final[LiteralString] = """
WITH touched AS MATERIALIZED (
    SELECT DISTINCT finding_id AS id FROM ingestion_findingevidence
     WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
), gone AS (
    DELETE FROM ingestion_finding AS f USING touched
     WHERE f.workspace_id = %(workspace)s AND f.id = touched.id
       AND NOT EXISTS (SELECT FROM ingestion_findingevidence AS e
                        WHERE e.workspace_id = %(workspace)s AND e.finding_id = f.id
                          AND e.chunk_id <> ALL(%(chunks)s::uuid[]))
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

# Summaries of them and the documents' own, and all that were made of those.
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
    """Call while the passages are there still. ``documents`` are those that go as a whole."""
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
