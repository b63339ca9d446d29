from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.models import SummaryEdge, SummaryNode, SummaryTree
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import services, tree
from retrieval.search.query import QuestionVector
from retrieval.search.results import RecordKind
from retrieval.search.scope import Scope
from retrieval.search.tree import Node, collapsed, titled
from tests import rows
from workspaces import access

EMBEDDER = FakeEmbedder()
QUESTION = "Who keeps the lamp of the light?"
KEEPING = "Ada Lind keeps the lamp of the Skarrow light.\n\nOil for the lamp comes by boat."
ROADS = "The road to the quarry is closed.\n\nMasons mend the road in May."

pytestmark = pytest.mark.django_db


def search(workspace, question=QUESTION, mode="tree", *, top_k=4, scope=None):
    return services.search(
        workspace=workspace,
        question=question,
        mode=mode,
        top_k=top_k,
        scope=scope,
        vector=QuestionVector(EMBEDDER, question),
    )


def make_node(workspace, text, children, *, document=None, layer=1, embedder=EMBEDDER):
    """A summary over passages or other summaries."""
    with access.in_workspace(workspace.pk):
        node = SummaryNode.objects.create(
            workspace=workspace,
            document=document,
            layer=layer,
            digest=text[:64],
            text=text,
            tokens=len(text) // 4 + 1,
            fingerprint=embedder.fingerprint,
            vector=embedder.embed_passages([text])[0].tolist(),
        )
        for child in children:
            kind = "node" if isinstance(child, SummaryNode) else "chunk"
            SummaryEdge.objects.create(workspace=workspace, parent=node, **{kind: child})
    return node


def make_tree(workspace, root, *, nodes=1, document=None, embedder=EMBEDDER):
    with access.in_workspace(workspace.pk):
        SummaryTree.objects.create(
            workspace=workspace,
            document=document,
            root=root,
            digest="d",
            writer="extractive",
            fingerprint=embedder.fingerprint,
            layers=root.layer,
            nodes=nodes,
        )


def summaries(result):
    return [one.text for one in result.found.records if one.kind == RecordKind.SUMMARY]


def codes(result):
    return [note.code for note in result.notes]


@pytest.fixture
def harbour():
    """Two documents of two passages, a summary of each, and one of both."""
    workspace = rows.make_workspace()
    keeping = rows.make_document(workspace, "Keeping", KEEPING, embedder=EMBEDDER)
    roads = rows.make_document(workspace, "Roads", ROADS, embedder=EMBEDDER)
    lamp = make_node(
        workspace, "The lamp of the light and its oil.", rows.chunks_of(keeping), document=keeping
    )
    road = make_node(workspace, "A road and its masons.", rows.chunks_of(roads), document=roads)
    whole = make_node(workspace, "Of boats, of a road and of a light.", [lamp, road], layer=2)
    make_tree(workspace, lamp, document=keeping)
    make_tree(workspace, road, document=roads)
    make_tree(workspace, whole, nodes=3)
    return workspace, keeping, roads


def test_summaries_and_passages_are_compared_together(harbour):
    workspace, keeping, _ = harbour

    result = search(workspace)

    assert summaries(result)[0] == "The lamp of the light and its oil."
    assert result.hits[0].document_id == keeping.pk
    assert result.mode.name == "tree"


def test_a_summary_rests_on_its_passages_the_nearest_first(harbour):
    workspace, keeping, _ = harbour

    record = search(workspace).found.records[0]

    assert record.sources == tuple(chunk.pk for chunk in rows.chunks_of(keeping))


def test_a_summary_that_is_taken_raises_its_passages(harbour):
    workspace, keeping, _ = harbour

    hits = {hit.chunk_id: hit for hit in search(workspace).hits}

    oil = rows.chunks_of(keeping)[1]
    assert hits[oil.pk].why[1] == "Part of the summary “The lamp of the light and its oil.”"


