from __future__ import annotations

import pytest

from retrieval.search import relations
from retrieval.search.results import RecordKind
from tests import rows
from tests.retrieval.search.films import make_films, titles

pytestmark = pytest.mark.django_db


@pytest.fixture
def films():
    return make_films()


def test_relationships_come_first_and_their_ends_along(films):
    found = relations.search(films.query())

    ends = set()
    for record in found.records:
        if record.kind == RecordKind.RELATIONSHIP:
            ends |= set(record.title.split(" → "))
    assert found.records[0].kind == RecordKind.RELATIONSHIP
    assert set(titles(found, RecordKind.ENTITY)) == ends


def test_what_says_what_is_asked_comes_first(films):
    found = relations.search(films.query("Who was born in which town?"))

    assert titles(found, RecordKind.RELATIONSHIP)[0] == "Ada Lind → Strand"


def test_a_link_is_told_in_the_words_of_its_evidence(films):
    found = relations.search(films.query())

    texts = {record.title: record.text for record in found.records}
    assert texts["Ada Lind → Strand"] == "Ada Lind was born in Strand."


def test_a_scoped_link_is_told_by_its_passages_in_the_scope(films):
    found = relations.search(films.query(only=("Tide Song",)))

    texts = {record.title: record.text for record in found.records}
    assert texts["Ada Lind → Tide Song"] == (
        "Tide Song is a film of 1931 made by its director Ada Lind."
    )
    assert "Ada Lind → Strand" not in texts


def test_without_relationships_passages_are_still_found():
    workspace = rows.make_workspace("Elsewhere")
    films = make_films()
    query = films.query()
    object.__setattr__(query, "workspace_id", workspace.pk)
    rows.make_document(workspace, "Tide Song", "Tide Song is a film.", names={"Tide Song": "work"})
    rows.make_snapshot(workspace)

    found = relations.search(query)

    assert not found.records
    assert len(found.chunks) == 1
