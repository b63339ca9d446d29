"""Search single sentences: those nearest to the question, anywhere in the scope.

A passage of 800 tokens covers many subjects, and its vector represents none of them alone. So the
sentence that answers a question is also searched for directly, and its passage joins those found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, LiteralString
from uuid import UUID

from kb_project.ports import build_ports
from kb_project.sql import run_sql
from retrieval.search import dense, lexical
from retrieval.search.query import Query, QuestionVector

MOST: Final = 60
MOST_SCANNED: Final = 10_000
"""Passages in the scope up to which every sentence is compared; in larger scopes, only sentences of
passages that words find or that are among the ``WITHIN`` nearest in meaning."""
WITHIN: Final = 300

# An exact scan: a fifth of a second for some 200,000 sentences.
NEAREST: Final[LiteralString] = """
WITH scored AS MATERIALIZED (
    SELECT chunk_id, start, "end", -(vector <#> %(vector)s::halfvec) AS cosine
    FROM ingestion_sentencevector
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
      AND (%(within)s::uuid[] IS NULL OR chunk_id = ANY(%(within)s::uuid[]))
      AND (%(documents)s::uuid[] IS NULL OR chunk_id IN (
          SELECT id FROM ingestion_chunk
          WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
), best AS (
    SELECT chunk_id, start, "end", cosine FROM scored
    ORDER BY cosine DESC, chunk_id, start LIMIT %(count)s
)
SELECT chunk_id, start, "end", cosine FROM best
UNION
SELECT chunk_id, start, "end", cosine FROM scored WHERE chunk_id = ANY(%(chunks)s::uuid[])
"""

SentenceSpan = tuple[UUID, int, int]
"""A chunk, and offsets from its start."""


@dataclass(frozen=True, slots=True)
class Cosines:
    """How near sentences are to the question, for those with vectors.

    ``best`` are the nearest in the scope, best first.
    """

    of: dict[SentenceSpan, float] = field(default_factory=dict)
    best: tuple[SentenceSpan, ...] = ()

    @property
    def highest(self) -> float | None:
        return self.of[self.best[0]] if self.best else None


def vector_of(query: Query, question: str) -> QuestionVector:
    """Return a question's vector from the sentence model: the query's own if it is the same model.

    Make it outside transactions.
    """
    embedder = build_ports().embedder
    if query.vector.fingerprint == embedder.fingerprint and question == query.question:
        return query.vector
    return QuestionVector(embedder, question)


def cosines(
    query: Query, vector: QuestionVector, chunks: Sequence[UUID], scope_size: int
) -> Cosines:
    """Return the cosines of the scope's nearest sentences, and of all sentences in some chunks.
    ``scope_size`` counts the scope's passages. Call in a transaction."""
    values = query.parameters(
        fingerprint=vector.fingerprint,
        vector=vector.literal,
        within=None if scope_size <= MOST_SCANNED else _found(query),
        chunks=list(chunks),
        count=MOST,
    )
    found = {
        (chunk, start, end): float(cosine) for chunk, start, end, cosine in run_sql(NEAREST, values)
    }
    ranked = sorted(found, key=lambda place: (-found[place], place))
    return Cosines(found, tuple(ranked[:MOST]))


def _found(query: Query) -> list[UUID]:
    """Return the passages that meaning or words find."""
    by_meaning = [chunk for chunk, _ in dense.nearest(query, WITHIN)]
    by_words = [one.chunk_id for one in lexical.search(query)]
    return list(dict.fromkeys([*by_meaning, *by_words]))
