"""Tree: summaries of every size and passages, compared with the question all at once (RAPTOR).

RAPTOR's collapsed tree: the nearest nodes of all layers, ten of them and at most 3,500 tokens. A
chosen summary raises the passages it was made from, and lists them as its sources; one that rests
on documents outside the scope is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from kb_project.sql import Row, run_sql
from retrieval.search import dense, hybrid
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import ModeResult, Record, RecordKind, Shares

# The nearest summaries and these passages, nearest first: (id, whether a passage, cosine, tokens,
# text of a summary). Summaries above several documents are returned whatever the scope.
NEAREST_OF_ALL: Final[LiteralString] = """
WITH nodes AS MATERIALIZED (
    SELECT id, -(vector <#> %(vector)s::halfvec) AS cosine, tokens, text
    FROM ingestion_summarynode
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
      AND (%(documents)s::uuid[] IS NULL OR document_id IS NULL
           OR document_id = ANY(%(documents)s::uuid[]))
    ORDER BY cosine DESC, id LIMIT %(nodes)s
)
SELECT id, false, cosine, tokens, text FROM nodes
UNION ALL
SELECT f.id, true, f.cosine, c.tokens, ''
FROM unnest(%(chunks)s::uuid[], %(cosines)s::float8[]) AS f (id, cosine)
JOIN ingestion_chunk c ON c.id = f.id
WHERE c.workspace_id = %(workspace)s AND c.id = ANY(%(chunks)s::uuid[])
ORDER BY 3 DESC, 2, 1
"""

# The passages below some summaries, nearest first, and whether all of them are in the scope. By
# laterals and arrays: a join would read all passages of the workspace for the few below.
LEAVES: Final[LiteralString] = """
WITH RECURSIVE below AS (
    SELECT id AS top, id AS node FROM unnest(%(nodes)s::uuid[]) AS t(id)
    UNION
    SELECT b.top, e.node_id
    FROM below b CROSS JOIN LATERAL (
        SELECT node_id FROM ingestion_summaryedge
        WHERE workspace_id = %(workspace)s AND parent_id = b.node AND node_id IS NOT NULL
        OFFSET 0) AS e
), leaves AS MATERIALIZED (
    SELECT DISTINCT b.top, e.chunk_id
    FROM below b CROSS JOIN LATERAL (
        SELECT chunk_id FROM ingestion_summaryedge
        WHERE workspace_id = %(workspace)s AND parent_id = b.node AND chunk_id IS NOT NULL
        OFFSET 0) AS e
), passages AS MATERIALIZED (
    SELECT id, document_id FROM ingestion_chunk
    WHERE workspace_id = %(workspace)s AND id = ANY(ARRAY(SELECT DISTINCT chunk_id FROM leaves))
), vectors AS MATERIALIZED (
    SELECT chunk_id, vector <#> %(vector)s::halfvec AS distance FROM ingestion_chunkembedding
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
      AND chunk_id = ANY(ARRAY(SELECT id FROM passages))
)
SELECT l.top,
       array_agg(l.chunk_id ORDER BY v.distance NULLS LAST, l.chunk_id),
       coalesce(bool_and(
           %(documents)s::uuid[] IS NULL OR p.document_id = ANY(%(documents)s::uuid[])), false)
FROM leaves l JOIN passages p ON p.id = l.chunk_id LEFT JOIN vectors v ON v.chunk_id = p.id
GROUP BY l.top
"""

# Where a descent begins: the root above all documents, else the roots of single documents.
ROOTS: Final[LiteralString] = """
SELECT t.root_id, t.document_id IS NULL
FROM ingestion_summarytree t
WHERE t.workspace_id = %(workspace)s AND t.fingerprint = %(fingerprint)s
ORDER BY t.document_id IS NULL DESC, t.root_id
"""

# The summaries above any passage of the scope.
OVER_THE_SCOPE: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT e.parent_id AS node FROM ingestion_summaryedge e
    WHERE e.workspace_id = %(workspace)s AND e.chunk_id = ANY(ARRAY(
        SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
    UNION
    SELECT e.parent_id
    FROM above a
    JOIN ingestion_summaryedge e ON e.workspace_id = %(workspace)s AND e.node_id = a.node
)
SELECT node FROM above
"""

NODES: Final[LiteralString] = """
SELECT id, false, -(vector <#> %(vector)s::halfvec), tokens, text
FROM ingestion_summarynode
WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
  AND id = ANY(%(nodes)s::uuid[])
ORDER BY 3 DESC, id
"""

# The children of some summaries, in the same form as NEAREST_OF_ALL.
CHILDREN: Final[LiteralString] = """
WITH edges AS MATERIALIZED (
    SELECT DISTINCT node_id, chunk_id FROM ingestion_summaryedge
    WHERE workspace_id = %(workspace)s AND parent_id = ANY(%(nodes)s::uuid[])
)
SELECT n.id, false, -(n.vector <#> %(vector)s::halfvec) AS cosine, n.tokens, n.text
FROM ingestion_summarynode n
WHERE n.workspace_id = %(workspace)s AND n.fingerprint = %(fingerprint)s
  AND n.id = ANY(ARRAY(SELECT node_id FROM edges WHERE node_id IS NOT NULL))
UNION ALL
SELECT c.id, true, -(v.vector <#> %(vector)s::halfvec) AS cosine, c.tokens, ''
FROM ingestion_chunk c
JOIN ingestion_chunkembedding v ON v.chunk_id = c.id
WHERE c.workspace_id = %(workspace)s AND v.workspace_id = %(workspace)s
  AND v.fingerprint = %(fingerprint)s
  AND c.id = ANY(ARRAY(SELECT chunk_id FROM edges WHERE chunk_id IS NOT NULL))
  AND (%(documents)s::uuid[] IS NULL OR c.document_id = ANY(%(documents)s::uuid[]))
ORDER BY 3 DESC, 2, 1
"""


TOKENS_EACH: Final = 350
"""Tokens for each passage requested: 3,500 for RAPTOR's ten."""
DEEPER: Final = 4
"""How many times more nodes than requested are compared."""
LIFT: Final = 0.2
"""Weight of a summary's similarity, above the farthest passage's, added to its passages' own."""
SOURCES: Final = 8
"""Passages listed as a summary's sources."""
SHOWN: Final = 60
"""Characters of a summary used as its title."""
SHARES: Final = Shares(passages=0.6, summaries=0.4)


@dataclass(frozen=True, slots=True)
class Node:
    """A summary, or a passage without its text."""

    id: UUID
    is_chunk: bool
    cosine: float
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Leaves:
    """The passages below a summary, nearest first, and whether all are in the scope."""

    chunks: tuple[UUID, ...]
    is_inside: bool


def search(query: Query) -> ModeResult:
    nodes = nearest(query)
    # Without summaries there is nothing to compare; a single passage needs none.
    if len(nodes) != 1 and all(node.is_chunk for node in nodes):
        query.note(
            "tree_pending",
            f"The summaries of your documents are still being made. {hybrid.INSTEAD}",
        )
        return hybrid.instead(query)
    dense.note_pending(query)
    leaves: dict[UUID, Leaves] = {}
    taken = collapsed(usable(query, nodes, leaves), query.top_k)
    summaries = [node for node in taken if not node.is_chunk]
    chunks = {node.id: node.cosine for node in nodes if node.is_chunk}
    return ModeResult(
        raised(chunks, summaries, leaves)[: query.top_k],
        tuple(summary_record(node, leaves[node.id]) for node in summaries),
    )


def nearest(query: Query) -> list[Node]:
    """Return summaries and passages by their similarity to the question, best first."""
    count = DEEPER * query.top_k
    found = dense.nearest(query, count)
    parameters = query.vector_parameters(
        nodes=count,
        chunks=[chunk_id for chunk_id, _ in found],
        cosines=[cosine for _, cosine in found],
    )
    return nodes_of(run_sql(NEAREST_OF_ALL, parameters))


def nodes_of(rows: Iterable[Row]) -> list[Node]:
    return [
        Node(id_, is_chunk, float(cosine), tokens, text)
        for id_, is_chunk, cosine, tokens, text in rows
    ]


def leaves_of(query: Query, nodes: Sequence[UUID]) -> dict[UUID, Leaves]:
    parameters = query.vector_parameters(nodes=list(nodes))
    rows = run_sql(LEAVES, parameters) if nodes else []
    return {node: Leaves(tuple(chunks), is_inside) for node, chunks, is_inside in rows}


def usable(query: Query, nodes: Sequence[Node], leaves: dict[UUID, Leaves]) -> Iterator[Node]:
    """Yield the passages, and the summaries that rest on some but on none outside the scope. What
    is below these is put into ``leaves``, as far as the nodes are asked for."""
    for first in range(0, len(nodes), query.top_k):
        asked = nodes[first : first + query.top_k]
        leaves |= leaves_of(query, [node.id for node in asked if not node.is_chunk])
        for node in asked:
            if node.is_chunk or (node.id in leaves and leaves[node.id].is_inside):
                yield node


def collapsed(nodes: Iterable[Node], top_k: int) -> list[Node]:
    """Return the nearest nodes, as many as requested and within their tokens; at least one."""
    taken: list[Node] = []
    left = TOKENS_EACH * top_k
    for node in nodes:
        if taken and node.tokens > left:
            break
        taken.append(node)
        left -= node.tokens
        if len(taken) == top_k:
            break
    return taken


def raised(
    chunks: Mapping[UUID, float], summaries: Sequence[Node], leaves: Mapping[UUID, Leaves]
) -> list[ScoredChunk]:
    """Rank passages by their own similarity and that of the nearest summary above them."""
    above: dict[UUID, Node] = {}
    for node in summaries:
        for chunk_id in leaves[node.id].chunks:
            above.setdefault(chunk_id, node)
    farthest = min([*chunks.values(), *(node.cosine for node in summaries)], default=0.0)
    found = []
    for chunk_id, cosine in chunks.items():
        score, why = cosine, [f"Close in meaning ({cosine:.2f})"]
        if summary := above.get(chunk_id):
            score += LIFT * (summary.cosine - farthest)
            why.append(f"Part of the summary “{titled(summary.text)}”")
        found.append(ScoredChunk(chunk_id, score, tuple(why)))
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def summary_record(node: Node, leaves: Leaves) -> Record:
    why = (f"Close in meaning ({node.cosine:.2f})",)
    sources = leaves.chunks[:SOURCES]
    title = titled(node.text)
    return Record(RecordKind.SUMMARY, node.id, title, node.text, sources, node.cosine, why)


def titled(text: str) -> str:
    """Return the beginning of a summary, cut at a word.

    >>> titled("The harbour was built by masons from the north in eighteen forty and after.")
    'The harbour was built by masons from the north in eighteen…'
    """
    line = " ".join(text.split())
    if len(line) <= SHOWN:
        return line
    space = line.rfind(" ", SHOWN // 2, SHOWN)
    return line[: space if space > 0 else SHOWN] + "…"
