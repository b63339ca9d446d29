from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from ingestion.models import Evidence
from kb_project.llm.fake import FakeEmbedder
from retrieval.search.keywords import GraphView
from retrieval.search.query import Query, QuestionVector
from retrieval.search.records import (
    TOGETHER,
    EntityFacts,
    Relationship,
    by_relevance,
    relationship_ids,
    relationship_ids_near,
    relationships_stated,
    stating,
    with_evidence,
)
from tests.kb_project.graph.walks import build
from tests.retrieval.search.films import make_films
from workspaces import access

A, B, C = (UUID(int=number) for number in (11, 12, 13))
KNOWN = {
    one: EntityFacts(one, name, "", "", "[]") for one, name in zip((A, B, C), "XYZ", strict=True)
}
NEAR, FAR = 1.0, 0.1


def link(source, target, *, closeness=FAR, said="", predicate="", weight=1.0):
    return Relationship(uuid4(), source, target, said, (), weight, (predicate,), closeness)


def around(closeness=()):
    return GraphView(build([], [], []), None, dict(closeness))


def of(query: Query, entities: list[UUID], count: int, view: GraphView | None = None):
    ids = relationship_ids(query, entities, count)
    return relationships_stated(query, view or around(), ids)


def near(query: Query, view: GraphView, passages: int, count: int):
    return relationships_stated(query, view, relationship_ids_near(query, view, passages, count))


def ranked(links, ends=None, question="Who signed the treaty?"):
    query = Query(uuid4(), question, 5, QuestionVector(FakeEmbedder(), question))
    return [one for one, _ in by_relevance(query, links, KNOWN, ends or {})]


def test_a_link_stated_in_a_closer_passage_is_worth_more():
    near, far = link(A, B, closeness=NEAR), link(A, C)

    assert ranked([far, near]) == [near, far]


def test_a_link_that_shares_the_questions_words_is_worth_more():
    said, other = link(A, B, said="Signed the treaty."), link(A, C, predicate="visited")

    assert ranked([other, said]) == [said, other]


def test_links_of_what_is_asked_for_are_worth_more():
    asked, other = link(A, B), link(B, C, weight=50)

    assert ranked([other, asked], {A: 1.0}) == [asked, other]


def test_weight_decides_between_equals():
    heavy, light = link(A, B, weight=2), link(A, B, weight=1)

    assert ranked([light, heavy]) == [heavy, light]


def test_links_to_what_is_unknown_are_left_out():
    assert ranked([link(A, uuid4())]) == []


@pytest.mark.django_db
def test_links_of_entities_are_read_with_their_evidence_in_the_scope():
    films = make_films()

    with access.in_workspace(films.workspace.pk):
        scoped = films.query(only=("Letters",))
        everywhere = of(films.query(), [films.ada.pk], 10)
        inside = with_evidence(scoped, of(scoped, [films.ada.pk], 10))
        first = of(films.query(), [films.ada.pk, films.song.pk], 1)

    assert {one.ends for one in everywhere} == {
        (films.ada.pk, films.song.pk),
        (films.song.pk, films.ada.pk),
        (films.ada.pk, films.strand.pk),
    }
    assert [[one.predicate for one in link.evidence] for link in inside] == [["despised"]]
    assert [link.predicates for link in inside] == [["despised"]]
    assert first[0].id == films.made.pk  # between two of them, and the weightier


@pytest.mark.django_db
def test_links_that_are_not_to_be_weighed_are_the_same_ones():
    films = make_films()

    with access.in_workspace(films.workspace.pk):
        for query in (films.query(), films.query(only=("Letters",))):
            ids = relationship_ids(query, [films.ada.pk], 10)
            weighed = relationships_stated(query, around(), ids)
            listed = relationships_stated(query, around(), ids, is_weighed=False)
            assert [one.id for one in listed] == [one.id for one in weighed]


@pytest.mark.django_db
def test_links_in_passages_come_from_the_closest():
    films = make_films()
    view = around({films.chunk("Ada Lind").pk: 1.0, films.chunk("Tide Song").pk: 0.1})

    with access.in_workspace(films.workspace.pk):
        found = near(films.query(), view, 2, 1)
        closest = near(films.query(), view, 1, 10)
        none = near(films.query(exclude=(films.strand.pk,)), view, 2, 1)

    assert [one.id for one in found] == [one.id for one in closest] == [films.born.pk]
    assert none == []


@pytest.mark.django_db
def test_a_link_is_as_close_as_the_closest_passage_that_states_it():
    films = make_films()
    letters, song = films.chunk("Letters").pk, films.chunk("Tide Song").pk

    def closeness(passages) -> float:
        found = of(films.query(), [films.ada.pk], 10, around(passages))
        return {one.id: one.closeness for one in found}[films.made.pk]

    with access.in_workspace(films.workspace.pk):
        assert closeness({}) == 0
        assert closeness({letters: 0.8, song: 0.5}) == 0.8
        rows = Evidence.objects.in_workspace(films.workspace)
        rows.filter(relationship=films.made, chunk=letters).update(kind=Evidence.Kind.TOGETHER)
        assert closeness({letters: 0.8}) == 0.8 * TOGETHER
        assert closeness({letters: 0.8, song: 0.5}) == 0.5


@pytest.mark.django_db
def test_passages_are_paired_with_the_links_that_they_state():
    films = make_films()
    song, life, letters = (films.chunk(one).pk for one in ("Tide Song", "Ada Lind", "Letters"))
    links = [films.made.pk, films.born.pk]

    with access.in_workspace(films.workspace.pk):
        pairs = stating(films.query(), links, [song, life])
        scoped = stating(films.query(only=("Letters",)), links, [song, life, letters])

        rows = Evidence.objects.in_workspace(films.workspace).filter(relationship=films.born)
        rows.update(period_start="1990", period_end="1990")
        later = stating(films.query(as_of="2000"), links, [song, life])

    assert set(pairs) == {(films.made.pk, song), (films.born.pk, life)}
    assert scoped == [(films.made.pk, letters)]
    assert later == [(films.made.pk, song)]
