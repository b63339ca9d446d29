from __future__ import annotations

import pytest

from kb_project.errors import InputError
from kb_project.ports import build_ports
from retrieval.search import services
from retrieval.search.modes import MODES
from retrieval.search.query import MOST_HITS
from retrieval.search.scope import Scope
from tests import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

KEEPERS = "Ada Lind keeps the Skarrow light.\n\nThe lamp burns oil."


@pytest.fixture
def workspace(fake_embedder):
    workspace = rows.make_workspace()
    rows.make_document(
        workspace, "Keepers", KEEPERS, embedder=build_ports().embedder, tags=["light"]
    )
    return workspace


def search(workspace, question="What does the lamp burn?", mode="dense", **options):
    options = {"top_k": 5} | options
    return services.search(workspace=workspace, question=question, mode=mode, **options)


@pytest.mark.parametrize("mode", MODES)
def test_a_search_makes_the_vector_it_needs_by_itself(workspace, mode):
    found = search(workspace, mode=mode)

    assert found.hits[0].text == "The lamp burns oil."
    assert (found.embed_seconds > 0) is MODES[mode].uses_vectors


def test_modes_that_share_a_vector_make_it_once(workspace):
    vector = services.question_vector(workspace, "What does the lamp burn?")

    first = search(workspace, vector=vector)
    second = search(workspace, mode="hybrid", vector=vector)

    assert first.query.vector is second.query.vector is vector
    assert first.embed_seconds == second.embed_seconds == vector.seconds > 0


def test_the_question_is_asked_as_it_was_cleaned(workspace):
    found = search(workspace, "  What does\n the lamp\0 burn? ")

    assert found.query.question == "What does the lamp burn?"


def test_no_vector_is_made_for_a_scope_that_holds_no_document(workspace):
    found = search(workspace, scope=Scope(tags=("zeppelin",)))

    assert found.hits == []
    assert [note.code for note in found.notes] == ["scope_empty"]
    assert found.embed_seconds == 0.0


def test_a_scope_that_holds_the_document_finds_it(workspace):
    found = search(workspace, scope=Scope(tags=("light", "zeppelin")))

    assert found.hits[0].title == "Keepers"
    assert found.notes == ()


def test_nothing_found_among_documents_is_told_apart_from_nothing_there(workspace):
    here = search(workspace, "zeppelin", "lexical")
    nowhere = search(rows.make_workspace("Empty"), "zeppelin", "lexical")

    assert here.hits == nowhere.hits == []
    assert "nothing_to_search" not in [note.code for note in here.notes]
    assert [note.code for note in nowhere.notes] == ["nothing_to_search"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"question": "?!"}, "question_empty"),
        ({"mode": "telepathy"}, "unknown_mode"),
        ({"top_k": 0}, "invalid_top_k"),
        ({"top_k": MOST_HITS + 1}, "invalid_top_k"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_the_database_is_asked(
    workspace, django_assert_num_queries, change, code
):
    with django_assert_num_queries(0), pytest.raises(InputError) as refused:
        search(workspace, **change)

    assert refused.value.code == code


def test_the_trace_counts_and_times_and_quotes_nothing(workspace):
    found = search(workspace)

    assert found.trace["mode"] == "dense"
    assert found.trace["hits"] == len(found.hits) == 2
    assert found.trace["search_ms"] > 0
    assert found.trace["notes"] == []
    assert "lamp" not in str(found.trace)


def test_the_trace_tells_what_could_not_be_looked_at(workspace):
    found = search(workspace, mode="walk")

    assert [note["code"] for note in found.trace["notes"]] == ["graph_pending"]
