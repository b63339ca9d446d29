from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from retrieval.search import hybrid, mix
from retrieval.search.query import ScoredChunk
from retrieval.search.results import RecordKind
from tests.retrieval.search.films import make_films
from workspaces import access


@pytest.mark.django_db
def test_entities_links_meaning_and_words_are_joined():
    films = make_films()
    query = films.query("Where does the road to the quarry go, Ada Lind?")

    found = mix.search(query)

    with access.in_workspace(films.workspace.pk):
        by_words_and_meaning = hybrid.search(query)
    ids = [one.chunk_id for one in found.chunks]
    assert by_words_and_meaning[0].chunk_id in ids
    assert films.chunk("Ada Lind").pk in ids
    assert len(set(ids)) == len(ids)
    assert {one.kind for one in found.records} == {RecordKind.ENTITY, RecordKind.RELATIONSHIP}


def passages(numbers: str, why: str) -> list[ScoredChunk]:
    return [ScoredChunk(UUID(int=int(number)), 1.0, (why,)) for number in numbers]


def test_lists_take_turns_and_a_passage_of_both_says_why_for_both():
    found = mix.in_turn([passages("1234", "named"), passages("52", "near")])

    assert [one.chunk_id.int for one in found] == [1, 5, 2, 3, 4]
    assert found[2].why == ("named", "near")
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.mark.django_db
def test_what_comes_first_does_not_depend_on_how_much_is_asked_for():
    films = make_films()
    few, many = (
        mix.search(
            replace(films.query("Where does the road to the quarry go?"), top_k=count)
        ).chunks
        for count in (2, 4)
    )

    assert [one.chunk_id for one in many[:2]] == [one.chunk_id for one in few]