@pytest.mark.parametrize("mode", ["tree", "traverse"])
def test_a_summary_that_rests_on_other_documents_stays_outside_the_scope(harbour, mode):
    workspace, keeping, _ = harbour

    result = search(workspace, mode=mode, scope=Scope(documents=(keeping.pk,)))

    assert summaries(result) == ["The lamp of the light and its oil."]
    assert {hit.document_id for hit in result.hits} == {keeping.pk}


@pytest.mark.parametrize("mode", ["tree", "traverse"])
def test_a_summary_over_all_of_the_scope_is_inside(harbour, mode):
    workspace, keeping, roads = harbour

    result = search(workspace, mode=mode, scope=Scope(documents=(keeping.pk, roads.pk)))

    assert "Of boats, of a road and of a light." in summaries(result)


@pytest.mark.parametrize("mode", ["tree", "traverse"])
def test_without_a_tree_meaning_and_words_are_searched_and_said_so(mode):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keeping", KEEPING, embedder=EMBEDDER)

    result = search(workspace, mode=mode)

    assert result.mode.name == "hybrid"
    assert codes(result) == ["tree_pending"]
    assert len(result.hits) == 2


@pytest.mark.parametrize("mode", ["tree", "traverse"])
def test_a_single_passage_needs_no_tree(mode):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Oil", "Oil for the lamp comes by boat.", embedder=EMBEDDER)

    result = search(workspace, mode=mode)

    assert (result.mode.name, codes(result), len(result.hits)) == (mode, [], 1)


@pytest.mark.parametrize("mode", ["tree", "traverse"])
def test_a_tree_of_one_summary(mode):
    workspace = rows.make_workspace()
    keeping = rows.make_document(workspace, "Keeping", KEEPING, embedder=EMBEDDER)
    root = make_node(workspace, "The lamp.", rows.chunks_of(keeping), document=keeping)
    make_tree(workspace, root, document=keeping)

    result = search(workspace, mode=mode)

    assert summaries(result) == ["The lamp."]
    assert len(result.hits) == 2


@pytest.mark.parametrize("mode", ["tree", "traverse"])
def test_summaries_of_another_models_vectors_are_not_compared(harbour, mode):
    workspace, *_ = harbour
    other = FakeEmbedder(32)

    result = services.search(
        workspace=workspace,
        question=QUESTION,
        mode=mode,
        top_k=4,
        vector=QuestionVector(other, QUESTION),
    )

    assert result.mode.name == "hybrid"
    assert "tree_pending" in codes(result)
    assert not result.found.records


def test_a_descent_opens_the_nearest_summaries_of_each_layer(harbour):
    workspace, keeping, _ = harbour

    result = search(workspace, mode="traverse")

    assert result.mode.name == "traverse"
    assert set(summaries(result)) == {
        "The lamp of the light and its oil.",
        "Of boats, of a road and of a light.",
        "A road and its masons.",
    }
    assert result.hits[0].document_id == keeping.pk


def test_a_descent_that_meets_too_few_passages_goes_on_with_what_is_near(harbour):
    workspace, *_ = harbour
    rows.make_document(workspace, "Late", "The lamp was lit late.", embedder=EMBEDDER)

    titles = [hit.title for hit in search(workspace, mode="traverse", top_k=5).hits]

    assert len(titles) == 5
    assert titles[-1] == "Late"


def test_only_as_many_nodes_as_are_asked_for_within_their_tokens():
    def node(number, tokens):
        return Node(uuid4(), is_chunk=True, cosine=1 - number / 10, tokens=tokens, text="")

    assert len(collapsed([node(i, 10) for i in range(9)], 3)) == 3
    assert len(collapsed([node(0, 600), node(1, 200)], 2)) == 1
    assert len(collapsed([node(0, 9_000)], 1)) == 1
    assert collapsed([], 3) == []


def test_a_summarys_title_ends_at_a_word():
    assert titled("short") == "short"
    assert titled("灯塔" * 50) == "灯塔" * 30 + "…"
    assert len(titled("word " * 50)) <= tree.SHOWN
