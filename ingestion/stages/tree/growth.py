"""Grow trees from their leaves, layer by layer, several trees at a time.

The trees of a batch share every call: the summaries of a layer are requested in parallel across
trees, and their vectors made together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import numpy as np

from ingestion.stages.tree.clustering import Cluster
from ingestion.stages.tree.items import Draft, Item, Node, Summary, digest_of, node_id
from ingestion.stages.tree.plan import MOST_LAYERS, layer
from ingestion.stages.tree.writing import Tick, Writer
from kb_project.llm.ports import Embedder, Vectors

# A few seconds of work on a small machine.
EMBEDDED_AT_ONCE: Final = 16


# Nodes already stored, by digest.
Known = dict[str, tuple[Summary, Vectors]]


@dataclass(slots=True)
class Tree:
    """A growing tree: ``items`` are what the next layer summarises, finally the root.

    ``digest`` identifies the leaves.
    """

    owner: UUID
    document_id: UUID | None
    digest: str
    items: list[Item]
    known: Known = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)

    @property
    def is_grown(self) -> bool:
        return len(self.items) <= 1

    def drafts(self, number: int, writer: Writer, fingerprint: str) -> Iterator[Draft]:
        found = layer(
            np.stack([item.vector for item in self.items]),
            [item.tokens for item in self.items],
            limit=writer.limit,
            is_last=number == MOST_LAYERS,
        )
        return (self._draft(number, cluster, fingerprint, writer.key) for cluster in found)

    def _draft(self, number: int, cluster: Cluster, fingerprint: str, key: str) -> Draft:
        children = tuple((self.items[item], chance) for item, chance in sorted(cluster.items()))
        digest = digest_of((item.id for item, _ in children), fingerprint, key)
        identity = node_id(self.owner, digest)
        return Draft(identity, digest, number, self.document_id, children)


def grow(trees: Sequence[Tree], writer: Writer, embedder: Embedder, tick: Tick) -> None:
    """Give every tree its nodes. Raises PauseError if the model makes the work wait."""
    for number in range(1, MOST_LAYERS + 1):
        growing = [tree for tree in trees if not tree.is_grown]
        planned: list[tuple[Tree, Draft]] = []
        for tree in growing:
            drafts = tree.drafts(number, writer, embedder.fingerprint)
            # Two clusters of the same items are one node.
            planned += [(tree, draft) for draft in {one.id: one for one in drafts}.values()]
            tick()
        _write(planned, writer, embedder, tick)


def _write(
    planned: Sequence[tuple[Tree, Draft]], writer: Writer, embedder: Embedder, tick: Tick
) -> None:
    new = [draft for tree, draft in planned if draft.digest not in tree.known]
    summaries = writer.write(new, tick)
    vectors = embedded([summary.text for summary in summaries], embedder, tick)
    written = {
        draft.id: (summary, vector)
        for draft, summary, vector in zip(new, summaries, vectors, strict=True)
    }
    grown: dict[UUID, list[Item]] = {}
    for tree, draft in planned:
        is_kept = draft.digest in tree.known
        summary, vector = tree.known[draft.digest] if is_kept else written[draft.id]
        node = Node(draft, summary, vector, is_kept)
        tree.nodes.append(node)
        grown.setdefault(tree.owner, []).append(node.as_item())
    for tree in {id(tree): tree for tree, _ in planned}.values():
        tree.items = grown[tree.owner]


def embedded(texts: Sequence[str], embedder: Embedder, tick: Tick) -> list[Vectors]:
    vectors: list[Vectors] = []
    for first in range(0, len(texts), EMBEDDED_AT_ONCE):
        vectors += list(embedder.embed_passages(texts[first : first + EMBEDDED_AT_ONCE]))
        tick()
    return vectors
