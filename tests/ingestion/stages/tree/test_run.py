from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Document,
    IngestionJob,
    RunState,
    StageRun,
    SummaryNode,
)
from ingestion.pipeline import runner
from ingestion.stage import Progress
from ingestion.stages import tree
from kb_project.llm.fake import FakeEmbedder
from tests import rows
from tests.ingestion import jobs
from tests.ingestion.stages.tree.texts import (
    EMBEDDER,
    edges,
    make_document,
    nodes,
    run,
    text_of,
    tree_of,
)
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def assert_is_tree(workspace: Workspace, document: Document) -> None:
    """One root, every chunk below it, every node but the root with a parent."""
    found = nodes(workspace, document)
    links = [edge for edge in edges(workspace) if edge.parent.document_id == document.pk]
    children = {edge.node_id or edge.chunk_id for edge in links}
    roots = [node.pk for node in found if node.pk not in children]
    assert roots == [tree_of(workspace, document).root_id]
    assert {chunk.pk for chunk in rows.chunks_of(document)} <= children
    assert {edge.parent_id for edge in links} == {node.pk for node in found}
    assert all(0 < edge.probability <= 1 for edge in links)


@pytest.mark.parametrize("number", [2, 3, 11, 14])
def test_a_document_of_any_length_has_one_root_over_all_its_chunks(
    workspace: Workspace, number: int
):
    document = make_document(workspace, "Log", number)

    run(workspace)

    assert_is_tree(workspace, document)


@pytest.mark.parametrize("number", [0, 1])
def test_a_document_of_one_chunk_or_none_needs_no_tree(workspace: Workspace, number: int):
    make_document(workspace, "Log", number)

    assert run(workspace).written == 0
    assert edges(workspace) == []


def test_long_chunks_make_several_layers(workspace: Workspace):
    document = make_document(workspace, "Log", 12, words=180)
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).update(tokens=1_500)

    run(workspace)

    assert_is_tree(workspace, document)
    assert max(node.layer for node in nodes(workspace, document)) >= 2
    assert tree_of(workspace, document).nodes == len(nodes(workspace, document))


def test_every_sentence_of_an_extractive_summary_has_its_place(workspace: Workspace):
    document = make_document(workspace, "Log", 14)

    run(workspace)

    for node in nodes(workspace, document):
        assert node.written_by == "extractive"
        assert node.sources
        assert " ".join(text_of(workspace, source) for source in node.sources) == node.text
        assert 0 < node.tokens <= 200


def test_documents_roots_have_a_tree_of_their_own(workspace: Workspace):
    long, short = make_document(workspace, "Log", 4), make_document(workspace, "Note", 1)

    run(workspace)

    [root] = nodes(workspace, None)
    children = {edge.node_id or edge.chunk_id for edge in edges(workspace)
                if edge.parent_id == root.pk}  # fmt: skip
    assert children == {tree_of(workspace, long).root_id, rows.chunks_of(short)[0].pk}
    assert tree_of(workspace, None).root_id == root.pk


def test_a_second_run_writes_nothing(workspace: Workspace):
    for title, number in (("Log", 14), ("Book", 5), ("Note", 1)):
        make_document(workspace, title, number)
    run(workspace)
    before = {edge.pk for edge in edges(workspace)}

    assert run(workspace).written == 0
    assert {edge.pk for edge in edges(workspace)} == before
    assert not tree.is_missed(workspace.pk, EMBEDDER.fingerprint)


def test_a_refresh_that_has_yet_to_come_to_its_trees_misses_none(workspace: Workspace):
    make_document(workspace, "Log", 5)
    runner.request_refresh(workspace.pk)
    [refresh] = jobs.refreshes(workspace)
    with access.in_workspace(workspace.pk):
        own = IngestionJob.objects.in_workspace(workspace).filter(pk=refresh.pk)
        own.update(state=RunState.RUNNING)

    assert not tree.is_missed(workspace.pk, EMBEDDER.fingerprint)
    with access.in_workspace(workspace.pk):
        stages = StageRun.objects.in_workspace(workspace).filter(job=refresh, stage="tree")
        stages.update(state=RunState.RUNNING)
    assert tree.is_missed(workspace.pk, EMBEDDER.fingerprint)


def test_only_what_stands_above_a_new_document_is_made_again(workspace: Workspace):
    log = make_document(workspace, "Log", 5)
    run(workspace)
    before = nodes(workspace, log)
    make_document(workspace, "Book", 5)

    assert tree.is_missed(workspace.pk, EMBEDDER.fingerprint)
    assert run(workspace).written == 2  # the book's root, and the root over both
    assert [(n.pk, n.created_at) for n in nodes(workspace, log)] == [
        (n.pk, n.created_at) for n in before
    ]


def test_an_edited_passage_changes_only_the_nodes_above_it(workspace: Workspace):
    document = make_document(workspace, "Log", 14, words=180)
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).update(tokens=1_500)
    run(workspace)
    before = {node.pk for node in nodes(workspace, document)}
    edited = rows.chunks_of(document)[6]
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(pk=edited.pk).delete()
        edited.pk, edited.text = uuid4(), f"{edited.text} The lamp was lit again."
        Chunk.objects.bulk_create([edited])
    rows.embed_chunks(workspace, [edited], EMBEDDER)

    run(workspace)

    after = {node.pk for node in nodes(workspace, document)}
    layers = tree_of(workspace, document).layers
    assert len(after) == len(before)
    assert 0 < len(after - before) <= layers + 1 < len(after)
    assert_is_tree(workspace, document)


