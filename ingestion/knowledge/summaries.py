"""Summaries of documents: their most central sentences, and the summary trees.

*In short* on a document's page are its most central sentences. A text and each of its parts begin
with what they are about. So of a long document these places are read, and without headings places
at equal distances: the amount read stays small for any length.

Summary trees summarise the passages of a document, layer by layer; the workspace has one over its
documents' roots.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, LiteralString
from uuid import UUID

import regex
from django.db.models import QuerySet

from ingestion.knowledge.spans import SourceSpan, spans_by_place
from ingestion.models import Chunk, Document, DocumentVersion, SummaryEdge, SummaryNode, SummaryTree
from kb_project.llm import vocabulary
from kb_project.sql import run_sql
from kb_project.text.central import Central, is_quotable
from kb_project.text.regions import Heading, from_json, is_front, main, outline, prose
from kb_project.text.statements import StatementKind, statements
from workspaces.models import Workspace

MOST_PARTS: Final = 8
"""Parts of a document whose beginnings are read."""
OPENING: Final = 2
"""Passages read at each place; the first may end soon after it."""
LATER: Final = 6
"""Sentences by which a part's beginning ranks below the top of its document."""
A_SENTENCE: Final = 150
"""Characters, approximately."""
SHORT: Final = 1_500
"""Characters. A shorter text is its own summary."""
SAMPLED: Final = 40
"""Passages, at equal distances, of which a document's key words are taken."""
END: Final = 2**31 - 1

_LABEL: Final = regex.compile(r"(?:Abstract|Summary|Overview|Introduction)[:.]?\s+(?=\p{Lu})")

# Passages of some documents between two offsets, the first few of each.
PASSAGES_FROM: Final[LiteralString] = """
SELECT w.number, c.id, c.start, c.text, c.regions::text, c.heading_path
  FROM unnest(%(documents)s::uuid[], %(starts)s::int[], %(ends)s::int[], %(counts)s::int[])
       WITH ORDINALITY AS w (document, a, b, count, number)
 CROSS JOIN LATERAL (
     SELECT id, start, text, regions, heading_path FROM ingestion_chunk
      WHERE workspace_id = %(workspace)s AND document_id = w.document
        AND "end" > w.a AND start < w.b
      ORDER BY ordinal LIMIT w.count) AS c
"""

# About so many passages of each document, at equal distances.
PASSAGES_SAMPLED: Final[LiteralString] = """
SELECT document_id, text, regions::text
  FROM (SELECT document_id, text, regions, ordinal,
               row_number() OVER (PARTITION BY document_id ORDER BY ordinal) AS place,
               count(*) OVER (PARTITION BY document_id) AS number
          FROM ingestion_chunk
         WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])) AS c
 WHERE place %% greatest(1, number / %(count)s) = 0
 ORDER BY document_id, ordinal
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The first ``count`` passages of a document between two offsets of its text.

    ``before`` is its penalty, in sentences.
    """

    document_id: UUID
    start: int = 0
    end: int = END
    count: int = OPENING
    before: float = 0.0


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence on one line; ``start`` and ``end`` are offsets in the document's text.

    ``place`` is roughly how many sentences rank higher because of their position.
    """

    text: str
    document_id: UUID
    chunk_id: UUID
    start: int
    end: int
    place: float


def in_short(*, workspace: Workspace, version: DocumentVersion, most: int = 4) -> list[SourceSpan]:
    """The most central sentences of a document, in order; none if it is short itself."""
    if len(version.text) < SHORT:
        return []
    headings = outline(version.headings, len(version.text), from_json(version.regions))
    found = sentences(workspace.pk, stretches(version.document_id, headings, len(version.text)))
    return [
        SourceSpan(version.document, one.chunk_id, one.start, one.end, one.text)
        for one in central(found, most)
    ]


def stretches(document_id: UUID, headings: Sequence[Heading], length: int) -> list[Stretch]:
    """Where a text of that length says what it is about."""
    parts = main(headings, MOST_PARTS)
    if len(parts) > 1:
        top = Stretch(document_id, end=parts[0].start)
        return [top, *(Stretch(document_id, one.start, one.end, before=LATER) for one in parts)]
    step = max(1, length // MOST_PARTS)
    top = Stretch(document_id, end=step)
    return [
        top,
        *(
            Stretch(document_id, start, start + step, before=start / A_SENTENCE)
            for start in range(step, length, step)
        ),
    ]


def sentences(workspace_id: UUID, wanted: Sequence[Stretch]) -> list[Quote]:
    """The prose of some disjoint stretches, in the order of their documents' texts."""
    values = {
        "workspace": workspace_id,
        "documents": [one.document_id for one in wanted],
        "starts": [one.start for one in wanted],
        "ends": [one.end for one in wanted],
        "counts": [one.count for one in wanted],
    }
    found = [
        quote
        for number, *passage in run_sql(PASSAGES_FROM, values)
        for quote in _quotes(wanted[number - 1], *passage)
    ]
    return sorted(found, key=lambda one: (one.document_id, one.start))


