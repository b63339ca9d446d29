"""Tree: summaries of summaries, up to one root for each document and one for all of them (RAPTOR).

In: chunks with vectors.  Out: SummaryNode rows with their edges, one SummaryTree for each document
of several chunks, and one over the documents' roots. A document of one chunk is its own root.
Safe to repeat: a tree whose leaves and writer are unchanged is skipped; otherwise, clusters stay as
they were where they can (``layout``), and nodes with the same children keep their id, text and
vector. A tree is saved in one transaction, and the nodes of its long layers before that, a few at a
time: a stopped run resumes where it was.

Vectors may arrive after the refresh that needs them: documents are processed once they are
complete, and the tree over all of them waits until no vectors are being made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID

from ingestion.models import IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.tree import rows, sql
from ingestion.stages.tree.growth import Item, Known, Node, Tree, Units, apart, grow
from ingestion.stages.tree.layout import Layout
from ingestion.stages.tree.writing import Writer, writer_for
from kb_project.llm.ports import Embedder, Vectors
from kb_project.ports import Ports
from kb_project.sql import Row, bulk_plans, run_sql
from workspaces import access

# Chunks whose documents are summarised together: enough parallel calls, bounded memory. Without
# calls, a few seconds of work, which a turn's end would not lose.
CHUNKS_AT_ONCE: Final = 400
CHUNKS_WITHOUT_CALLS: Final = 100


@dataclass(frozen=True, slots=True)
class _Work:
    """What every step of a run needs; the shelf of trees that are not complete."""

    workspace_id: UUID
    writer: Writer
    embedder: Embedder

    @property
    def values(self) -> dict[str, object]:
        return {
            "workspace": self.workspace_id,
            "fingerprint": self.embedder.fingerprint,
            "writer": self.writer.key[:160],
        }

    def is_current(self, node: rows.StoredNode) -> bool:
        """Whether the node may stay: a node that the model failed to write is tried again."""
        return node.summary.written_by == self.writer.name

    def keep_layout(self, tree: Tree) -> None:
        with access.in_workspace(self.workspace_id):
            rows.save_layout(self.workspace_id, tree, fingerprint=self.embedder.fingerprint)

    def keep_nodes(self, tree: Tree, nodes: Sequence[Node]) -> set[UUID]:
        fingerprint = self.embedder.fingerprint
        with access.in_workspace(self.workspace_id):
            return rows.save_nodes(self.workspace_id, tree, nodes, fingerprint=fingerprint)

    def read(self, leaves: Sequence[UUID]) -> dict[UUID, Item]:
        values = {**self.values, "documents": [], "chunks": leaves}
        with access.in_workspace(self.workspace_id):
            return {item.id: item for _, item, _ in rows.chunk_items(values)}


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    work = _Work(job.workspace_id, writer_for(ports.chat), ports.embedder)
    with access.in_workspace(job.workspace_id), bulk_plans():
        run_sql(sql.FORGET_SINGLE, work.values)
        stale = [(row[0], row[1], row[2]) for row in run_sql(sql.STALE_DOCUMENTS, work.values)]
    units, written = Units(progress, total=len(stale) + 1), 0
    units.hold()
    for batch in batches(stale, CHUNKS_AT_ONCE if ports.chat else CHUNKS_WITHOUT_CALLS):
        written += _build_documents(work, units, {owner: digest for owner, digest, _ in batch})
        units.done += len(batch)
        units.tick()
    written += _build_collection(work, units)
    units.done += 1
    units.tick()
    return StageOutcome(written=written)


def is_missed(workspace_id: UUID, fingerprint: str) -> bool:
    """Whether new vectors have no tree yet, and no earlier refresh failed.

    The writer of the summaries does not matter: a change of model alone starts nothing.
    """
    values = {"workspace": workspace_id, "fingerprint": fingerprint, "writer": None}
    with access.in_workspace(workspace_id), bulk_plans():
        [(may,)] = run_sql(sql.MAY_REFRESH, values)
        if not may or _is_embedding(workspace_id):
            return False
        if run_sql(sql.STALE_DOCUMENTS, values):
            return True
        roots = run_sql(sql.ROOTS, values)
        return _is_stale(workspace_id, roots, leaves_digest(roots, fingerprint), None)


def batches(
    stale: Sequence[tuple[UUID, str, int]], most: int
) -> Iterator[list[tuple[UUID, str, int]]]:
    """Documents in order, in batches of at most ``most`` chunks unless one alone has more."""
    batch: list[tuple[UUID, str, int]] = []
    for one in stale:
        if batch and sum(chunks for _, _, chunks in batch) + one[2] > most:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def _build_documents(work: _Work, units: Units, digests: dict[UUID, str]) -> int:
    """Build and save the trees of some documents; return how many nodes were made."""
    trees = _load(work, digests)
    grow(trees, work.writer, work.embedder, units, work)
    return sum(_save(work, tree) for tree in trees)


def _load(work: _Work, digests: dict[UUID, str]) -> list[Tree]:
    values = {
        **work.values,
        "documents": list(digests),
        "chunks": [],
        "nodes": [],
        "collection": False,
    }
    leaves: defaultdict[UUID, list[tuple[Item, Vectors]]] = defaultdict(list)
    known: defaultdict[UUID, Known] = defaultdict(dict)
    with access.in_workspace(work.workspace_id):
        for document, item, vector in rows.chunk_items(values):
            leaves[document].append((item, vector))
        for owner, node in rows.stored_nodes(values):
            if owner and work.is_current(node):
                known[owner][node.digest] = node.summary, node.vector
        layouts = rows.layouts(values)
    return [
        Tree(
            document,
            document,
            digests[document],
            *apart(items),
            known[document],
            layouts.get(document, Layout()),
        )
        for document, items in leaves.items()
        if len(items) > 1
    ]


def _save(work: _Work, tree: Tree) -> int:
    fingerprint = work.embedder.fingerprint
    with access.in_workspace(work.workspace_id):
        is_saved = rows.save(
            work.workspace_id, tree, writer=work.writer.key, fingerprint=fingerprint
        )
    return sum(node.draft.digest not in tree.known for node in tree.nodes) if is_saved else 0


def _build_collection(work: _Work, units: Units) -> int:
    """The tree over the documents' roots, once no vectors are being made."""
    workspace_id, fingerprint = work.workspace_id, work.embedder.fingerprint
    with access.in_workspace(workspace_id), bulk_plans():
        if _is_embedding(workspace_id):
            return 0
        roots = run_sql(sql.ROOTS, work.values)
        digest = leaves_digest(roots, fingerprint)
        if not _is_stale(workspace_id, roots, digest, work.writer.key):
            return 0
        if len(roots) < 2:
            run_sql(sql.FORGET_COLLECTION, work.values)
            return 0
        tree = _load_collection(work, roots, digest)
    units.hold()
    grow([tree], work.writer, work.embedder, units, work)
    return _save(work, tree)


