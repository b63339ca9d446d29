"""Load the rows that trees are made from, and save trees."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from struct import Struct
from typing import Any, Final, LiteralString
from uuid import UUID

import numpy as np
from django.utils.functional import cached_property

from ingestion.models import SummaryEdge, SummaryLayout, SummaryNode, SummaryTree
from ingestion.stages.tree import sql
from ingestion.stages.tree.growth import Item, Node, Quote, Summary, Tree, of_length_one
from ingestion.stages.tree.layout import KEY_LENGTH, Layout, Leaves
from ingestion.vectors.chunks import literals, vectors_of
from kb_project.llm.ports import Vectors
from kb_project.sql import ROWS_AT_ONCE, bulk_plans, packed_sql, run_sql
from kb_project.text.regions import Region, from_json
from kb_project.text.words import one_line
from workspaces import access

EDGE: Final = Struct("!16sd")
KEPT_REGIONS: Final = 1 << 12


def _vectors(sent: Sequence[bytes]) -> Iterator[Vectors]:
    """Stored vectors, of length one again."""
    for first in range(0, len(sent), ROWS_AT_ONCE):
        yield from of_length_one(vectors_of(sent[first : first + ROWS_AT_ONCE]))


def chunk_items(values: dict[str, Any]) -> Iterator[tuple[UUID, Item, Vectors]]:
    """Document, leaf and its vector, in the order of the documents' text."""
    rows = run_sql(sql.CHUNKS, values)
    vectors = _vectors([row[-1] for row in rows])
    for (document, id_, text, tokens, start, regions, _), vector in zip(rows, vectors, strict=True):
        yield (
            document,
            Item(
                id=id_,
                is_chunk=True,
                text=text,
                tokens=tokens,
                start=start,
                regions=_regions(regions),
            ),
            vector,
        )


def leaf_items(values: dict[str, Any]) -> Iterator[Item]:
    """The passages of documents of one, without their texts."""
    for first in range(0, len(values["chunks"]), ROWS_AT_ONCE):
        chunks = values["chunks"][first : first + ROWS_AT_ONCE]
        rows = run_sql(sql.LEAVES, {**values, "chunks": chunks, "length": KEY_LENGTH})
        for id_, digest, tokens in rows:
            yield Item(id_, is_chunk=True, text="", tokens=tokens, digest=digest)


class LeafVectors(Leaves):
    """The vectors of stored leaves."""

    def __init__(
        self, values: dict[str, Any], leaves: Sequence[UUID], known: Mapping[UUID, Vectors]
    ) -> None:
        """``known`` are those of the leaves that are no passages."""
        self._values, self._leaves, self._known = values, leaves, known
        self._found = dict(known)

    def __len__(self) -> int:
        return len(self._leaves)

    def __getitem__(self, place: Any) -> Any:
        if self._leaves[place] not in self._found:
            self.read(range(len(self)))
        return self._found[self._leaves[place]]

    def read(self, places: Iterable[int]) -> None:
        chunks = [leaf for place in places if (leaf := self._leaves[place]) not in self._found]
        for first in range(0, len(chunks), ROWS_AT_ONCE):
            part = chunks[first : first + ROWS_AT_ONCE]
            with access.in_workspace(self._values["workspace"]):
                rows = packed_sql(sql.VECTORS, {**self._values, "chunks": part})
            vectors = _vectors([row[1] for row in rows])
            self._found.update(zip([row[0] for row in rows], vectors, strict=True))
        # Of leaves that have been deleted meanwhile: a tree with one is not saved.
        gone = np.zeros_like(next(iter(self._found.values()), np.zeros(1, np.float32)))
        self._found.update((leaf, gone) for leaf in chunks if leaf not in self._found)

    def alike(self, vector: Vectors, most: int | None, least: float) -> list[int]:
        values = {**self._values, "vector": literals(vector[None])[0], "most": most, "least": least}
        with access.in_workspace(self._values["workspace"]), bulk_plans():
            found = [id_ for (id_,) in run_sql(sql.ALIKE, values)]
        found += [id_ for id_, of in self._known.items() if float(of @ vector) >= least]
        return [place for id_ in found if (place := self._places.get(id_)) is not None]

    @cached_property
    def _places(self) -> dict[UUID, int]:
        return {leaf: place for place, leaf in enumerate(self._leaves)}


@lru_cache(maxsize=KEPT_REGIONS)
def _regions(stored: str) -> tuple[Region, ...]:
    """Most passages have none, or the same few."""
    return tuple(from_json(json.loads(stored)))