def key_words(workspace_id: UUID, documents: Sequence[UUID], most: int) -> dict[UUID, list[str]]:
    """The words that set each document apart from English; of a text without spaces, none."""
    values = {"workspace": workspace_id, "documents": list(documents), "count": SAMPLED}
    found: dict[UUID, list[str]] = defaultdict(list)
    for document, text, regions in run_sql(PASSAGES_SAMPLED, values):
        found[document].append(prose(text, from_json(json.loads(regions))))
    return {one: vocabulary.key_words("\n".join(said), most) for one, said in found.items()}


def central(quotes: Sequence[Quote], most: int) -> list[Quote]:
    """The most central of some sentences, in the order of their documents' texts."""
    return sorted(ranked(quotes, most), key=lambda one: (one.document_id, one.start))


def ranked(quotes: Sequence[Quote], most: int) -> list[Quote]:
    """The most central sentences, best first, without near duplicates."""
    kept = [one for one in quotes if is_quotable(one.text)] or quotes
    best = Central([one.text for one in kept], [one.place for one in kept]).best(most)
    return [kept[number] for number in best]


def _quotes(
    of: Stretch, chunk: UUID, begin: int, text: str, regions: str, path: Sequence[str]
) -> Iterator[Quote]:
    """The sentences of a passage within the stretch, without dedications and the like."""
    for one in statements(text, from_json(json.loads(regions))):
        start, above = begin + one.start, [title for _, title in one.path] or path
        if (
            one.kind == StatementKind.SENTENCE
            and of.start <= start < of.end
            and not any(map(is_front, above))
        ):
            label = _LABEL.match(text, one.start, one.end)
            start, sentence = (
                (begin + label.end(), _LABEL.sub("", one.said)) if label else (start, one.said)
            )
            place = of.before + (start - of.start) / A_SENTENCE
            yield Quote(sentence, of.document_id, chunk, start, begin + one.end, place)


# --- trees ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TreeChild:
    """What a node summarises: another node, or a passage with its place and number.

    ``document`` is the child's document: None for an inner node of the workspace's tree.
    """

    id: UUID
    kind: str
    probability: float
    document: Document | None
    start: int = 0
    end: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class TreeNode:
    """``sources`` are the quotes that an extractive summary consists of."""

    node: SummaryNode
    children: tuple[TreeChild, ...]
    sources: tuple[SourceSpan, ...]


@dataclass(slots=True)
class Branch:
    """A node below the parent to which it most probably belongs."""

    shown: TreeNode
    branches: list[Branch] = field(default_factory=list)
    passages: list[TreeChild] = field(default_factory=list)


def tree_get(*, workspace: Workspace, document: Document | None) -> SummaryTree | None:
    """The tree of a document or, without one, of the workspace.

    None if it was not built, or if a single passage needs none.
    """
    trees = SummaryTree.objects.in_workspace(workspace)
    return trees.filter(document=document).first()


