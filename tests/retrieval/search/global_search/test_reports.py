from __future__ import annotations

from dataclasses import replace

import pytest

from ingestion.models import Community, CommunityReport, Finding, FindingEvidence
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import global_search
from retrieval.search.global_search import ranking, reports
from retrieval.search.global_search.reports import Topic
from retrieval.search.query import Query, QuestionVector
from tests import rows
from tests.retrieval.search.global_search.reef import Reef, lights_and_roads
from tests.retrieval.search.global_search.shelves import make_report, ranked
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def reef() -> Reef:
    return lights_and_roads(1)


def looked_up(reef, near=(), count=50, level=None, **options):
    """Reports looked up for a question that is near to these documents, the first the nearest."""
    closeness = {reef.chunks[title].pk: 1.0 / place for place, title in enumerate(near, start=1)}
    query = reef.query("Why?", **options)
    with access.in_workspace(reef.workspace.pk):
        return reports.nearest(query, closeness, count, level)


def seen(reef, **options):
    query = reef.query("Why?", **options)
    with access.in_workspace(reef.workspace.pk):
        return reports.visible(query, reports.nearest(query, {}, 50))


def texts(found):
    return sorted(topic.text for topic in found)


def test_a_report_is_told_on_one_line_with_title_summary_and_findings(reef):
    assert texts(seen(reef)) == [
        "Lighthouse 0. About Lighthouse 0. Keeper0 trims a lamp.",
        "Road works 0. About Road works 0. Mender0 uses gravel.",
    ]


def test_reports_that_rest_on_near_passages_are_looked_up_first():
    reef = lights_and_roads(3)

    [first] = looked_up(reef, near=["Road 2", "Light 1"], count=1)
    both = looked_up(reef, near=["Road 2", "Light 1"], count=2)

    assert first.title == "Road works 2"
    assert {report.title for report in both} == {"Road works 2", "Lighthouse 1"}
    assert len(looked_up(reef, near=["Road 2"])) == 6


def test_of_reports_on_nothing_near_the_best_rated_are_looked_up():
    reef = lights_and_roads(3)
    with access.in_workspace(reef.workspace.pk):
        CommunityReport.objects.in_workspace(reef.workspace).filter(title="Road works 1").update(
            rating=9
        )

    assert [report.title for report in looked_up(reef, count=1)] == ["Road works 1"]


def test_in_a_scope_only_reports_on_its_documents_are_looked_up():
    reef = lights_and_roads(3)

    found = looked_up(reef, near=["Light 1"], documents=["Light 1", "Road 2"])

    assert [report.title for report in found] == ["Lighthouse 1", "Road works 2"]


def test_one_near_passage_counts_less_than_three():
    reef = lights_and_roads(3)
    lights = ["Light 0", "Light 1", "Light 2"]
    reef.topic("All lights", {"They shine.": lights}, [])

    assert [one.title for one in looked_up(reef, near=lights, count=1)] == ["All lights"]


def test_a_level_leaves_out_what_is_deeper_and_what_its_parts_cover(reef):
    people = [reef.document(name, f"{name} sails.") for name in ("Ada", "Bo", "Cy", "Di")]
    divided = reef.topic("Divided", {"Ada sails.": ["Ada"]}, people[:2])
    reef.topic("Ada", {"Ada sails.": ["Ada"]}, people[:1], parent=divided)
    reef.topic("Bo", {"Bo sails.": ["Bo"]}, people[1:2], parent=divided)
    partly = reef.topic("Partly", {"Cy sails.": ["Cy"]}, people[2:])
    reef.topic("Cy", {"Cy sails.": ["Cy"]}, people[2:3], parent=partly)

    near = ["Ada", "Bo", "Cy"]
    top = {report.title for report in looked_up(reef, near=near, level=0)}
    below = {report.title for report in looked_up(reef, near=near, level=1)}

    assert {"Divided", "Partly"} <= top
    assert not top & {"Ada", "Bo", "Cy"}
    assert {"Ada", "Bo", "Cy", "Partly"} <= below
    assert "Divided" not in below


def test_reports_are_read_from_the_roots_down(reef):
    [sailor] = [reef.document("Ada", "Ada sails.")]
    above = reef.topic("Sailors", {"Ada sails.": ["Ada"]}, [sailor])
    reef.topic("Ada", {"Ada sails.": ["Ada"]}, [sailor], parent=above)
    query = reef.query("Why?")

    with access.in_workspace(reef.workspace.pk):
        top = {report.title for report in reports.down_to(query, 0, 50)}
        first = {report.title for report in reports.down_to(query, 9, 3)}
        everything = {report.title for report in reports.down_to(query, 9, 50)}

    assert top == first == everything - {"Ada"}
    assert len(everything) == 4


