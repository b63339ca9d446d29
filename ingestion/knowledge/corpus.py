"""How much can be searched, and whether it has changed.

What searches count is kept by triggers of the database (``CorpusCount``), and how many passages
have a common term by a refresh (``CommonTerms``): no question counts many rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from ingestion.models import CommonTerms
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


def passages_with(terms: Iterable[str], *, workspace_id: UUID) -> dict[str, int]:
    """Return how many passages have each of some terms, without those that none has. Call in the
    workspace's scope."""
    values = {"workspace": workspace_id, "terms": list(terms)}
    return {term: int(passages) for term, passages in run_sql(PASSAGES_WITH, values)}


def count_common_terms(*, workspace_id: UUID) -> None:
    """Count the terms that many passages of a large workspace have, if there are a twentieth more
    or fewer passages than when it was done last; of one that is large no longer, forget them. Call
    in the workspace's scope."""
    passages = counts(workspace_id=workspace_id).passages
    known = CommonTerms.objects.in_workspace(workspace_id)
    before = known.values_list("of_passages", flat=True).first()
    if passages < LARGE:
        known.delete()
    elif before is None or abs(passages - before) > before / CHANGED:
        values = {"workspace": workspace_id, "passages": passages, "common": COMMON}
        run_sql(COUNT_COMMON_TERMS, values)


LARGE: Final = 10_000
"""Passages; in fewer, each question counts its terms itself, which takes some milliseconds."""
COMMON: Final = 2_000
"""Passages with a term: counting fewer takes a third of a millisecond."""
CHANGED: Final = 20
"""Terms are counted again when one in so many passages has come or gone."""

COUNT_COMMON_TERMS: Final[LiteralString] = """
INSERT INTO ingestion_commonterms (workspace_id, terms, passages, of_passages)
SELECT %(workspace)s, coalesce(array_agg(term), '{}'), coalesce(array_agg(passages), '{}'),
       %(passages)s
  FROM (SELECT term, count(*) AS passages FROM ingestion_posting
         WHERE workspace_id = %(workspace)s GROUP BY term HAVING count(*) >= %(common)s) AS common
    ON CONFLICT (workspace_id) DO UPDATE
   SET terms = excluded.terms, passages = excluded.passages, of_passages = excluded.of_passages
"""

# Common terms are not counted again; ``term = ANY`` alone is answered by the key.
PASSAGES_WITH: Final[LiteralString] = """
SELECT known.term, known.passages FROM ingestion_commonterms AS kept
CROSS JOIN LATERAL unnest(kept.terms, kept.passages) AS known (term, passages)
WHERE kept.workspace_id = %(workspace)s AND known.term = ANY(%(terms)s::text[])
UNION ALL
SELECT term, count(*) FROM ingestion_posting
WHERE workspace_id = %(workspace)s AND term = ANY(ARRAY(
    SELECT unnest(%(terms)s::text[])
    EXCEPT SELECT unnest(terms) FROM ingestion_commonterms WHERE workspace_id = %(workspace)s))
GROUP BY term
"""

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