def nodes_of(*, workspace: Workspace, tree: SummaryTree | None) -> QuerySet[SummaryNode]:
    """The nodes of a tree from the root down, layer by layer."""
    rows = SummaryNode.objects.in_workspace(workspace)
    if tree is None:
        return rows.none()
    of_tree = rows.filter(document=tree.document_id)
    return of_tree.defer("vector").order_by("-layer", "created_at", "id")


def tree_nodes(*, workspace: Workspace, nodes: Sequence[SummaryNode]) -> list[TreeNode]:
    """These nodes in their order, each with its children and sources, with four queries."""
    children = _children(workspace, nodes)
    wanted = [source for node in nodes for source in node.sources]
    spans = spans_by_place(workspace, wanted)
    return [TreeNode(node, tuple(children[node.pk]), _sources(node, spans)) for node in nodes]


def tree_shown(*, workspace: Workspace, document: Document) -> Branch | None:
    """The tree of a document as a page shows it: every node once, from the root down."""
    tree = tree_get(workspace=workspace, document=document)
    nodes = list(nodes_of(workspace=workspace, tree=tree))
    shown_nodes = tree_nodes(workspace=workspace, nodes=nodes)
    branches = {shown.node.pk: Branch(shown) for shown in shown_nodes}
    parents: dict[UUID, tuple[float, Branch]] = {}
    for branch in branches.values():
        for child in branch.shown.children:
            if child.id not in parents or child.probability > parents[child.id][0]:
                parents[child.id] = child.probability, branch
    for branch in branches.values():
        for child in branch.shown.children:
            if parents[child.id][1] is branch:
                _place(branch, child, branches)
    return branches.get(tree.root_id) if tree else None


def _place(branch: Branch, child: TreeChild, branches: Mapping[UUID, Branch]) -> None:
    if child.id in branches:
        branch.branches.append(branches[child.id])
    else:
        branch.passages.append(child)


def _children(
    workspace: Workspace, nodes: Sequence[SummaryNode]
) -> defaultdict[UUID, list[TreeChild]]:
    found: defaultdict[UUID, list[TreeChild]] = defaultdict(list)
    edges = list(
        SummaryEdge.objects.in_workspace(workspace)
        .filter(parent__in=[node.pk for node in nodes])
        .order_by("-probability", "id")
    )
    chunks = _chunks(workspace, edges)
    below = {edge.node_id for edge in edges if edge.node_id}
    # Children that are nodes of a document's tree.
    nodes_below = SummaryNode.objects.in_workspace(workspace).filter(
        pk__in=below, document__isnull=False
    )
    owners = {
        row.pk: row.document for row in nodes_below.select_related("document").defer("vector")
    }
    for edge in edges:
        chunk = chunks.get(edge.chunk_id) if edge.chunk_id else None
        if chunk:
            found[edge.parent_id].append(_passage(chunk, edge.probability))
        elif edge.node_id:
            owner = owners.get(edge.node_id)
            found[edge.parent_id].append(TreeChild(edge.node_id, "node", edge.probability, owner))
    return found


def _passage(chunk: Chunk, probability: float) -> TreeChild:
    return TreeChild(
        id=chunk.pk,
        kind="passage",
        probability=probability,
        document=chunk.document,
        start=chunk.start,
        end=chunk.end,
        number=chunk.ordinal + 1,
    )


def _chunks(workspace: Workspace, edges: Sequence[SummaryEdge]) -> dict[UUID, Chunk]:
    wanted = {edge.chunk_id for edge in edges if edge.chunk_id}
    rows = Chunk.objects.in_workspace(workspace).filter(pk__in=wanted)
    return {row.pk: row for row in rows.select_related("document").defer("text", "context")}


def _sources(
    node: SummaryNode, spans: Mapping[tuple[str, int, int], SourceSpan]
) -> tuple[SourceSpan, ...]:
    keys = [(source["chunk"], source["start"], source["end"]) for source in node.sources]
    return tuple(spans[key] for key in keys if key in spans)