@dataclass(frozen=True, slots=True)
class StoredNode:
    """A stored node with the sentences it quotes."""

    digest: str
    item: Item
    vector: Vectors
    summary: Summary


def stored_nodes(values: dict[str, Any]) -> Iterator[tuple[UUID | None, StoredNode]]:
    """Nodes with their document."""
    rows = packed_sql(sql.NODES, values)
    quotes: defaultdict[UUID, list[Quote]] = defaultdict(list)
    ids = [row[1] for row in rows]
    for node, *place, quote in run_sql(
        sql.SOURCES, {"workspace": values["workspace"], "nodes": ids}
    ):
        quotes[node].append(Quote(one_line(quote), *place))
    vectors = _vectors([row[-1] for row in rows])
    for (document, id_, digest, text, tokens, written_by, _), vector in zip(
        rows, vectors, strict=True
    ):
        sources = tuple(quotes[id_])
        summary = Summary(text, tokens, written_by, sources)
        yield document, StoredNode(digest, summary.as_item(id_), vector, summary)


def layouts(values: dict[str, Any]) -> dict[UUID | None, Layout]:
    """How some documents' leaves were clustered, or those of the tree over all documents."""
    return {
        document: Layout.from_json(json.loads(stored))
        for document, stored in run_sql(sql.LAYOUTS, values)
    }


def save(workspace_id: UUID, tree: Tree, *, writer: str, fingerprint: str) -> bool:
    """Replace the previous tree; nodes that stay keep their rows.

    False, with nothing written, if a leaf was deleted meanwhile. Call inside a transaction.
    """
    nodes = {node.draft.id: node for node in tree.nodes}
    changed = _with_other_edges(workspace_id, tree.document_id, [*nodes.values()])
    leaves = {
        item.id: item for node in tree.nodes if node.draft.layer == 1 for item in node.draft.items
    }
    below = [item for node in changed for item in node.draft.items if item.id in leaves]
    # Edges that stay are deleted with their leaf, whenever that is.
    if not (_holds(workspace_id, below) and _are_there(workspace_id, leaves.values())):
        return False
    kept = [id_ for id_, node in nodes.items() if node.is_kept]
    scope = {"workspace": workspace_id, "document": tree.document_id, "kept": kept}
    for statement in (sql.FORGET_NODES, sql.FORGET_TREE):
        run_sql(statement, scope)
    new = [node for node in nodes.values() if not node.is_kept]
    SummaryNode.objects.bulk_create(
        (_row(workspace_id, node, fingerprint) for node in new), batch_size=500
    )
    run_sql(
        sql.FORGET_EDGES, {"workspace": workspace_id, "nodes": [node.draft.id for node in changed]}
    )
    _add_edges(workspace_id, changed)
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
    run_sql(sql.FORGET_LAYOUT, {"workspace": workspace_id, "document": tree.document_id})
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
    run_sql(sql.COUNT_MORE, values)
    return {node.draft.id for node in new}


def _with_other_edges(
    workspace_id: UUID, document_id: UUID | None, nodes: Sequence[Node]
) -> list[Node]:
    """The nodes of a tree whose edges are to be written: of those that stay, the ones with others,
    or above a node that is written.
    """
    stored: dict[UUID, bytes] = dict(
        run_sql(sql.EDGES, {"workspace": workspace_id, "document": document_id})
    )
    written = {node.draft.id for node in nodes if not node.is_kept}
    return [
        node
        for node in nodes
        if not node.is_kept
        or not written.isdisjoint(item.id for item in node.draft.items)
        or stored.get(node.draft.id) != _digest_of_edges(node)
    ]


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
    return _counts_all(workspace_id, items, sql.HOLD_CHUNKS, sql.HOLD_NODES)


def _are_there(workspace_id: UUID, items: Iterable[Item]) -> bool:
    return _counts_all(workspace_id, items, sql.COUNT_CHUNKS, sql.COUNT_NODES)


def _counts_all(
    workspace_id: UUID, items: Iterable[Item], of_chunks: LiteralString, of_nodes: LiteralString
) -> bool:
    below = {item.id: item.is_chunk for item in items}
    chunks = [id_ for id_, is_chunk in below.items() if is_chunk]
    others = [id_ for id_, is_chunk in below.items() if not is_chunk]
    [(found,)] = run_sql(of_chunks, {"workspace": workspace_id, "ids": chunks})
    [(more,)] = run_sql(of_nodes, {"workspace": workspace_id, "ids": others})
    return bool(found + more == len(below))


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
