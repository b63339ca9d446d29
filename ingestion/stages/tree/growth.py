"""The nodes of trees, and how trees grow from their leaves, layer by layer, several at a time.

The trees of a batch share every call: the summaries of a layer are requested in parallel across
trees, and their vectors made together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Protocol
from uuid import UUID, uuid5

import numpy as np

from ingestion.stage import Progress
from ingestion.stages.tree.clustering import MOST_LAYERS, Cluster, Tick, layer
from ingestion.stages.tree.layout import Layout, digest_of_text, is_overlong, leaf_keys
from kb_project.llm.ports import Embedder, Vectors
from kb_project.text.regions import Region, is_furniture
from kb_project.text.sentences import sentence_spans
from kb_project.text.statements import StatementKind, quotable
from kb_project.text.words import one_line

EXTRACTIVE: Final = "extractive"

# A few seconds of work on a small machine.
EMBEDDED_AT_ONCE: Final = 16

# New nodes of a layer from which on they are kept while it is written.
LONG_LAYER: Final = 128


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence on one line.

    With a ``chunk``, the offsets are those of the quote in the document's text; a model's sentence
    has no place.
    """

    text: str
    chunk: UUID | None = None
    start: int = 0
    end: int = 0
    is_entry: bool = False
    """A list entry: quoted only if there is no sentence."""


@dataclass(frozen=True, slots=True)
class Item:
    """A leaf or a node that the next layer summarises.

    ``start`` is a chunk's offset, and ``regions`` its parts that are not prose. A leaf with a
    ``digest`` of its text has no text yet.
    """

    id: UUID
    is_chunk: bool
    text: str
    tokens: int
    start: int = 0
    sources: tuple[Quote, ...] = ()
    regions: tuple[Region, ...] = ()
    digest: str = ""

    @property
    def is_furniture(self) -> bool:
        return is_furniture(self.text, self.regions)

    def sentences(self) -> list[Quote]:
        """Sentences to quote it by: a chunk's prose, a summary's sources, else its own."""
        if self.sources:
            return list(self.sources)
        if not self.is_chunk:
            spans = sentence_spans(self.text)
            return [Quote(one_line(self.text[start:end])) for start, end in spans]
        return [
            Quote(
                text=one.said,
                chunk=self.id,
                start=self.start + one.start,
                end=self.start + one.end,
                is_entry=one.kind is StatementKind.ENTRY,
            )
            for one in quotable(self.text, self.regions)
        ]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a cluster has in common, and its sources; ``failed``: the model could not write it."""

    text: str
    tokens: int
    written_by: str
    sources: tuple[Quote, ...] = ()
    failed: bool = False

    def as_item(self, id_: UUID) -> Item:
        """The node of this summary, as the next layer summarises it."""
        return Item(
            id=id_,
            is_chunk=False,
            text=self.text,
            tokens=self.tokens,
            sources=self.sources,
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A node before it is written: its ``children`` with their probability."""

    id: UUID
    digest: str
    layer: int
    document_id: UUID | None
    children: tuple[tuple[Item, float], ...]

    @property
    def items(self) -> list[Item]:
        return [item for item, _ in self.children]


@dataclass(frozen=True, slots=True)
class Node:
    """A written node; ``is_kept`` means that its row already exists."""

    draft: Draft
    summary: Summary
    vector: Vectors
    is_kept: bool


@dataclass(slots=True)
class Units:
    """How far the work is: documents, the tree over them, and the summaries of long layers."""

    progress: Progress
    total: int
    done: int = 0

    def hold(self) -> None:
        """In the middle of work that would be lost if the turn ended."""
        self.progress.hold(self.done, self.total)

    def tick(self) -> None:
        """Where what was done before is found again."""
        self.progress(self.done, self.total)


class Writer(Protocol):
    """Writes the summary of each draft from texts of at most ``limit`` tokens in total.

    ``name`` is the signature; ``key`` changes whenever the same draft would give another text.
    ``at_once`` is how many drafts are written before they are kept, in a layer of many.
    """

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> str: ...

    @property
    def limit(self) -> int: ...

    @property
    def at_once(self) -> int: ...

    def write(self, drafts: Sequence[Draft], units: Units) -> list[Summary]:
        """One summary per draft, in order."""


