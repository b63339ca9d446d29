from __future__ import annotations

import numpy as np
import pytest

from ingestion.documents import archive
from ingestion.models import Cell, CellIndex, ChunkEmbedding, Document
from ingestion.stage import NO_PROGRESS, Progress
from ingestion.stages import cells
from ingestion.vectors import chunks
from kb_project.llm.fake import FakeEmbedder
from kb_project.sql import run_sql
from retrieval.search import dense
from retrieval.search.query import Query, QuestionVector
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

EMBEDDER = FakeEmbedder()
KEEPERS = ("Ada Lind", "Bo Strand", "Cora Vik", "Dag Holm")
TEXTS = [
    "\n\n".join(f"{keeper} wrote {n} letters about lamp {n * 7 % 50}." for n in range(60))
    for keeper in KEEPERS
]
COUNT = len(KEEPERS) * 60


@pytest.fixture(autouse=True)
def large_from_two_hundred_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "SMALLEST", 200)
    monkeypatch.setattr(cells, "AT_ONCE", 50)


@pytest.fixture
def workspace() -> Workspace:
    made = rows.make_workspace()
    for keeper, text in zip(KEEPERS, TEXTS, strict=True):
        rows.make_document(made, keeper, text, embedder=EMBEDDER)
    return made


def renew(workspace: Workspace, progress: Progress = NO_PROGRESS) -> int:
    return cells.renew(workspace.pk, EMBEDDER, progress)


def found(workspace: Workspace, question: str, count: int = 10) -> list[object]:
    query = Query(workspace.pk, question, count, QuestionVector(EMBEDDER, question))
    with access.in_workspace(workspace.pk):
        return [chunk_id for chunk_id, _ in dense.nearest(query, count)]


def without_cell(workspace: Workspace) -> int:
    with access.in_workspace(workspace.pk):
        [(count,)] = run_sql(
            "SELECT count(*) FROM ingestion_chunkembedding WHERE workspace_id = %s"
            " AND cell IS NULL",
            [workspace.pk],
        )
    return int(count)


def index_of(workspace: Workspace) -> CellIndex | None:
    with access.in_workspace(workspace.pk):
        return CellIndex.objects.in_workspace(workspace).first()


def test_a_small_workspace_has_no_cells(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cells, "SMALLEST", COUNT + 1)

    assert renew(workspace) == 0
    assert index_of(workspace) is None
    assert without_cell(workspace) == COUNT


def test_in_a_large_one_a_search_reads_few_cells_and_finds_what_comparing_all_finds(
    workspace: Workspace,
):
    questions = [f"What did {keeper} write about lamp {n}?" for keeper in KEEPERS for n in (7, 21)]
    exact = [found(workspace, question) for question in questions]

    assert renew(workspace) == COUNT
    index = index_of(workspace)
    assert index is not None
    assert index.probes is not None
    assert index.recall is not None
    with access.in_workspace(workspace.pk):
        assert 0 < index.probes <= Cell.objects.in_workspace(workspace).count()
    assert index.recall >= cells.RECALL
    assert without_cell(workspace) == 0
    shared = [
        len(set(before) & set(found(workspace, question))) / len(before)
        for before, question in zip(exact, questions, strict=True)
    ]
    assert np.mean(shared) >= 0.9


def test_only_the_cells_near_the_question_are_read(workspace: Workspace):
    renew(workspace)
    with access.in_workspace(workspace.pk):
        CellIndex.objects.in_workspace(workspace).update(probes=1)
        [(most,)] = run_sql(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM ingestion_chunkembedding"
            " WHERE workspace_id = %s GROUP BY cell) AS counted",
            [workspace.pk],
        )

    assert 0 < len(found(workspace, "Ada Lind", COUNT)) <= most


def test_all_are_compared_until_it_is_known_how_many_cells_to_read(workspace: Workspace):
    renew(workspace)
    with access.in_workspace(workspace.pk):
        CellIndex.objects.in_workspace(workspace).update(probes=None)

    assert len(found(workspace, "Ada Lind", COUNT)) == COUNT


def test_a_scope_is_searched_as_a_whole(workspace: Workspace):
    renew(workspace)
    with access.in_workspace(workspace.pk):
        CellIndex.objects.in_workspace(workspace).update(probes=1)
        document = Document.objects.in_workspace(workspace).get(title="Bo Strand")
        query = Query(
            workspace.pk,
            "Ada Lind",
            COUNT,
            QuestionVector(EMBEDDER, "Ada Lind"),
            documents=(document.pk,),
        )
        assert len(dense.nearest(query, COUNT)) == COUNT / len(KEEPERS)