def _load_collection(work: _Work, roots: Sequence[Row], digest: str) -> Tree:
    chunks = [id_ for id_, is_chunk, *_ in roots if is_chunk]
    nodes = [id_ for id_, is_chunk, *_ in roots if not is_chunk]
    values = {**work.values, "documents": [], "chunks": chunks}
    items = {item.id: item for item in rows.leaf_items(values)}
    known: Known = {}
    of_documents: dict[UUID, Vectors] = {}
    for document, node in rows.stored_nodes({**values, "nodes": nodes, "collection": True}):
        if document:
            items[node.item.id] = node.item
            of_documents[node.item.id] = node.vector
        elif work.is_current(node):
            known[node.digest] = node.summary, node.vector
    leaves = [items[row[0]] for row in roots if row[0] in items]
    vectors = rows.LeafVectors(values, [leaf.id for leaf in leaves], of_documents)
    layout = rows.layouts({**values, "collection": True}).get(None, Layout())
    return Tree(work.workspace_id, None, digest, leaves, vectors, known, layout)


def leaves_digest(roots: Sequence[Row], fingerprint: str) -> str:
    """Digest of the leaves of the tree over all documents, regardless of their order."""
    identities = sorted(str(identity) for _, _, identity, *_ in roots)
    return sha256("\n".join([*identities, fingerprint]).encode()).hexdigest()


def _is_stale(workspace_id: UUID, roots: Sequence[Row], digest: str, writer: str | None) -> bool:
    stored = run_sql(sql.COLLECTION, {"workspace": workspace_id})
    if len(roots) < 2 or not stored:
        return bool(stored) or len(roots) > 1
    [(known, wrote, linked)] = stored
    is_other_writer = writer is not None and wrote != writer[:160]
    return known != digest or linked < len(roots) or is_other_writer


def _is_embedding(workspace_id: UUID) -> bool:
    [(is_coming,)] = run_sql(sql.VECTORS_ARE_COMING, {"workspace": workspace_id})
    return bool(is_coming)
