"""Long layers are kept while they are written: what was done is found again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from ingestion.models import Document, SummaryEdge, SummaryLayout, SummaryNode, SummaryTree
from ingestion.pipeline.turns import TurnOverError
from ingestion.stage import Progress
from ingestion.stages import tree
from ingestion.stages.tree import growth
from ingestion.stages.tree.writing import ExtractiveWriter
from kb_project.llm.fake import FakeEmbedder
from tests import rows
from tests.ingestion.stages.tree.texts import EMBEDDER, edges, make_document, nodes, run, tree_of
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
DOCUMENTS = 40


@pytest.fixture(autouse=True)
def _every_layer_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "LONG_LAYER", 0)
    monkeypatch.setattr(tree, "writer_for", lambda _chat: ExtractiveWriter(at_once=2))


@pytest.fixture
def workspace() -> Workspace:
    """Documents of one passage: all of their tree is the one over all of them."""
    workspace = rows.make_workspace()
    for number in range(DOCUMENTS):
        make_document(workspace, f"Log {number}", 1, words=1 + number % 3)
    return workspace


class Counting(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__(EMBEDDER.dimension)
        self.texts: list[str] = []

    def embed_passages(self, texts: Any) -> Any:
        self.texts += texts
        return super().embed_passages(texts)


def stopping(after: int) -> Progress:
    """End at so many summaries of long layers."""

    def stop(done: int, _total: int) -> None:
        if done >= after:
            raise InterruptedError

    return Progress(report=stop, holding=lambda _done, _total: None)


def links(workspace: Workspace) -> set[tuple[UUID, UUID, float]]:
    return {
        (edge.parent_id, edge.node_id or edge.chunk_id, edge.probability)
        for edge in edges(workspace)
    }


def forget(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        for model in (SummaryTree, SummaryEdge, SummaryNode, SummaryLayout):
            model.objects.in_workspace(workspace).delete()


def test_an_interrupted_layer_is_gone_on_with(workspace: Workspace):
    run(workspace)
    undisturbed = {node.pk for node in nodes(workspace, None)}, links(workspace)
    forget(workspace)

    with pytest.raises(InterruptedError):
        run(workspace, progress=stopping(4))
    kept = {node.pk for node in nodes(workspace, None)}
    embedder = Counting()
    run(workspace, embedder=embedder)

    assert len(kept) == 4
    assert len(embedder.texts) == len(undisturbed[0]) - 4
    assert ({node.pk for node in nodes(workspace, None)}, links(workspace)) == undisturbed
    assert tree_of(workspace, None).nodes == len(undisturbed[0])


def test_turns_that_end_as_soon_as_they_may_still_come_to_an_end(workspace: Workspace):
    def over(done: int, total: int) -> None:
        if done < total:
            raise TurnOverError

    turns = Progress(report=over, holding=lambda _done, _total: None)

    def ended() -> Iterator[bool]:
        for _ in range(DOCUMENTS):
            try:
                run(workspace, progress=turns)
            except TurnOverError:
                yield False
            else:
                yield True

    assert any(ended())
    assert tree_of(workspace, None) is not None
    assert links(workspace)


def test_the_old_tree_stands_until_the_new_one_is_complete(workspace: Workspace):
    run(workspace)
    before = tree_of(workspace, None)
    for number in range(DOCUMENTS):
        make_document(workspace, f"Book {number}", 1, words=2)

    with pytest.raises(InterruptedError):
        run(workspace, progress=stopping(2))

    during = tree_of(workspace, None)
    assert during.root_id == before.root_id
    assert during.nodes == before.nodes + 2 == len(nodes(workspace, None))
    run(workspace)
    assert tree_of(workspace, None).nodes == len(nodes(workspace, None))


def test_progress_counts_the_summaries_of_a_long_layer(workspace: Workspace):
    told: list[tuple[int, int]] = []

    run(workspace, progress=Progress(lambda done, total: told.append((done, total))))

    assert told == sorted(told)
    assert told[0] == (0, 1)
    assert told[-1][0] == told[-1][1] == len(nodes(workspace, None)) + 1


def test_edges_that_stay_are_not_written_again(workspace: Workspace):
    run(workspace)
    before = {edge.pk for edge in edges(workspace)}
    make_document(workspace, "One more", 1)

    run(workspace)

    new = {edge.parent_id for edge in edges(workspace) if edge.pk not in before}
    assert 0 < len(new) < len(nodes(workspace, None)) / 2


def test_nothing_is_kept_above_a_leaf_that_is_gone(workspace: Workspace):
    class Deleting(FakeEmbedder):
        def embed_passages(self, texts):
            with access.in_workspace(workspace.pk):
                Document.objects.in_workspace(workspace).delete()
            return super().embed_passages(texts)

    assert run(workspace, embedder=Deleting(EMBEDDER.dimension)).written == 0
    assert not nodes(workspace, None)
