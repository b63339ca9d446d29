from __future__ import annotations

from uuid import uuid4

import pytest

from retrieval.search import entities, graph, mix, relations
from retrieval.search.results import Record, RecordKind
from tests.retrieval.search.films import make_films


def record(title):
    return Record(RecordKind.ENTITY, uuid4(), title, "", (uuid4(),))


def test_records_take_turns_and_come_once():
    first, second, third, fourth = map(record, "abcd")

    mixed = entities.interleaved([first, second, third], [second, fourth])

    assert [one.title for one in mixed] == ["a", "b", "d", "c"]


@pytest.fixture
def query(db):
    return make_films().query("Where does the road to the quarry go, Ada Lind?")


def test_all_that_entities_and_relations_find_is_found(query):
    apart = {one.id for way in (entities, relations) for one in way.search(query).records}

    found = graph.search(query)

    assert {one.id for one in found.records} == apart
    assert {one.kind for one in found.records} == {RecordKind.ENTITY, RecordKind.RELATIONSHIP}


def test_the_records_are_those_of_mix_without_its_passages(query):
    found, mixed = graph.search(query), mix.search(query)

    assert [one.id for one in found.records] == [one.id for one in mixed.records]
    assert all(why for one in found.chunks for why in one.why)
    assert [one.score for one in found.chunks] != [one.score for one in mixed.chunks]