def test_ids_survive_a_chunk_that_is_written_anew(workspace: Workspace):
    document = make_document(workspace, "Log", 14)
    make_document(workspace, "Note", 1)
    run(workspace)
    before = [node.pk for node in [*nodes(workspace, document), *nodes(workspace, None)]]
    chunks = rows.chunks_of(document)
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(document=document).delete()
        Chunk.objects.bulk_create(chunks)
    rows.embed_chunks(workspace, chunks, EMBEDDER)

    assert tree.is_missed(workspace.pk, EMBEDDER.fingerprint)
    run(workspace)

    assert [n.pk for n in [*nodes(workspace, document), *nodes(workspace, None)]] == before
    assert_is_tree(workspace, document)
    assert not tree.is_missed(workspace.pk, EMBEDDER.fingerprint)


def test_a_document_waits_for_the_last_of_its_vectors(workspace: Workspace):
    document = make_document(workspace, "Log", 4)
    chunks = rows.chunks_of(document)
    with access.in_workspace(workspace.pk):
        ChunkEmbedding.objects.in_workspace(workspace).filter(chunk=chunks[0]).delete()

    run(workspace)

    assert nodes(workspace, document) == []
    assert not tree.is_missed(workspace.pk, EMBEDDER.fingerprint)
    rows.embed_chunks(workspace, chunks[:1], EMBEDDER)
    assert tree.is_missed(workspace.pk, EMBEDDER.fingerprint)
    run(workspace)
    assert_is_tree(workspace, document)


def test_the_tree_over_all_documents_waits_until_no_vectors_are_made(workspace: Workspace):
    log = make_document(workspace, "Log", 4)
    make_document(workspace, "Note", 1)
    jobs.add(workspace)

    run(workspace)

    assert len(nodes(workspace, log)) == 1
    assert nodes(workspace, None) == []
    assert not tree.is_missed(workspace.pk, EMBEDDER.fingerprint)


def test_a_deleted_document_leaves_the_tree_over_all(workspace: Workspace):
    log, book, note = (make_document(workspace, t, 4) for t in ("Log", "Book", "Note"))
    run(workspace)
    with access.in_workspace(workspace.pk):
        Document.objects.in_workspace(workspace).filter(pk=note.pk).delete()

    run(workspace)

    [root] = nodes(workspace, None)
    assert {edge.node_id for edge in edges(workspace) if edge.parent_id == root.pk} == {
        tree_of(workspace, log).root_id,
        tree_of(workspace, book).root_id,
    }
    with access.in_workspace(workspace.pk):
        Document.objects.in_workspace(workspace).exclude(pk=log.pk).delete()
    run(workspace)
    assert (nodes(workspace, None), tree_of(workspace, None)) == ([], None)


def test_a_document_that_shrank_to_one_chunk_loses_its_tree(workspace: Workspace):
    document = make_document(workspace, "Log", 4)
    run(workspace)
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(ordinal__gt=0).delete()

    run(workspace)

    assert (nodes(workspace, document), tree_of(workspace, document)) == ([], None)


def test_another_model_s_vectors_make_another_tree(workspace: Workspace):
    document = make_document(workspace, "Log", 4)
    run(workspace)
    other = FakeEmbedder(16)
    rows.embed_chunks(workspace, rows.chunks_of(document), other)

    run(workspace, embedder=other)

    assert {node.fingerprint for node in nodes(workspace, document)} == {other.fingerprint}


def test_what_was_saved_before_an_interruption_is_not_made_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tree, "CHUNKS_WITHOUT_CALLS", 4)
    for title in ("Log", "Book", "Note"):
        make_document(workspace, title, 4)

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        run(workspace, progress=Progress(report=stop))

    assert run(workspace).written == 2  # the third document's root, and the one over all


def test_another_workspace_is_neither_read_nor_written(workspace: Workspace):
    other = rows.make_workspace("Elsewhere")
    make_document(other, "Log", 4)
    run(other)
    before = edges(other)

    assert run(workspace).written == 0
    assert [edge.pk for edge in edges(other)] == [edge.pk for edge in before]


def test_nothing_is_open_while_vectors_are_made(workspace: Workspace):
    make_document(workspace, "Log", 4)
    depths = []

    class Watching(FakeEmbedder):
        def embed_passages(self, texts):
            depths.append(access._inside.get())
            return super().embed_passages(texts)

    run(workspace, embedder=Watching(32))

    assert depths == [None]


def test_a_leaf_deleted_meanwhile_leaves_everything_as_it_was(workspace: Workspace):
    document = make_document(workspace, "Log", 4)

    class Deleting(FakeEmbedder):
        def embed_passages(self, texts):
            with access.in_workspace(workspace.pk):
                Document.objects.in_workspace(workspace).filter(pk=document.pk).delete()
            return super().embed_passages(texts)

    assert run(workspace, embedder=Deleting(32)).written == 0
    with access.in_workspace(workspace.pk):
        assert not SummaryNode.objects.in_workspace(workspace).exists()
