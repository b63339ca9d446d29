"""Load the rows that trees are made from, and save trees."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from struct import Struct
from typing import Any, Final, LiteralString
from uuid import UUID

from ingestion.models import SummaryEdge, SummaryLayout, SummaryNode, SummaryTree
from ingestion.stages.tree.growth import Item, Node, Quote, Summary, Tree, of_length_one
from ingestion.stages.tree.layout import Layout
from ingestion.vectors.chunks import vectors_of
from kb_project.llm.ports import Vectors
from kb_project.sql import ROWS_AT_ONCE, run_sql
from kb_project.text.regions import Region, from_json
from kb_project.text.words import one_line

# Documents of several chunks, all with a vector, whose tree is missing or was made from other
# chunks, contexts or another model's vectors. Chunks that were replaced, whatever their ids, have
# lost their edges. The writer is ignored if none is given, or if the document has not been read
# again since: a change of model alone costs nothing.
STALE_DOCUMENTS: Final[LiteralString] = """
WITH leaves AS (
    SELECT c.document_id, count(*) AS chunks, count(v.chunk_id) AS vectors,
           count(e.chunk_id) AS linked,
           encode(sha256(convert_to(
               string_agg(c.id::text || md5(c.context), ',' ORDER BY c.ordinal, c.id)
               || %(fingerprint)s::text, 'UTF8')), 'hex') AS digest
      FROM ingestion_chunk AS c
      LEFT JOIN ingestion_chunkembedding AS v
        ON v.workspace_id = %(workspace)s AND v.chunk_id = c.id
       AND v.fingerprint = %(fingerprint)s::text
      LEFT JOIN (SELECT DISTINCT chunk_id FROM ingestion_summaryedge
                  WHERE workspace_id = %(workspace)s AND chunk_id IS NOT NULL) AS e
        ON e.chunk_id = c.id
     WHERE c.workspace_id = %(workspace)s
     GROUP BY c.document_id)
SELECT leaves.document_id, leaves.digest, leaves.chunks
  FROM leaves
  LEFT JOIN ingestion_summarytree AS t
    ON t.workspace_id = %(workspace)s AND t.document_id = leaves.document_id
 WHERE leaves.chunks > 1 AND leaves.vectors = leaves.chunks
   AND (t.digest IS DISTINCT FROM leaves.digest OR leaves.linked < leaves.chunks
        OR t.writer <> %(writer)s::text AND NOT EXISTS (
            SELECT FROM ingestion_ingestionjob AS j
              JOIN ingestion_stagerun AS r
                ON r.workspace_id = %(workspace)s AND r.job_id = j.id AND r.stage = 'resolve'
             WHERE j.workspace_id = %(workspace)s AND j.document_id = leaves.document_id
               AND j.kind = 'document' AND r.finished_at <= t.built_at))
 ORDER BY leaves.document_id
"""

# The root of each document: the top of its tree, or its only chunk.
ROOTS: Final[LiteralString] = """
SELECT id, is_chunk, identity FROM (
SELECT t.root_id AS id, false AS is_chunk, t.root_id::text AS identity, d.title, d.created_at
  FROM ingestion_summarytree AS t
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = t.document_id
 WHERE t.workspace_id = %(workspace)s AND t.fingerprint = %(fingerprint)s
UNION ALL
SELECT c.id, true, c.id::text || md5(c.context), d.title, d.created_at
  FROM ingestion_chunk AS c
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = c.document_id
  JOIN ingestion_chunkembedding AS v
    ON v.workspace_id = %(workspace)s AND v.chunk_id = c.id AND v.fingerprint = %(fingerprint)s
 WHERE c.workspace_id = %(workspace)s AND NOT EXISTS (
       SELECT FROM ingestion_chunk AS other
        WHERE other.workspace_id = %(workspace)s AND other.document_id = c.document_id
          AND other.id <> c.id)) AS root
 ORDER BY title, created_at, identity
"""

COLLECTION: Final[LiteralString] = """
SELECT t.digest, t.writer, (
       SELECT count(DISTINCT coalesce(e.chunk_id, e.node_id))
         FROM ingestion_summarynode AS n
         JOIN ingestion_summaryedge AS e ON e.workspace_id = %(workspace)s AND e.parent_id = n.id
        WHERE n.workspace_id = %(workspace)s AND n.document_id IS NULL AND n.layer = 1)
  FROM ingestion_summarytree AS t
 WHERE t.workspace_id = %(workspace)s AND t.document_id IS NULL
