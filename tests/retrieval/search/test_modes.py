from __future__ import annotations

import pytest

from ingestion.models import WalkSnapshot
from kb_project.errors import InputError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import services
from retrieval.search.modes import MODES, mode_named
from retrieval.search.query import QuestionVector
from retrieval.search.results import PASSAGES_ONLY
from retrieval.search.scope import Scope
from tests import rows
from workspaces import access

EMBEDDER = FakeEmbedder()
KEEPERS = "Ada Lind keeps the Skarrow light.\n\nOil for the lamp comes by boat."
ROADS = "The road to the quarry is closed.\n\nAda Lind mends the road."


def search(workspace, question, mode, *, top_k=5, scope=None):
    return services.search(
        workspace=workspace,
        question=question,
        mode=mode,
        top_k=top_k,
        scope=scope,
        vector=QuestionVector(EMBEDDER, question),
    )


def codes(result):
    return [note.code for note in result.notes]


@pytest.fixture
def harbour():
    workspace = rows.make_cast().workspace
    keepers = rows.make_document(
        workspace, "Keepers", KEEPERS, embedder=EMBEDDER, names={"Ada Lind": "person"}
    )
    roads = rows.make_document(
        workspace, "Roads", ROADS, embedder=EMBEDDER, names={"Ada Lind": "person"}
    )
    rows.make_snapshot(workspace)
    return workspace, keepers, roads


def test_every_mode_explains_itself_in_one_sentence():
    for name, mode in MODES.items():
        assert mode.name == name
        assert mode.explanation.endswith(".")
        assert mode.explanation.count(". ") == 0


def test_an_unknown_mode_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match="no search mode") as refused:
        mode_named("telepathy")

    assert "lexical" in refused.value.next_step


@pytest.mark.django_db
@pytest.mark.parametrize("mode", list(MODES))
def test_a_hit_is_the_passage_with_where_it_stands_and_why(harbour, mode):
    workspace, keepers, _ = harbour

    hit = search(workspace, "Who keeps the Skarrow light?", mode).hits[0]

    assert (hit.document_id, hit.title) == (keepers.pk, "Keepers")
    assert hit.text == KEEPERS[hit.start : hit.end] == "Ada Lind keeps the Skarrow light."
    assert hit.why
    assert all(hit.why)


@pytest.mark.django_db
@pytest.mark.parametrize("mode", list(MODES))
def test_hits_come_best_first_and_no_more_than_asked_for(harbour, mode):
    workspace, *_ = harbour

    hits = search(workspace, "Ada Lind light road oil", mode, top_k=2).hits

    assert len(hits) == 2
    assert hits[0].score >= hits[1].score
    assert len({hit.chunk_id for hit in hits}) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("mode", list(MODES))
def test_the_scope_acts_inside_retrieval(harbour, mode):
    workspace, _, roads = harbour

    hits = search(
        workspace, "Who keeps the Skarrow light? Ada Lind", mode, scope=Scope(documents=(roads.pk,))
    ).hits

    assert hits
    assert {hit.document_id for hit in hits} == {roads.pk}


@pytest.mark.django_db
@pytest.mark.parametrize("mode", list(MODES))
def test_a_scope_without_documents_says_so(harbour, mode):
    workspace, *_ = harbour

    result = search(workspace, "Who keeps the light?", mode, scope=Scope(tags=("none such",)))

    assert (result.hits, codes(result)) == ([], ["scope_empty"])


@pytest.mark.django_db
@pytest.mark.parametrize("mode", list(MODES))
def test_an_empty_workspace_says_so(mode):
    result = search(rows.make_workspace("Bare"), "Who keeps the light?", mode)

    assert result.hits == []
    assert "nothing_to_search" in codes(result)


@pytest.mark.django_db
@pytest.mark.parametrize("mode", list(MODES))
def test_another_workspace_is_never_searched(harbour, mode):
    stranger = rows.make_workspace("Elsewhere")
    rows.make_document(stranger, "Own", "The light here is electric.", embedder=EMBEDDER)

    hits = search(stranger, "Who keeps the Skarrow light?", mode).hits

    assert {hit.title for hit in hits} <= {"Own"}


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["walk", "local"])
def test_before_there_is_a_graph_meaning_and_words_are_searched_and_it_is_said(mode):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", KEEPERS, embedder=EMBEDDER)

    result = search(workspace, "Who keeps the Skarrow light?", mode)

    assert result.hits[0].text == "Ada Lind keeps the Skarrow light."
    assert codes(result) == ["graph_pending"]


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["walk", "local"])
def test_a_graph_of_another_version_is_no_reason_to_fail(harbour, mode):
    workspace, *_ = harbour
    with access.in_workspace(workspace.pk):
        WalkSnapshot.objects.in_workspace(workspace).update(payload=b"old", number=99)

    result = search(workspace, "Who keeps the Skarrow light?", mode)

    assert result.hits
    assert codes(result) == ["snapshot_outdated"]


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["hybrid", "walk", "local"])
def test_without_vectors_words_still_find_the_passage_and_it_is_said(mode):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", KEEPERS, names={"Ada Lind": "person"})
    rows.make_snapshot(workspace)

    result = search(workspace, "Who keeps the Skarrow light? Ada Lind?", mode)

    assert result.hits[0].text == "Ada Lind keeps the Skarrow light."
    assert "vectors_pending" in codes(result)


@pytest.mark.django_db
def test_dense_without_vectors_is_a_state_and_not_an_empty_result():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", KEEPERS)

    result = search(workspace, "Who keeps the light?", "dense")

    assert (result.hits, codes(result)) == ([], ["vectors_pending"])


@pytest.mark.django_db
def test_vectors_of_another_model_are_never_compared():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", KEEPERS, embedder=FakeEmbedder(32))

    result = search(workspace, "Who keeps the light?", "dense")

    assert (result.hits, codes(result)) == ([], ["vectors_pending"])


@pytest.mark.django_db
def test_little_words_alone_find_nothing_by_words_and_it_is_said(harbour):
    workspace, *_ = harbour

    result = search(workspace, "What is it?", "lexical")

    assert (result.hits, codes(result)) == ([], ["no_search_words"])


@pytest.mark.django_db
@pytest.mark.parametrize("mode", list(MODES))
def test_a_search_needs_few_queries(harbour, mode, django_assert_max_num_queries):
    workspace, *_ = harbour
    search(workspace, "Who keeps the Skarrow light?", mode)  # fills what is kept in the process

    # 15 of them open, set and close four transactions, five more what is known of the question;
    # records beside passages need some more.
    most = 29 if MODES[mode].shares == PASSAGES_ONLY else 40
    with django_assert_max_num_queries(most):
        search(workspace, "Who keeps the Skarrow light?", mode)


@pytest.mark.django_db
def test_the_trace_tells_the_time_of_the_vector_apart(harbour):
    workspace, *_ = harbour

    trace = search(workspace, "Who keeps the light?", "hybrid").trace

    assert trace["mode"] == "hybrid"
    assert trace["hits"] == 4
    assert trace["embed_ms"] >= 0
    assert trace["search_ms"] > 0