def test_a_report_that_rests_on_nothing_is_not_used(reef):
    with access.in_workspace(reef.workspace.pk):
        FindingEvidence.objects.in_workspace(reef.workspace).delete()

    assert seen(reef) == []


def test_sentences_of_the_summary_are_not_told_twice(reef):
    with access.in_workspace(reef.workspace.pk):
        findings = Finding.objects.in_workspace(reef.workspace)
        findings.filter(report__title="Lighthouse 0").update(
            part=Finding.Part.SUMMARY, summary="About Lighthouse 0."
        )

    assert "Lighthouse 0. About Lighthouse 0." in texts(seen(reef))


def test_within_a_scope_only_what_rests_on_it_alone_is_told(reef):
    reef.topic("Both", {"Both of it.": ["Light 0", "Road 0"], "One of it.": ["Light 0"]}, [])

    found = seen(reef, documents=["Light 0"])

    assert texts(found) == ["Keeper0 trims a lamp.", "One of it."]
    assert all(topic.title == topic.text == topic.summary for topic in found)


def test_the_parts_of_a_topic_are_its_heading_and_its_statements(reef):
    reef.topic("Both", {"Both of it.": ["Light 0", "Road 0"], "One of it.": ["Light 0"]}, [])

    whole = next(topic for topic in seen(reef) if topic.title == "Both")
    partial = next(topic for topic in seen(reef, documents=["Light 0"]) if "One" in topic.title)

    assert whole.parts == ["Both. About Both.", "Both of it.", "One of it."]
    assert partial.parts == ["", "One of it."]


def test_another_workspace_has_other_reports(reef):
    stranger = rows.make_workspace("Elsewhere")
    question = QuestionVector(FakeEmbedder(), "Why?")
    with access.in_workspace(stranger.pk):
        assert reports.nearest(Query(stranger.pk, "Why?", 5, question), {}, 50) == []


def test_a_report_of_topics_left_out_only_in_part_is_used(reef):
    ada = rows.make_entity(reef.workspace, "Ada")
    light = rows.make_entity(reef.workspace, "Light")
    reef.topic("Ada", {"Keeper0 trims.": ["Light 0"]}, [ada])
    reef.topic("Ada and the light", {"Keeper0 keeps.": ["Light 0"]}, [ada, light])

    titles = {topic.title for topic in seen(reef, exclude=(ada.pk,))}

    assert "Ada and the light" in titles
    assert "Ada" not in titles


def test_topics_that_wait_for_a_report_are_counted_in_words(reef):
    with access.in_workspace(reef.workspace.pk):
        Community.objects.create(workspace=reef.workspace, level=0, size=1)
        query = reef.query("Why?")
        global_search.ranked_reports(query)

    assert query.notes[0].sentence == "One topic has no report yet and could not be searched."


REPORTS = [
    make_report("The lamp", "A lamp shines.", "Oil burns in the lamp."),
    make_report("Roads", "A road is closed.", "The lamp beside it is dark."),
    make_report("Oil", "Oil comes by boat."),
]


def scores(reports, *terms):
    return ranking.scores_by_words(terms, [one.topic for one in ranked(*reports)])


def test_reports_are_scored_by_their_terms_the_rarer_the_more():
    lamp, roads, oil = scores(REPORTS, "lamp")[0]

    assert lamp > roads > 0 == oil


def test_parts_are_scored_too():
    _, parts = scores(REPORTS, "oil", "lamp")

    assert max(parts[0]) == parts[0][2]
    assert parts[1][1] == 0


def test_what_is_not_shown_adds_nothing_not_even_to_the_statistics():
    inside = replace(REPORTS[0], statements=REPORTS[0].statements[:1])
    partial = Topic(0, inside, is_whole=False)
    oil = ranked(REPORTS[2])[0].topic
    alone = replace(inside, title="", summary="")

    whole, _ = ranking.scores_by_words(["lamp", "oil"], [partial, oil])

    assert whole == scores([alone, REPORTS[2]], "lamp", "oil")[0]


def test_no_reports_and_no_terms_score_nothing():
    assert scores([], "lamp") == ([], [])
    assert scores(REPORTS)[0] == scores(REPORTS, "telescope")[0] == [0, 0, 0]
