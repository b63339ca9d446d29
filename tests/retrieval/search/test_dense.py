from __future__ import annotations

import pytest

from kb_project.llm.fake import FakeEmbedder
from retrieval.search import dense
from retrieval.search.query import Query, QuestionVector
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

EMBEDDER = FakeEmbedder()
TEXT = "Ada Lind keeps the light.\n\nThe quarry road is closed.\n\nOil comes by boat."
QUESTION = "Who keeps the light?"


def query_of(workspace, question=QUESTION, **over):
    return Query(workspace.pk, question, 5, QuestionVector(EMBEDDER, question), **over)


@pytest.fixture
def workspace():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", TEXT, embedder=EMBEDDER)
    return workspace


def test_the_score_is_the_cosine_of_question_and_passage(workspace):
    chunks = {chunk.pk: chunk for chunk in rows.chunks_of(one_document(workspace))}
    query = query_of(workspace)

    with access.in_workspace(workspace.pk):
        found = dense.nearest(query, 3)

    for chunk_id, cosine in found:
        chunk = chunks[chunk_id]
        (passage,) = EMBEDDER.embed_passages([f"{chunk.context}\n{chunk.text}"])
        assert cosine == pytest.approx(float(passage @ query.vector.value), abs=2e-3)


def test_the_nearest_come_first_and_no_more_than_asked_for(workspace):
    with access.in_workspace(workspace.pk):
        found = dense.nearest(query_of(workspace), 2)

    assert len(found) == 2
    assert found[0][1] >= found[1][1]


def test_cosines_are_of_the_passages_named(workspace):
    query = query_of(workspace)
    with access.in_workspace(workspace.pk):
        found = dict(dense.nearest(query, 3))
        one = next(iter(found))

        assert dense.cosines(query, [one]) == {one: found[one]}
        assert dense.cosines(query, []) == {}


def test_half_embedded_is_said_with_figures(workspace):
    rows.make_document(workspace, "Later", "The tide was out at noon.")
    query = query_of(workspace)

    with access.in_workspace(workspace.pk):
        dense.note_pending(query)

    (note,) = query.notes
    assert note.code == "vectors_pending"
    assert note.sentence.startswith("3 of 4 passages have vectors so far")


def test_in_a_scope_only_its_own_passages_count_as_pending(workspace):
    rows.make_document(workspace, "Later", "The tide was out at noon.")
    query = query_of(workspace, documents=(one_document(workspace).pk,))

    with access.in_workspace(workspace.pk):
        dense.note_pending(query)

    assert query.notes == []


def test_without_the_scope_of_the_transaction_there_are_no_rows(workspace):
    assert dense.nearest(query_of(workspace), 5) == []


def test_the_workspace_of_the_transaction_guards_that_of_the_query(workspace):
    stranger = rows.make_workspace("Elsewhere")

    with access.in_workspace(stranger.pk):
        assert dense.nearest(query_of(workspace), 5) == []


def one_document(workspace):
    with access.in_workspace(workspace.pk):
        return rows.Document.objects.in_workspace(workspace).get(title="Keepers")
