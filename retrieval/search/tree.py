"""Tree: summaries of every size and passages, compared with the question all at once (RAPTOR).

RAPTOR's collapsed tree: the nearest nodes of all layers, ten of them and at most 3,500 tokens. A
chosen summary raises the passages it was made from, and lists them as its sources; one that rests
on documents outside the scope is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import Row, run_sql
from retrieval.search import dense, hybrid, tree_sql
from retrieval.search.found import Found, Record, RecordKind, Shares
from retrieval.search.query import Query, ScoredChunk

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


def search(query: Query) -> Found:
    nodes = nearest(query)
    # Without summaries there is nothing to compare; a single passage needs none.
    if len(nodes) != 1 and all(node.is_chunk for node in nodes):
        query.note(
            "tree_pending",
            f"The summaries of your documents are still being made. {hybrid.INSTEAD}",
        )
        return hybrid.instead(query)
    dense.note_pending(query)
    leaves = leaves_of(query, [node.id for node in nodes if not node.is_chunk])
    usable = [node for node in nodes if node.is_chunk or inside(leaves, node)]
    taken = collapsed(usable, query.top_k)
    summaries = [node for node in taken if not node.is_chunk]
    chunks = {node.id: node.cosine for node in nodes if node.is_chunk}
    return Found(
        raised(chunks, summaries, leaves)[: query.top_k],
        tuple(summary_record(node, leaves[node.id]) for node in summaries),
    )


def nearest(query: Query) -> list[Node]:
    """Return summaries and passages by their similarity to the question, best first."""
    count = DEEPER * query.top_k
    parameters = tree_parameters(query) | {"nodes": count, "chunks": count}
    return nodes_of(run_sql(tree_sql.NEAREST_OF_ALL, parameters))


def nodes_of(rows: Iterable[Row]) -> list[Node]:
    return [
        Node(id_, is_chunk, float(cosine), tokens, text)
        for id_, is_chunk, cosine, tokens, text in rows
    ]


def leaves_of(query: Query, nodes: Sequence[UUID]) -> dict[UUID, Leaves]:
    if not nodes:
        return {}
    rows = run_sql(tree_sql.LEAVES, tree_parameters(query) | {"nodes": list(nodes)})
    return {node: Leaves(tuple(chunks), is_inside) for node, chunks, is_inside in rows}


def inside(leaves: Mapping[UUID, Leaves], node: Node) -> bool:
    """Return whether the summary rests on passages, and on none outside the scope."""
    return node.id in leaves and leaves[node.id].is_inside


def collapsed(nodes: Iterable[Node], top_k: int) -> list[Node]:
    """Return the nearest nodes, as many as requested and within their tokens; at least one."""
    taken: list[Node] = []
    left = TOKENS_EACH * top_k
    for node in nodes:
        if taken and (len(taken) == top_k or node.tokens > left):
            break
        taken.append(node)
        left -= node.tokens
    return taken


def raised(
    chunks: Mapping[UUID, float], summaries: Sequence[Node], leaves: Mapping[UUID, Leaves]
) -> list[ScoredChunk]:
    """Rank passages by their own similarity and that of the nearest summary above them."""
    over: dict[UUID, Node] = {}
    for node in summaries:
        for chunk_id in leaves[node.id].chunks:
            over.setdefault(chunk_id, node)
    farthest = min([*chunks.values(), *(node.cosine for node in summaries)], default=0.0)
    found = [
        ScoredChunk(
            chunk_id,
            cosine + (LIFT * (over[chunk_id].cosine - farthest) if chunk_id in over else 0.0),
            _why(cosine, over.get(chunk_id)),
        )
        for chunk_id, cosine in chunks.items()
    ]
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def _why(cosine: float, over: Node | None) -> tuple[str, ...]:
    close = f"Close in meaning ({cosine:.2f})"
    return (close, f"Part of the summary “{titled(over.text)}”") if over else (close,)


def summary_record(node: Node, leaves: Leaves) -> Record:
    return Record(
        RecordKind.SUMMARY,
        node.id,
        titled(node.text),
        node.text,
        leaves.chunks[:SOURCES],
        node.cosine,
        (f"Close in meaning ({node.cosine:.2f})",),
    )


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


def tree_parameters(query: Query) -> dict[str, object]:
    return {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "fingerprint": query.vector.fingerprint,
        "vector": query.vector.literal,
    }