# Nodes already stored, by digest.
Known = dict[str, tuple[Summary, Vectors]]


@dataclass(slots=True)
class Tree:
    """A growing tree: ``items`` are what the next layer summarises, finally the root.

    Their ``vectors`` are dropped as soon as they are clustered: they take more than all else.
    ``digest`` identifies the leaves; ``layout`` is where they were the last time.
    """

    owner: UUID
    document_id: UUID | None
    digest: str
    items: list[Item]
    vectors: Sequence[Vectors]
    known: Known = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)
    nodes: list[Node] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """Those of the items, in the layout."""

    def __post_init__(self) -> None:
        self.keys = leaf_keys(item.digest or digest_of_text(item.text) for item in self.items)
        if not self.layout.fits(self.keys):
            self.layout = Layout()

    def drafts(self, number: int, writer: Writer, fingerprint: str, tick: Tick) -> list[Draft]:
        """The nodes of layer ``number``, yet to be written."""
        found = self._clusters(number, writer.limit, tick)
        self.keys = list(found)
        drafts = []
        for cluster in found.values():
            children = tuple((self.items[item], chance) for item, chance in sorted(cluster.items()))
            digest = digest_of((item.id for item, _ in children), fingerprint, writer.key)
            identity = node_id(self.owner, digest)
            drafts.append(Draft(identity, digest, number, self.document_id, children))
        return drafts

    def _clusters(self, number: int, limit: int, tick: Tick) -> dict[str, Cluster]:
        vectors, self.vectors = self.vectors, []
        tokens = [item.tokens for item in self.items]
        is_last = number == MOST_LAYERS
        if self.layout.has(number, self.keys):
            found = self.layout.arranged(number, self.keys, vectors)
            if is_last or not is_overlong(found.values(), tokens, limit):
                return found
        # As np.stack, which looks at each of a hundred thousand in turn.
        together = np.concatenate(vectors).reshape(len(vectors), -1)
        found_anew = layer(together, tokens, limit=limit, is_last=is_last, tick=tick)
        self.layout.keep(number, self.keys, found_anew)
        return self.layout.arranged(number, self.keys, vectors)


class Shelf(Protocol):
    """Where a tree's parts are kept before it is complete."""

    def keep_layout(self, tree: Tree) -> None:
        """Keep its clusters."""

    def keep_nodes(self, tree: Tree, nodes: Sequence[Node]) -> set[UUID]:
        """Keep nodes whose children are kept; return the ids of those that now are."""

    def read(self, leaves: Sequence[UUID]) -> Mapping[UUID, Item]:
        """Read leaves with their texts."""


def grow(
    trees: Sequence[Tree], writer: Writer, embedder: Embedder, units: Units, shelf: Shelf
) -> None:
    """Give every tree its nodes. Raises PauseError if the model makes the work wait.

    A layer of many new nodes is kept while it is written, so that a stopped run resumes in it.
    """
    for number in range(1, MOST_LAYERS + 1):
        planned: list[tuple[Tree, Draft]] = []
        for tree in trees:
            if len(tree.items) <= 1:
                continue
            drafts = tree.drafts(number, writer, embedder.fingerprint, units.hold)
            planned += [(tree, draft) for draft in drafts]
            units.hold()
        _write(planned, writer, embedder, units, shelf)


