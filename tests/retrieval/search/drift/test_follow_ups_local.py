from __future__ import annotations

from dataclasses import replace

import pytest

from retrieval.search.drift import follow_ups
from tests import rows
from tests.retrieval.search.global_search.model import scripted
from tests.retrieval.search.global_search.reef import Reef

pytestmark = pytest.mark.django_db


@pytest.fixture
def reef() -> Reef:
    reef = Reef()
    reef.document("Light", "Ada Lind keeps the Skarrow light.", "Ada Lind", "Skarrow")
    reef.document("Quarry", "Bo Berg works in the quarry.", "Bo Berg", "quarry")
    rows.make_snapshot(reef.workspace)
    return reef


def test_a_follow_up_is_searched_by_its_own_words_and_meaning(reef):
    query = reef.query("Who keeps the Skarrow light?", top_k=1)

    found = follow_ups.local_follow_up(query, "Who works in the quarry?")

    assert reef.titles([hit.chunk_id for hit in found.chunks]) == ["Quarry"]


def test_a_follow_up_stays_within_the_scope(reef):
    query = reef.query("Who keeps the Skarrow light?", documents=["Light"])

    found = follow_ups.local_follow_up(query, "Who works in the quarry?")

    assert reef.titles([hit.chunk_id for hit in found.chunks]) == ["Light"]


def test_what_one_follow_up_meets_is_no_note_of_the_question(reef):
    bare = Reef("Bare")
    bare.document("Light", "Ada Lind keeps the light.", "Ada Lind")
    query = bare.query("Who keeps the light?")

    follow_ups.local_follow_up(query, "Who is Ada Lind?")
    assert query.notes == []

    follow_ups.local_search(query)
    assert [note.code for note in query.notes] == ["graph_pending"]


def test_no_model_is_asked(reef):
    chat = scripted()
    query = replace(reef.query("Who keeps the Skarrow light?"), chat=chat)

    assert follow_ups.local_search(query).chunks
    assert follow_ups.local_follow_up(query, "Who is Ada Lind?").chunks
    assert chat.requests == []