"""

CHUNKS: Final[LiteralString] = """
SELECT c.document_id, c.id, c.text, c.tokens, c.start, c.regions, halfvec_send(v.vector)
  FROM ingestion_chunk AS c
  JOIN ingestion_chunkembedding AS v
    ON v.workspace_id = %(workspace)s AND v.chunk_id = c.id AND v.fingerprint = %(fingerprint)s
 WHERE c.workspace_id = %(workspace)s
   AND (c.document_id = ANY (%(documents)s::uuid[]) OR c.id = ANY (%(chunks)s::uuid[]))
 ORDER BY c.document_id, c.ordinal, c.id
"""

# Nodes of some documents, of the tree over all documents, or by id.
NODES: Final[LiteralString] = """
SELECT n.document_id, n.id, n.digest, n.text, n.tokens, n.written_by, halfvec_send(n.vector)
  FROM ingestion_summarynode AS n
 WHERE n.workspace_id = %(workspace)s AND n.fingerprint = %(fingerprint)s
   AND (n.document_id = ANY (%(documents)s::uuid[]) OR n.id = ANY (%(nodes)s::uuid[])
        OR (%(collection)s AND n.document_id IS NULL))
"""

# The quotes of summaries, except those of deleted chunks.
SOURCES: Final[LiteralString] = """
SELECT n.id, c.id, s.start, s."end", substr(c.text, s.start - c.start + 1, s."end" - s.start)
  FROM ingestion_summarynode AS n
 CROSS JOIN LATERAL jsonb_to_recordset(n.sources) AS s (chunk uuid, start int, "end" int)
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = s.chunk
 WHERE n.workspace_id = %(workspace)s AND n.id = ANY (%(nodes)s::uuid[])
"""

# Trees of documents that now have one chunk or none.
FORGET_SINGLE: Final[LiteralString] = """
DELETE FROM ingestion_summarynode AS n USING ingestion_summarytree AS t
 WHERE t.workspace_id = %(workspace)s AND t.document_id IS NOT NULL AND (
       SELECT count(*) FROM (
              SELECT FROM ingestion_chunk AS c
               WHERE c.workspace_id = %(workspace)s AND c.document_id = t.document_id
               LIMIT 2) AS first_two) < 2
   AND n.workspace_id = %(workspace)s AND n.document_id = t.document_id
"""
FORGET_COLLECTION: Final[LiteralString] = """
DELETE FROM ingestion_summarynode WHERE workspace_id = %(workspace)s AND document_id IS NULL
"""

# Locks leaves until the tree is saved; the count shows whether any is gone.
HOLD_CHUNKS: Final[LiteralString] = """
SELECT count(*) FROM (
    SELECT FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
     ORDER BY id FOR KEY SHARE) AS held
"""
HOLD_NODES: Final[LiteralString] = """
SELECT count(*) FROM (
    SELECT FROM ingestion_summarynode
     WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
     ORDER BY id FOR KEY SHARE) AS held
"""
# What each node of a tree summarises, as ``_digest_of_edges`` has it.
EDGES: Final[LiteralString] = """
SELECT parent_id, sha256(string_agg(uuid_send(below) || float8send(probability), ''::bytea
                                    ORDER BY below))
  FROM (SELECT e.parent_id, coalesce(e.chunk_id, e.node_id) AS below, e.probability
          FROM ingestion_summarynode AS n
          JOIN ingestion_summaryedge AS e
            ON e.workspace_id = %(workspace)s AND e.parent_id = n.id
         WHERE n.workspace_id = %(workspace)s
           AND n.document_id IS NOT DISTINCT FROM %(document)s::uuid) AS edge
 GROUP BY parent_id
"""
FORGET_EDGES: Final[LiteralString] = """
DELETE FROM ingestion_summaryedge
 WHERE workspace_id = %(workspace)s AND parent_id = ANY (%(nodes)s::uuid[])
"""
FORGET_NODES: Final[LiteralString] = """
DELETE FROM ingestion_summarynode
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
   AND id <> ALL (%(kept)s::uuid[])
"""
FORGET_TREE: Final[LiteralString] = """
DELETE FROM ingestion_summarytree
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
"""

# Nodes of a tree that is not complete: the old one has them as well until then.
COUNT_MORE: Final[LiteralString] = """
UPDATE ingestion_summarytree SET nodes = nodes + %(number)s
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
"""

LAYOUTS: Final[LiteralString] = """
SELECT document_id, layout FROM ingestion_summarylayout
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
   AND (document_id = ANY (%(documents)s::uuid[]) OR (%(collection)s AND document_id IS NULL))
