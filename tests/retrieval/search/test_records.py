from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from kb_project.llm.fake import FakeEmbedder
from retrieval.search.entity_weights import GraphView
from retrieval.search.query import Query, QuestionVector
from retrieval.search.records import (
    EntityFacts,
    Evidence,
    Relationship,
    relationships_in,
    relationships_of,
    relevance,
)
from tests.kb_project.graph.walks import build
from tests.retrieval.search.films import make_films
from workspaces import access

NEAR, FAR = UUID(int=1), UUID(int=2)
A, B, C = (UUID(int=number) for number in (11, 12, 13))
KNOWN = {
    one: EntityFacts(one, name, "", "", ()) for one, name in zip((A, B, C), "XYZ", strict=True)
}
AROUND = GraphView(build([], [], []), None, {NEAR: 1.0, FAR: 0.1})


def link(source, target, *, chunk=FAR, said="", predicate="", stated=True, weight=1.0):
    evidence = Evidence(chunk, 0, 1, predicate, is_stated=stated, note="")
    return Relationship(uuid4(), source, target, said, (), weight, (evidence,))


def ranked(links, ends=None, question="Who signed the treaty?"):
    query = Query(uuid4(), question, 5, QuestionVector(FakeEmbedder(), question))
    return [one for one, _ in relevance(query, AROUND, links, KNOWN, ends or {})]


def test_a_link_stated_in_a_closer_passage_is_worth_more():
    near, far = link(A, B, chunk=NEAR), link(A, C)

    assert ranked([far, near]) == [near, far]


def test_a_link_that_shares_the_questions_words_is_worth_more():
    said, other = link(A, B, said="Signed the treaty."), link(A, C, predicate="visited")

    assert ranked([other, said]) == [said, other]


def test_to_be_named_together_is_worth_less_than_to_be_stated():
    stated, together = link(A, B, chunk=NEAR), link(A, C, chunk=NEAR, stated=False)

    assert ranked([together, stated]) == [stated, together]


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
        everywhere = relationships_of(films.query(), [films.ada.pk], 10)
        inside = relationships_of(films.query(only=("Letters",)), [films.ada.pk], 10)
        first = relationships_of(films.query(), [films.ada.pk, films.song.pk], 1)

    assert {one.ends for one in everywhere} == {
        (films.ada.pk, films.song.pk),
        (films.song.pk, films.ada.pk),
        (films.ada.pk, films.strand.pk),
    }
    assert [[one.predicate for one in link.evidence] for link in inside] == [["despised"]]
    assert first[0].id == films.made.pk  # between two of them, and the weightier


@pytest.mark.django_db
def test_links_in_passages_come_from_the_closest():
    films = make_films()
    closeness = {films.chunk("Ada Lind").pk: 1.0, films.chunk("Tide Song").pk: 0.1}

    with access.in_workspace(films.workspace.pk):
        found = relationships_in(films.query(), closeness, 1)
        none = relationships_in(films.query(exclude=(films.strand.pk,)), closeness, 1)

    assert [one.id for one in found] == [films.born.pk]
    assert none == []
