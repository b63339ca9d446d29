"""How much can be searched, and whether it has changed.

What searches count is kept by triggers of the database (``CorpusCount``): no question counts rows.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """What a workspace's searches may find. ``vectors`` are those of one model."""

    documents: int
    passages: int
    vectors: int
    topics: int
    reports: int


def counts(*, workspace_id: UUID, fingerprint: str = "") -> CorpusCounts:
    """Return the counts, with the vectors of the model ``fingerprint``. Call in the workspace's
    scope."""
    values = {"workspace": workspace_id, "fingerprint": fingerprint}
    return CorpusCounts(*map(int, run_sql(COUNTS, values)[0]))


COUNTS: Final[LiteralString] = """
SELECT coalesce(sum(documents), 0), coalesce(sum(passages), 0), coalesce(sum(vectors) FILTER (
           WHERE fingerprint = %(fingerprint)s::text), 0),
       coalesce(sum(topics), 0), coalesce(sum(reports), 0)
  FROM ingestion_corpuscount WHERE workspace_id = %(workspace)s
"""

# What is there and what was counted, in the order of their columns here; rows that agree are left
# out. One statement sees both as of one moment, whatever is being written: correcting the
# difference is exact.
MISCOUNTED: Final[LiteralString] = """
WITH there (fingerprint, documents, passages, indexed, terms, vectors, topics, reports) AS (
    SELECT '', (SELECT count(*) FROM ingestion_document WHERE workspace_id = %(workspace)s
                   AND disabled_at IS NULL AND trashed_at IS NULL),
           count(*), count(terms), coalesce(sum(terms), 0), 0,
           (SELECT count(*) FROM ingestion_community WHERE workspace_id = %(workspace)s),
           (SELECT count(*) FROM ingestion_communityreport WHERE workspace_id = %(workspace)s)
      FROM ingestion_chunk WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT fingerprint, 0, 0, 0, 0, count(*), 0, 0
      FROM ingestion_chunkembedding WHERE workspace_id = %(workspace)s GROUP BY fingerprint
    UNION ALL
    SELECT fingerprint, -documents, -passages, -indexed, -terms, -vectors, -topics, -reports
      FROM ingestion_corpuscount WHERE workspace_id = %(workspace)s
)
SELECT fingerprint, sum(documents) AS documents, sum(passages) AS passages,
       sum(indexed) AS indexed, sum(terms) AS terms, sum(vectors) AS vectors,
       sum(topics) AS topics, sum(reports) AS reports
  FROM there GROUP BY fingerprint
HAVING (sum(documents), sum(passages), sum(indexed), sum(terms), sum(vectors), sum(topics),
        sum(reports)) <> (0, 0, 0, 0, 0, 0, 0)
"""
RECOUNT: Final[LiteralString] = (
    """
INSERT INTO ingestion_corpuscount (workspace_id, id, fingerprint, documents, passages, indexed,
                                   terms, vectors, topics, reports)
SELECT %(workspace)s, gen_random_uuid(), m.fingerprint, m.documents, m.passages, m.indexed, m.terms,
       m.vectors, m.topics, m.reports
  FROM ("""
    + MISCOUNTED
    + ") AS m"
)


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