def test_a_new_passage_goes_into_a_cell_with_its_vector(workspace: Workspace):
    renew(workspace)
    document = rows.make_document(workspace, "New", "Finn Dahl sold the boat.")
    chunks.make(workspace.pk, list(rows.chunks_of(document)), EMBEDDER)

    assert without_cell(workspace) == 0
    assert found(workspace, "Finn Dahl sold the boat.", 1) == [
        chunk.pk for chunk in rows.chunks_of(document)
    ]


def test_a_document_that_comes_back_is_found_before_it_has_a_cell(workspace: Workspace):
    renew(workspace)
    with access.in_workspace(workspace.pk):
        document = Document.objects.in_workspace(workspace).get(title="Ada Lind")
        here = {chunk.pk for chunk in rows.chunks_of(document)}
        archive.put(workspace.pk, [document.pk])
        archive.restore(workspace.pk, [document.pk])
        CellIndex.objects.in_workspace(workspace).update(probes=1)

    assert without_cell(workspace) == len(here)
    assert here <= set(found(workspace, "A quarry", COUNT))
    assert renew(workspace) == len(here)
    assert without_cell(workspace) == 0


def test_stopped_in_the_middle_it_goes_on_and_nothing_is_missed_meanwhile(workspace: Workspace):
    class StoppedError(Exception):
        pass

    def stop(done: int, _total: int) -> None:
        if done >= 100:
            raise StoppedError

    with pytest.raises(StoppedError):
        renew(workspace, Progress(report=stop))

    assert without_cell(workspace) == COUNT - 100
    assert len(found(workspace, "Ada Lind", COUNT)) == COUNT
    assert renew(workspace) == COUNT - 100
    index = index_of(workspace)
    assert index is not None
    assert index.probes is not None


def test_cells_are_made_anew_when_there_are_many_times_more_vectors(workspace: Workspace):
    renew(workspace)
    with access.in_workspace(workspace.pk):
        CellIndex.objects.in_workspace(workspace).update(vectors=COUNT // (cells.GROWN + 1))

    assert renew(workspace) == COUNT
    index = index_of(workspace)
    assert index is not None
    assert index.vectors == COUNT


def test_cells_go_when_few_vectors_are_left(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    renew(workspace)
    monkeypatch.setattr(cells, "SMALLEST", 3 * COUNT)

    renew(workspace)

    assert index_of(workspace) is None
    assert without_cell(workspace) == COUNT
    assert len(found(workspace, "Ada Lind", COUNT)) == COUNT


def test_another_workspace_has_no_part_in_it(workspace: Workspace):
    other = rows.make_workspace("Elsewhere")
    rows.make_document(other, "Ada Lind", TEXTS[0], embedder=EMBEDDER)
    renew(workspace)

    assert index_of(other) is None
    with access.in_workspace(other.pk):
        assert not Cell.objects.exists()
        assert ChunkEmbedding.objects.count() == 60
    assert len(found(other, "Ada Lind", COUNT)) == 60


def test_vectors_far_from_each_other_are_not_all_of_one_cell():
    """Their mean is near none of them, but nearer than any other centre, unless it is as long."""
    chance = np.random.default_rng(1)
    scattered = np.eye(64, dtype=np.float32)[0] + chance.normal(0, 0.3, (900, 64))
    gathered = np.eye(64)[1] + chance.normal(0, 0.01, (100, 64))
    vectors = np.vstack([scattered, gathered]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    centres = cells.centres_of(vectors, 40)

    assert len(centres) <= 40
    assert np.allclose(np.linalg.norm(centres, axis=1), 1, atol=1e-5)
    assert np.bincount(cells.nearest_centres(vectors, centres)).max() <= 150


def test_a_crowd_of_vectors_is_split_into_cells_and_lone_ones_keep_theirs():
    chance = np.random.default_rng(1)
    corners = np.eye(16, dtype=np.float32)
    crowd = corners[0] + chance.normal(0, 0.2, (600, 16))
    lone = np.repeat(corners[1:], 8, axis=0) + chance.normal(0, 0.01, (120, 16))
    vectors = np.vstack([crowd, lone]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    centres = cells.evened(vectors, corners)

    counts = np.bincount(cells.nearest_centres(vectors, centres), minlength=len(centres))
    assert counts.max() <= cells.FULL * 600 / 16 * 2
    assert all(any(np.array_equal(corner, centre) for centre in centres) for corner in corners[1:])


def test_vectors_that_are_all_the_same_stay_together():
    same = np.tile(np.eye(4, dtype=np.float32)[0], (100, 1))

    centres = cells.evened(same, np.eye(4, dtype=np.float32))

    assert np.bincount(cells.nearest_centres(same, centres)).max() == 100