"""
FORGET_LAYOUT: Final[LiteralString] = """
DELETE FROM ingestion_summarylayout
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
"""

VECTORS_ARE_COMING: Final[LiteralString] = """
SELECT EXISTS (
    SELECT FROM ingestion_stagerun AS r
      JOIN ingestion_ingestionjob AS j ON j.workspace_id = r.workspace_id AND j.id = r.job_id
     WHERE r.workspace_id = %(workspace)s AND r.stage = 'embed'
       AND r.state IN ('pending', 'running')
       AND j.kind = 'document' AND j.state IN ('pending', 'running'))
"""

# A failed refresh is not restarted automatically; a running one may be past this already.
# Not while a refresh has yet to come to its trees: it will build them.
MAY_REFRESH: Final[LiteralString] = """
SELECT coalesce((SELECT job.state = 'done' OR job.state = 'running' AND NOT EXISTS (
                        SELECT FROM ingestion_stagerun AS run
                         WHERE run.workspace_id = %(workspace)s AND run.job_id = job.id
                           AND run.stage = 'tree' AND run.state = 'pending')
                   FROM ingestion_ingestionjob AS job
                  WHERE job.workspace_id = %(workspace)s AND job.kind = 'workspace'
                  ORDER BY job.created_at DESC LIMIT 1), true)
"""


EDGE: Final = Struct("!16sd")
KEPT_REGIONS: Final = 1 << 12


def _vectors(sent: Sequence[bytes]) -> Iterator[Vectors]:
    """Stored vectors, of length one again."""
    for first in range(0, len(sent), ROWS_AT_ONCE):
        for vector in vectors_of(sent[first : first + ROWS_AT_ONCE]):
            yield of_length_one(vector)


def chunk_items(values: dict[str, Any]) -> Iterator[tuple[UUID, Item]]:
    """Document and leaf, in the order of the documents' text."""
    rows = run_sql(CHUNKS, values)
    vectors = _vectors([row[-1] for row in rows])
    for (document, id_, text, tokens, start, regions, _), vector in zip(rows, vectors, strict=True):
        yield (
            document,
            Item(
                id=id_,
                is_chunk=True,
                text=text,
                tokens=tokens,
                vector=vector,
                start=start,
                regions=_regions(regions),
            ),
        )


@lru_cache(maxsize=KEPT_REGIONS)
def _regions(stored: str) -> tuple[Region, ...]:
    """Most passages have none, or the same few."""
    return tuple(from_json(json.loads(stored)))


@dataclass(frozen=True, slots=True)
class StoredNode:
    """A stored node with the sentences it quotes."""

    digest: str
    item: Item
    summary: Summary


def stored_nodes(values: dict[str, Any]) -> Iterator[tuple[UUID | None, StoredNode]]:
    """Nodes with their document."""
    rows = run_sql(NODES, values)
    quotes: defaultdict[UUID, list[Quote]] = defaultdict(list)
    ids = [row[1] for row in rows]
    for node, *place, quote in run_sql(SOURCES, {"workspace": values["workspace"], "nodes": ids}):
        quotes[node].append(Quote(one_line(quote), *place))
    vectors = _vectors([row[-1] for row in rows])
    for (document, id_, digest, text, tokens, written_by, _), vector in zip(
        rows, vectors, strict=True
    ):
        sources = tuple(quotes[id_])
        summary = Summary(text, tokens, written_by, sources)
        yield document, StoredNode(digest, summary.as_item(id_, vector), summary)


def layouts(values: dict[str, Any]) -> dict[UUID | None, Layout]:
    """How some documents' leaves were clustered, or those of the tree over all documents."""
    return {
        document: Layout.from_json(json.loads(stored))
        for document, stored in run_sql(LAYOUTS, values)
    }


def save(workspace_id: UUID, tree: Tree, *, writer: str, fingerprint: str) -> bool:
    """Replace the previous tree; nodes that stay keep their rows.

    False, with nothing written, if a leaf was deleted meanwhile. Call inside a transaction.
    """
    leaves = [item for node in tree.nodes if node.draft.layer == 1 for item in node.draft.items]
    if not _holds(workspace_id, leaves):
        return False
    nodes = {node.draft.id: node for node in tree.nodes}
    kept = [id_ for id_, node in nodes.items() if node.is_kept]
    scope = {"workspace": workspace_id, "document": tree.document_id, "kept": kept}
    for statement in (FORGET_NODES, FORGET_TREE):
        run_sql(statement, scope)
    new = [node for node in nodes.values() if not node.is_kept]
    SummaryNode.objects.bulk_create(
        (_row(workspace_id, node, fingerprint) for node in new), batch_size=500
    )
    _save_edges(workspace_id, tree.document_id, nodes.values())
    save_layout(workspace_id, tree, fingerprint=fingerprint)
    SummaryTree.objects.create(
        workspace_id=workspace_id,
        document_id=tree.document_id,
        root_id=tree.items[0].id,
        digest=tree.digest,
        writer=writer[:160],
        fingerprint=fingerprint,
        layers=max(node.draft.layer for node in tree.nodes),
        nodes=len(nodes),
        failed=sum(node.summary.failed for node in tree.nodes),
    )
    return True