def _write(
    planned: Sequence[tuple[Tree, Draft]],
    writer: Writer,
    embedder: Embedder,
    units: Units,
    shelf: Shelf,
) -> None:
    new = [(tree, draft) for tree, draft in planned if draft.digest not in tree.known]
    is_long = len(new) > LONG_LAYER
    if is_long:
        units.total += len(new)
        for tree in _distinct(new):
            shelf.keep_layout(tree)
    written: dict[UUID, Node] = {}
    step = writer.at_once if is_long else max(1, len(new))
    for first in range(0, len(new), step):
        part = _read(new[first : first + step], shelf)
        nodes = _written([draft for _, draft in part], writer, embedder, units)
        written |= {node.draft.id: node for node in nodes}
        if is_long:
            written |= _kept(part, written, shelf)
            units.done += len(part)
            units.tick()
    grown: dict[UUID, list[tuple[Item, Vectors]]] = {}
    for tree, draft in planned:
        node = written.get(draft.id) or Node(draft, *tree.known[draft.digest], is_kept=True)
        tree.nodes.append(node)
        vector = as_stored(node.vector) if draft.id in written else node.vector
        grown.setdefault(tree.owner, []).append((node.summary.as_item(draft.id), vector))
    for tree in _distinct(planned):
        tree.items, tree.vectors = apart(grown[tree.owner])


def apart(items: Iterable[tuple[Item, Vectors]]) -> tuple[list[Item], list[Vectors]]:
    """The items, and their vectors."""
    found = list(items)
    return [item for item, _ in found], [vector for _, vector in found]


def _read(part: Sequence[tuple[Tree, Draft]], shelf: Shelf) -> list[tuple[Tree, Draft]]:
    """The drafts with the texts of their leaves, as far as these have not been deleted."""
    unread = {item.id for _, draft in part for item in draft.items if item.digest}
    read = shelf.read(list(unread)) if unread else {}
    return [
        (
            tree,
            replace(
                draft,
                children=tuple(
                    (read.get(item.id, item), chance) for item, chance in draft.children
                ),
            ),
        )
        for tree, draft in part
    ]


def _written(
    drafts: Sequence[Draft], writer: Writer, embedder: Embedder, units: Units
) -> list[Node]:
    summaries = writer.write(drafts, units)
    vectors = embedded([summary.text for summary in summaries], embedder, units.hold)
    made = zip(drafts, summaries, vectors, strict=True)
    return [Node(draft, summary, vector, is_kept=False) for draft, summary, vector in made]


def _kept(
    part: Sequence[tuple[Tree, Draft]], written: Mapping[UUID, Node], shelf: Shelf
) -> dict[UUID, Node]:
    kept = {}
    for tree in _distinct(part):
        nodes = [written[draft.id] for of, draft in part if of is tree]
        for id_ in shelf.keep_nodes(tree, nodes):
            kept[id_] = replace(written[id_], is_kept=True)
    return kept


def _distinct(planned: Sequence[tuple[Tree, Draft]]) -> list[Tree]:
    return list({id(tree): tree for tree, _ in planned}.values())


def embedded(texts: Sequence[str], embedder: Embedder, tick: Tick) -> list[Vectors]:
    vectors: list[Vectors] = []
    for first in range(0, len(texts), EMBEDDED_AT_ONCE):
        vectors += list(embedder.embed_passages(texts[first : first + EMBEDDED_AT_ONCE]))
        tick()
    return vectors


def as_stored(vector: Vectors) -> Vectors:
    """A vector in half precision, of length one again: what is above is the same if it is read."""
    stored: Vectors = of_length_one(vector.astype(np.float16).astype(np.float32)[None])[0]
    return stored


def of_length_one(vectors: Vectors) -> Vectors:
    """The vectors, a row each; one of no length stays."""
    lengths = np.sqrt(np.array([row.dot(row) for row in vectors], vectors.dtype))
    lengths[lengths == 0] = 1
    scaled: Vectors = vectors / lengths[:, None]
    return scaled


def digest_of(children: Iterable[UUID], fingerprint: str, writer: str) -> str:
    """Identify a node by its content: the same children, vectors and writer give the same node."""
    parts = [*sorted(str(child) for child in children), fingerprint, writer]
    return sha256("\n".join(parts).encode()).hexdigest()


def node_id(owner: UUID, digest: str) -> UUID:
    """Derive a node's id from its digest, so that it survives a re-index.

    ``owner`` is the document, or the workspace for the tree over all documents.
    """
    return uuid5(owner, digest)
