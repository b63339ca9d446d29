from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.models import CommunityReport
from retrieval.search import global_search, services
from retrieval.search.query import QuestionVector
from retrieval.search.results import RecordKind
from tests.retrieval.search.global_search.reef import EMBEDDER, Reef, lights_and_roads
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def reef() -> Reef:
    return lights_and_roads()


def codes(query):
    return [note.code for note in query.notes]


def test_without_a_model_the_topics_of_the_question_lead_to_their_passages_and_it_is_said(reef):
    query = reef.query("Who trims a lamp at the lighthouse?")

    found = global_search.search(query)

    titles = reef.titles([hit.chunk_id for hit in found.chunks])
    assert {title.split()[0] for title in titles[:3]} == {"Light"}
    assert [record.title.split()[0] for record in found.records[:3]] == ["Lighthouse"] * 3
    assert codes(query) == ["extractive_reports"]
    assert found.points == ()


def test_every_passage_says_which_topic_led_to_it(reef):
    found = global_search.search(reef.query("Who trims a lamp?"))

    assert all(hit.why[0].startswith("Source of the topic “") for hit in found.chunks)


def test_a_report_rests_on_the_passages_of_its_findings(reef):
    found = global_search.search(reef.query("Keeper1"))

    best = found.records[0]
    assert (best.kind, best.title) == (RecordKind.REPORT, "Lighthouse 1")
    assert best.sources == (reef.chunks["Light 1"].pk,)


def test_one_topic_does_not_fill_all():
    reef = Reef()
    keepers = [
        reef.document(f"Lamp {number}", f"The lamp {number} is trimmed by Keeper{number}.")
        for number in range(9)
    ]
    reef.topic(
        "Lamps", {f"Lamp {number} is trimmed.": [f"Lamp {number}"] for number in range(9)}, keepers
    )
    oil = reef.document("Oil", "Oil for every lamp comes by boat.")
    reef.topic("Oil", {"Oil comes by boat.": ["Oil"]}, [oil])

    found = global_search.search(reef.query("Which lamp is trimmed?", top_k=3))

    assert "Oil" in reef.titles([hit.chunk_id for hit in found.chunks])
    assert len(found.chunks) == 3
    assert found.chunks[0].score >= found.chunks[1].score >= found.chunks[2].score


def test_where_topics_are_few_one_of_them_may_fill_what_is_left():
    reef = Reef()
    keepers = [reef.document(f"Lamp {number}", f"Lamp {number} shines.") for number in range(4)]
    reef.topic(
        "Lamps", {f"Lamp {number} shines.": [f"Lamp {number}"] for number in range(4)}, keepers
    )

    assert len(global_search.search(reef.query("Which lamp shines?", top_k=4)).chunks) == 4


def test_a_scope_shows_only_what_rests_on_nothing_else(reef):
    reef.topic(
        "Harbour",
        {
            "Keeper0 has a secret lamp.": ["Light 0", "Road 0"],
            "Keeper0 trims.": ["Light 0"],
        },
        [],
        summary="The secret of the harbour.",
    )
    query = reef.query("What is the secret of the lamp?", documents=["Light 0"])

    found = global_search.search(query)

    said = " ".join(f"{record.title} {record.text}" for record in found.records)
    assert "Keeper0 trims." in said
    assert "secret" not in said.lower()
    assert reef.titles([hit.chunk_id for hit in found.chunks]) == ["Light 0"]


def test_topics_of_nothing_but_what_is_left_out_take_no_part(reef):
    query = reef.query("Who trims a lamp?")
    with access.in_workspace(reef.workspace.pk):
        report = CommunityReport.objects.in_workspace(reef.workspace).get(title="Lighthouse 1")
        member = report.community.members.get(workspace=reef.workspace)
    query = reef.query("Who trims a lamp?", exclude=(member.entity_id,))

    titles = {record.title for record in global_search.search(query).records}

    assert "Lighthouse 1" not in titles
    assert "Lighthouse 0" in titles


def test_before_there_is_a_report_meaning_and_words_are_searched_and_it_is_said():
    reef = Reef()
    reef.document("Light", "Keeper trims the lamp.")
    query = reef.query("Who trims the lamp?")

    found = global_search.search(query)

    assert found.mode == "hybrid"
    assert reef.titles([hit.chunk_id for hit in found.chunks]) == ["Light"]
    assert codes(query) == ["reports_pending"]


def test_a_scope_that_no_report_rests_on_has_a_sentence_of_its_own(reef):
    reef.document("Loose", "Nobody reports on this lamp.")
    query = reef.query("What of this lamp?", documents=["Loose"])

    found = global_search.search(query)

    assert (found.mode, codes(query)) == ("hybrid", ["no_report_in_scope"])
    assert reef.titles([hit.chunk_id for hit in found.chunks]) == ["Loose"]


def test_the_service_gives_the_hits_and_says_which_mode_it_was_in_the_end(reef):
    question = "Who trims a lamp?"
    vector = QuestionVector(EMBEDDER, question)

    result = services.search(
        workspace=reef.workspace, question=question, mode="global", top_k=4, vector=vector
    )

    assert result.mode.name == "global"
    assert len(result.hits) == 4
    assert result.trace["reports_total"] == 6


def test_more_topics_need_no_more_queries(reef):
    few = lights_and_roads(1, "Few")
    counts = []
    for one in (few, reef):
        global_search.search(one.query("Who trims a lamp?"))  # fills what is kept in the process
        with CaptureQueriesContext(connection) as captured:
            global_search.search(one.query("Who trims a lamp?"))
        counts.append(len(captured))

    assert counts[0] == counts[1] <= 13
