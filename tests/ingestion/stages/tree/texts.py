"""Documents whose chunks fall into subjects, and a run of the stage over them."""

from __future__ import annotations

from ingestion.models import (
    Chunk,
    Document,
    IngestionJob,
    JobKind,
    SummaryEdge,
    SummaryNode,
    SummaryTree,
)
from ingestion.stage import NO_PROGRESS, Progress, StageOutcome
from ingestion.stages import tree
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import ChatModel, Embedder
from kb_project.ports import Ports
from tests import rows
from tests.memory_graph import MemoryGraphStore
from workspaces import access
from workspaces.models import Workspace

EMBEDDER = FakeEmbedder(32)
SUBJECTS = (
    "The keeper of Skarrow lights the lamp and burns oil",
    "The harbour master counts ships and barrels at the quay",
    "The baker of the market street sells rye bread",
)


def paragraphs(number: int, *, words: int = 1) -> str:
    """So many paragraphs that take turns in their subject, each with sentences of its own."""
    return "\n\n".join(
        " ".join(
            f"{SUBJECTS[i % len(SUBJECTS)]} in year {1800 + i * words + k}." for k in range(words)
        )
        for i in range(number)
    )


def make_document(workspace: Workspace, title: str, number: int, *, words: int = 1) -> Document:
    text = paragraphs(number, words=words)
    return rows.make_document(workspace, title, text, embedder=EMBEDDER)


def run(
    workspace: Workspace,
    *,
    chat: ChatModel | None = None,
    embedder: Embedder = EMBEDDER,
    progress: Progress = NO_PROGRESS,
) -> StageOutcome:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    return tree.run(job, Ports(embedder=embedder, graph=MemoryGraphStore(), chat=chat), progress)


def nodes(workspace: Workspace, document: Document | None) -> list[SummaryNode]:
    with access.in_workspace(workspace.pk):
        found = SummaryNode.objects.in_workspace(workspace).filter(document=document)
        return list(found.order_by("layer", "id"))


def edges(workspace: Workspace) -> list[SummaryEdge]:
    with access.in_workspace(workspace.pk):
        return list(SummaryEdge.objects.in_workspace(workspace).select_related("parent"))


def tree_of(workspace: Workspace, document: Document | None) -> SummaryTree | None:
    with access.in_workspace(workspace.pk):
        return SummaryTree.objects.in_workspace(workspace).filter(document=document).first()


def text_of(workspace: Workspace, source: dict[str, object]) -> str:
    with access.in_workspace(workspace.pk):
        chunk = Chunk.objects.in_workspace(workspace).get(pk=source["chunk"])
    start, end = int(str(source["start"])), int(str(source["end"]))
    assert chunk.start <= start < end <= chunk.end
    return chunk.text[start - chunk.start : end - chunk.start]
