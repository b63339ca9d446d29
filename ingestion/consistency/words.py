"""Postings against the texts they were made of."""

from __future__ import annotations

import json
from typing import Final, LiteralString

from ingestion.consistency.report import Found
from ingestion.consistency.scope import Scope, found_in
from ingestion.models import Chunk
from ingestion.stages.situate.words import MOST_FREQUENT, situated, term_counts
from kb_project.sql import run_sql

SOME: Final = 20
"""Passages looked at each time; other ones each time, so that a few nights see many."""

# A random beginning, and what follows it: cheaper than to sort all by chance.
SAMPLE: Final[LiteralString] = """
WITH beginning AS MATERIALIZED (SELECT gen_random_uuid() AS id)
(SELECT id FROM ingestion_chunk
  WHERE workspace_id = %(workspace)s AND id >= (SELECT id FROM beginning)
    AND version_id = ANY (%(situate)s::uuid[])
  ORDER BY id LIMIT %(most)s)
UNION
(SELECT id FROM ingestion_chunk
  WHERE workspace_id = %(workspace)s AND version_id = ANY (%(situate)s::uuid[])
  ORDER BY id LIMIT %(most)s)
LIMIT %(most)s
"""
# Those with too many or too few are found by counting.
INDEXED: Final[LiteralString] = """
SELECT c.id, c.document_id, c.context, c.text,
       coalesce(jsonb_object_agg(p.term, p.frequency) FILTER (WHERE p.term IS NOT NULL), '{}')
  FROM ingestion_chunk AS c
  LEFT JOIN ingestion_posting AS p ON p.workspace_id = %(workspace)s AND p.chunk_id = c.id
 WHERE c.workspace_id = %(workspace)s AND c.version_id = ANY (%(situate)s::uuid[])
   AND c.terms IS NOT NULL AND (%(all)s OR c.id = ANY (%(chunks)s::uuid[]))
 GROUP BY c.workspace_id, c.id
HAVING coalesce(sum(p.frequency), 0) = c.terms OR max(p.frequency) = 32767
"""


def find(scope: Scope, *, most: int | None = None) -> Found:
    """Passages whose postings are not those of their text: all of them, or ``most`` by chance."""
    values = {**scope.values, "all": most is None, "chunks": []}
    if most is not None:
        values["chunks"] = [row[0] for row in run_sql(SAMPLE, {**values, "most": most})]
    return found_in(
        [
            (str(id_), document_id)
            for id_, document_id, context, text, postings in run_sql(INDEXED, values)
            if json.loads(postings) != expected(context, text)
        ]
    )


def expected(context: str, text: str) -> dict[str, int]:
    counts = term_counts(situated(Chunk(context=context, text=text)))
    return {term: min(number, MOST_FREQUENT) for term, number in counts.items()}
