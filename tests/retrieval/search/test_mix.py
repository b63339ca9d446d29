from __future__ import annotations

import pytest

from retrieval.search import hybrid, mix
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