def save_layout(workspace_id: UUID, tree: Tree, *, fingerprint: str) -> None:
    run_sql(FORGET_LAYOUT, {"workspace": workspace_id, "document": tree.document_id})
    SummaryLayout.objects.create(
        workspace_id=workspace_id,
        document_id=tree.document_id,
        fingerprint=fingerprint,
        layout=tree.layout.as_json(),
    )


def save_nodes(
    workspace_id: UUID, tree: Tree, nodes: Sequence[Node], *, fingerprint: str
) -> set[UUID]:
    """Save nodes of a tree that is not complete, beside those of the previous one.

    Return the ids of those saved: none if anything below them is gone. A node that is stored
    already, since the model failed to write it, waits for ``save``. Call inside a transaction.
    """
    if not _holds(workspace_id, [item for node in nodes for item in node.draft.items]):
        return set()
    rows = SummaryNode.objects.in_workspace(workspace_id)
    stored = rows.filter(pk__in=[node.draft.id for node in nodes])
    known = set(stored.values_list("pk", flat=True))
    new = [node for node in nodes if node.draft.id not in known]
    SummaryNode.objects.bulk_create(_row(workspace_id, node, fingerprint) for node in new)
    _add_edges(workspace_id, new)
    values = {"workspace": workspace_id, "document": tree.document_id, "number": len(new)}
    run_sql(COUNT_MORE, values)
    return {node.draft.id for node in new}


def _save_edges(workspace_id: UUID, document_id: UUID | None, nodes: Iterable[Node]) -> None:
    """Make the edges of a tree those of its nodes; those of nodes that stay are not read."""
    stored: dict[UUID, bytes] = dict(
        run_sql(EDGES, {"workspace": workspace_id, "document": document_id})
    )
    changed = [node for node in nodes if stored.get(node.draft.id) != _digest_of_edges(node)]
    ids = [node.draft.id for node in changed]
    run_sql(FORGET_EDGES, {"workspace": workspace_id, "nodes": ids})
    _add_edges(workspace_id, changed)


def _digest_of_edges(node: Node) -> bytes:
    edges = sorted((item.id.bytes, chance) for item, chance in node.draft.children)
    return sha256(b"".join(EDGE.pack(*edge) for edge in edges)).digest()


def _add_edges(workspace_id: UUID, nodes: Iterable[Node]) -> None:
    SummaryEdge.objects.bulk_create(
        (
            SummaryEdge(
                workspace_id=workspace_id,
                parent_id=node.draft.id,
                chunk_id=item.id if item.is_chunk else None,
                node_id=None if item.is_chunk else item.id,
                probability=probability,
            )
            for node in nodes
            for item, probability in node.draft.children
        ),
        batch_size=2_000,
    )


def _holds(workspace_id: UUID, items: Iterable[Item]) -> bool:
    """Lock what nodes summarise until the transaction's end; False if anything is gone."""
    below = {item.id: item.is_chunk for item in items}
    chunks = [id_ for id_, is_chunk in below.items() if is_chunk]
    others = [id_ for id_, is_chunk in below.items() if not is_chunk]
    [(held,)] = run_sql(HOLD_CHUNKS, {"workspace": workspace_id, "ids": chunks})
    [(more,)] = run_sql(HOLD_NODES, {"workspace": workspace_id, "ids": others})
    return bool(held + more == len(below))


def _row(workspace_id: UUID, node: Node, fingerprint: str) -> SummaryNode:
    summary = node.summary
    return SummaryNode(
        id=node.draft.id,
        workspace_id=workspace_id,
        document_id=node.draft.document_id,
        layer=node.draft.layer,
        digest=node.draft.digest,
        text=summary.text,
        tokens=summary.tokens,
        sources=[{"chunk": str(s.chunk), "start": s.start, "end": s.end} for s in summary.sources],
        written_by=summary.written_by,
        fingerprint=fingerprint,
        vector=node.vector.tolist(),
    )
