from __future__ import annotations

import pytest

from ingestion.models import WalkSnapshot
from kb_project.errors import UnavailableError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import walk
from retrieval.search.hybrid import INSTEAD
from retrieval.search.query import Query, QuestionVector
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db


def query_of(workspace):
    return Query(workspace.pk, "Who?", 5, QuestionVector(FakeEmbedder(), "Who?"))


def newest(query):
    with access.in_workspace(query.workspace_id):
        return walk.newest_index(query)


@pytest.fixture
def harbour():
    workspace = rows.make_workspace()
    document = rows.make_document(
        workspace, "Keepers", "Ada Lind keeps the light.", names={"Ada Lind": "PERSON"}
    )
    rows.make_snapshot(workspace)
    return workspace, document


def test_the_newest_graph_knows_the_passages_of_the_workspace(harbour):
    workspace, document = harbour
    query = query_of(workspace)

    index = newest(query)

    assert index is not None
    assert list(index.chunk_ids) == [chunk.pk for chunk in rows.chunks_of(document)]
    assert "ada lind" in index.entities_by_key
    assert query.notes == []


def test_a_graph_is_loaded_once_for_all_questions(harbour, django_assert_num_queries):
    workspace, _ = harbour
    first = newest(query_of(workspace))

    with access.in_workspace(workspace.pk), django_assert_num_queries(1):
        again = walk.newest_index(query_of(workspace))

    assert again is first


def test_a_renewed_graph_takes_the_place_of_the_one_in_memory(harbour):
    workspace, _ = harbour
    before = newest(query_of(workspace))
    added = rows.make_document(workspace, "Roads", "The road is closed.")
    rows.make_snapshot(workspace)

    after = newest(query_of(workspace))

    assert rows.chunks_of(added)[0].pk in after.chunk_ids
    assert rows.chunks_of(added)[0].pk not in before.chunk_ids


def test_where_no_graph_was_built_yet_a_note_says_what_was_done_instead():
    query = query_of(rows.make_workspace())

    assert newest(query) is None
    (note,) = query.notes
    assert note.code == "graph_pending"
    assert note.sentence.endswith(INSTEAD)


def test_a_graph_that_cannot_be_read_is_noted_and_read_again_once_it_is_whole(harbour):
    workspace, _ = harbour
    with access.in_workspace(workspace.pk):
        stored = WalkSnapshot.objects.in_workspace(workspace).get()
        whole = bytes(stored.payload)
        WalkSnapshot.objects.in_workspace(workspace).update(payload=b"torn")
    broken = query_of(workspace)

    assert newest(broken) is None
    assert [note.code for note in broken.notes] == ["snapshot_outdated"]

    with access.in_workspace(workspace.pk):
        WalkSnapshot.objects.in_workspace(workspace).update(payload=whole)
    mended = query_of(workspace)
    assert newest(mended) is not None
    assert mended.notes == []


def test_a_graph_renewed_between_two_reads_is_unavailable_for_a_moment(harbour):
    workspace, _ = harbour

    with access.in_workspace(workspace.pk), pytest.raises(UnavailableError) as gone:
        walk._load(workspace.pk, 10_000)

    assert gone.value.code == "snapshot_renewed"
    assert gone.value.next_step == "Ask again."


def test_a_graph_renewed_while_it_is_read_is_read_again(harbour, monkeypatch):
    workspace, _ = harbour
    read, numbers = walk._load, []

    def renewed_at_first(workspace_id, number):
        numbers.append(number)
        if len(numbers) == 1:
            rows.make_snapshot(workspace)
        return read(workspace_id, number)

    monkeypatch.setattr(walk, "_load", renewed_at_first)
    query = query_of(workspace)

    assert newest(query) is not None
    assert numbers == [numbers[0], numbers[0] + 1]
    assert query.notes == []


def test_a_large_graph_is_read_in_parts(harbour, monkeypatch):
    workspace, _ = harbour
    whole = newest(query_of(workspace)).to_bytes()
    with access.in_workspace(workspace.pk):
        number = WalkSnapshot.objects.in_workspace(workspace).get().number
        for part in (1_000, len(whole), len(whole) + 1):
            monkeypatch.setattr(walk, "PART", part)

            assert walk._load(workspace.pk, number).to_bytes() == whole


def test_the_graph_of_another_workspace_is_never_walked(harbour):
    stranger = query_of(rows.make_workspace("Elsewhere"))

    assert newest(stranger) is None
