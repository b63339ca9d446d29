from __future__ import annotations

import pytest

from retrieval.search import drift
from tests import rows
from tests.retrieval.search.global_search.reef import Reef

pytestmark = pytest.mark.django_db


@pytest.fixture
def reef() -> Reef:
    """Ada Lind keeps the light; what she drinks is told where the light is not."""
    reef = Reef()
    ada = reef.document("Light", "Ada Lind keeps the Skarrow light.", "Ada Lind", "Skarrow")
    reef.document("Drink", "Ada Lind drinks tea from Assam.", "Ada Lind", "Assam")
    road = reef.document("Road", "The road is closed.", "road")
    reef.topic("The Skarrow light", {"Ada Lind keeps it.": ["Light"]}, [ada])
    reef.topic("Roads", {"It is closed.": ["Road"]}, [road])
    rows.make_snapshot(reef.workspace)
    return reef


def test_names_that_topics_and_passages_share_are_followed_and_it_is_said(reef):
    query = reef.query("Who keeps the Skarrow light?")

    found = drift.search(query)

    assert (found.seeds[0].kind, found.seeds[0].name) == ("entity", "Ada Lind")
    titles = reef.titles([hit.chunk_id for hit in found.chunks])
    assert titles[0] == "Light"
    assert "Drink" in titles
    assert [note.code for note in query.notes] == ["extractive_follow_ups"]


def test_a_passage_says_on_the_way_to_whom_it_was_found(reef):
    hits = drift.search(reef.query("Who keeps the Skarrow light?")).chunks

    assert "Found on the way to “Ada Lind”" in hits[0].why


def test_a_name_in_the_question_is_not_followed_again(reef):
    found = drift.search(reef.query("What does ada lind do?"))

    assert "Ada Lind" not in {seed.name for seed in found.seeds}


def test_who_is_left_out_is_not_followed(reef):
    ada = rows.make_entity(reef.workspace, "Ada Lind")

    found = drift.search(reef.query("Who keeps the Skarrow light?", exclude=(ada.pk,)))

    assert "Ada Lind" not in {seed.name for seed in found.seeds}


def test_the_same_question_finds_the_same(reef):
    first, second = (drift.search(reef.query("Who keeps the light?")) for _ in range(2))

    assert first == second


def test_the_scope_holds_on_every_way(reef):
    found = drift.search(reef.query("Who keeps the Skarrow light?", documents=["Light"]))

    assert reef.titles([hit.chunk_id for hit in found.chunks]) == ["Light"]


def test_before_there_is_a_report_meaning_and_words_are_searched_and_it_is_said():
    reef = Reef()
    reef.document("Light", "Ada Lind keeps the light.", "Ada Lind")
    query = reef.query("Who keeps the light?")

    found = drift.search(query)

    assert found.mode == "hybrid"
    assert [note.code for note in query.notes] == ["reports_pending"]


def test_records_come_once_the_reports_nearest_to_the_question_first(reef):
    found = drift.search(reef.query("Who keeps the Skarrow light?"))

    ids = [record.id for record in found.records]
    assert len(set(ids)) == len(ids)
    assert found.records[0].title == "The Skarrow light"
    assert found.records[0].why == ("Close to the question",)
