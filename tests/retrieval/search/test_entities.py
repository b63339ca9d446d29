from __future__ import annotations

import pytest

from kb_project.llm.fake import FakeEmbedder
from retrieval.search import entities
from retrieval.search.found import RecordKind
from retrieval.search.query import Query, QuestionVector
from tests import rows

EMBEDDER = FakeEmbedder()
QUESTION = "Where was the director of Tide Song born?"

pytestmark = pytest.mark.django_db


def query(workspace, question=QUESTION, **others):
    return Query(workspace.pk, question, 4, QuestionVector(EMBEDDER, question), **others)


@pytest.fixture
def films():
    """A film, its director under another name's document, and much about other things."""
    workspace = rows.make_workspace()
    names = {"Tide Song": "work", "Ada Lind": "person", "Per Holm": "person", "Strand": "place"}
    texts = {
        "Tide Song": "Tide Song is a film of 1931 made by its director Ada Lind.",
        "Ada Lind": "Ada Lind was born in Strand, where her father kept a shop.",
        "Per Holm": "Per Holm was a director born in a town where songs of the tide were sung.",
        "Roads": "The road to the quarry is closed where it meets the shore.",
    }
    documents = {
        title: rows.make_document(workspace, title, text, names=names, embedder=EMBEDDER)
        for title, text in texts.items()
    }
    song, ada, strand = (
        rows.make_entity(workspace, name) for name in ("Tide Song", "Ada Lind", "Strand")
    )
    rows.make_relationship(ada, song, rows.chunks_of(documents["Tide Song"])[0], "made")
    rows.make_relationship(ada, strand, rows.chunks_of(documents["Ada Lind"])[0], "born in")
    rows.make_snapshot(workspace)
    return workspace, documents


def titles(found, kind):
    return [record.title for record in found.records if record.kind == kind]


def test_entities_come_with_their_relationships(films):
    workspace, _ = films

    found = entities.search(query(workspace))

    assert titles(found, RecordKind.ENTITY)[0] == "Tide Song"
    assert set(titles(found, RecordKind.RELATIONSHIP)) == {
        "Ada Lind → Tide Song",
        "Ada Lind → Strand",
    }
