from __future__ import annotations

import pytest

from ingestion.models import Document
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import services
from retrieval.search.query import QuestionVector
from retrieval.search.scope import Scope
from tests import rows
from workspaces.models import Workspace

EMBEDDER = FakeEmbedder()
QUESTION = "Where was the director of Tide Song born?"

pytestmark = pytest.mark.django_db


def search(workspace, question=QUESTION, mode="walk", scope=None):
    vector = QuestionVector(EMBEDDER, question)
    return services.search(
        workspace=workspace, question=question, mode=mode, top_k=3, scope=scope, vector=vector
    )


@pytest.fixture
def films() -> tuple[Workspace, dict[str, Document]]:
    """A film, its director under another name's document, and much about other things."""
    workspace = rows.make_workspace()
    names = {"Tide Song": "work", "Ada Lind": "person", "Per Holm": "person"}
    texts = {
        "Tide Song": "Tide Song is a film of 1931 made by Ada Lind.",
        "Ada Lind": "Ada Lind came from Strand, where her father kept a shop.",
        "Per Holm": "Per Holm was a director born in a town where songs of the tide were sung.",
        "Roads": "The road to the quarry is closed where it meets the shore.",
    }
    documents = {
        title: rows.make_document(workspace, title, text, names=names, embedder=EMBEDDER)
        for title, text in texts.items()
    }
    rows.make_snapshot(workspace)
    return workspace, documents


@pytest.mark.parametrize("mode", ["walk", "local"])
def test_the_walk_goes_on_from_a_name_to_where_it_is_told_of(films, mode):
    workspace, _ = films

    titles = [hit.title for hit in search(workspace, mode=mode).hits]

    assert titles[0] == "Tide Song"
    assert "Ada Lind" in titles


def test_a_hit_says_which_name_led_to_it(films):
    workspace, _ = films

    why = {hit.title: hit.why for hit in search(workspace).hits}

    assert why["Tide Song"] == ("Mentions “Tide Song”",)
    assert why["Ada Lind"] == ("Reached through “Ada Lind”",)


def test_the_walk_never_enters_a_document_outside_the_scope(films):
    workspace, documents = films
    inside = Scope(documents=(documents["Per Holm"].pk, documents["Roads"].pk))

    titles = {hit.title for hit in search(workspace, scope=inside).hits}

    assert titles <= {"Per Holm", "Roads"}


def test_a_new_snapshot_is_walked_at_once(films):
    workspace, _ = films
    search(workspace)
    rows.make_document(
        workspace, "Strand", "Ada Lind is buried in Strand.", names={"Ada Lind": "person"}
    )
    rows.make_snapshot(workspace)

    titles = {hit.title for hit in search(workspace, "What of Ada Lind?").hits}

    assert "Strand" in titles


def test_a_question_without_names_still_finds_what_is_near(films):
    workspace, _ = films

    assert search(workspace, "which road is closed?").hits[0].title == "Roads"
