from __future__ import annotations

import pytest

from ingestion.models import Community, CommunityReport, Finding, FindingEvidence
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import global_search
from retrieval.search.global_search import reports
from retrieval.search.global_search.reports import Library, WordIndex
from retrieval.search.query import Query, QuestionVector
from tests import rows
from tests.retrieval.search.global_search.reef import Reef, lights_and_roads
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def reef() -> Reef:
    return lights_and_roads(1)


def shelf(reef):
    with access.in_workspace(reef.workspace.pk):
        return reports.load(reef.query("Why?"))


def seen(reef, **options):
    query = reef.query("Why?", **options)
    with access.in_workspace(reef.workspace.pk):
        return list(reports.visible(query, reports.load(query)).topics)


def scores(index, terms, parts):
    return index.scores(terms, index.seen(parts))


def texts(found):
    return sorted(topic.text for topic in found)


def test_a_report_is_told_on_one_line_with_title_summary_and_findings(reef):
    assert texts(seen(reef)) == [
        "Lighthouse 0. About Lighthouse 0. Keeper0 trims a lamp.",
        "Road works 0. About Road works 0. Mender0 uses gravel.",
    ]


def test_what_did_not_change_is_not_read_again(reef):
    assert shelf(reef) is shelf(reef)


@pytest.mark.parametrize("change", ["report", "evidence", "level", "community"])
def test_whatever_changes_is_seen_at_once(reef, change):
    before = shelf(reef)
    with access.in_workspace(reef.workspace.pk):
        if change == "report":
            CommunityReport.objects.in_workspace(reef.workspace).first().delete()
        elif change == "evidence":
            FindingEvidence.objects.in_workspace(reef.workspace).first().delete()
        elif change == "level":
            Community.objects.in_workspace(reef.workspace).update(level=1)
        else:
            Community.objects.create(workspace=reef.workspace, level=0, size=1)

    after = shelf(reef)

    assert after is not before
    assert (after.reports, after.waiting) != (before.reports, before.waiting)


def test_only_reports_that_changed_are_read_again(reef):
    before = shelf(reef)
    with access.in_workspace(reef.workspace.pk):
        first, *_ = CommunityReport.objects.in_workspace(reef.workspace).order_by("title")
        first.delete()
    reef.topic("Tides", {"Keeper0 watches the tide.": ["Light 0"]}, [])

    after = shelf(reef)

    old = {report.title: report.statements for report in before.reports}
    new = {report.title: report.statements for report in after.reports}
    assert new.keys() == old.keys() - {first.title} | {"Tides"}
    assert all(new[title] is old[title] for title in new.keys() & old.keys())
    made = Library.of(after.reports, after.waiting)
    everything = {place: frozenset({0, 1}) for place in range(len(after.reports))}
    for words in (["tide"], ["lamp", "keeper0"], ["gravel"], ["lighthous"]):
        assert scores(after.words, words, everything) == scores(made.words, words, everything)
    assert after.resting == made.resting
    both = {0: frozenset({0, 1}), 1: frozenset({0, 1})}
    again = Library.of(before.reports, 0).words
    assert scores(before.words, ["lamp"], both) == scores(again, ["lamp"], both)


def test_a_topic_without_a_report_is_waited_for(reef):
    with access.in_workspace(reef.workspace.pk):
        Community.objects.create(workspace=reef.workspace, level=0, size=1)

    assert shelf(reef).waiting == 1


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


def test_the_parts_of_a_topic_are_numbered_as_in_the_index(reef):
    reef.topic("Both", {"Both of it.": ["Light 0", "Road 0"], "One of it.": ["Light 0"]}, [])

    whole = next(topic for topic in seen(reef) if topic.title == "Both")
    partial = next(topic for topic in seen(reef, documents=["Light 0"]) if len(topic.parts) == 1)

    assert whole.parts == {0, 1, 2}
    assert partial.parts in ({1}, {2})


def test_another_workspace_has_other_reports(reef):
    stranger = rows.make_workspace("Elsewhere")
    question = QuestionVector(FakeEmbedder(), "Why?")
    with access.in_workspace(stranger.pk):
        assert reports.load(Query(stranger.pk, "Why?", 5, question)).reports == ()


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
    ["The lamp", "A lamp shines.", "Oil burns in the lamp."],
    ["Roads", "A road is closed.", "The lamp beside it is dark."],
    ["Oil", "Oil comes by boat."],
]
EVERYTHING = {place: frozenset(range(len(parts))) for place, parts in enumerate(REPORTS)}


def test_reports_are_scored_by_their_terms_the_rarer_the_more():
    whole, _ = scores(WordIndex(REPORTS), ["lamp"], EVERYTHING)

    assert whole.keys() == {0, 1}
    assert whole[0] > whole[1] > 0


def test_parts_are_scored_too():
    _, parts = scores(WordIndex(REPORTS), ["oil", "lamp"], EVERYTHING)

    assert max(parts, key=lambda part: parts[part]) == (0, 2)
    assert (1, 1) not in parts


def test_what_is_not_shown_adds_nothing_not_even_to_the_statistics():
    shown = {0: frozenset({1}), 2: frozenset({0, 1})}
    alone = WordIndex([["", "A lamp shines."], ["Oil", "Oil comes by boat."]])

    whole, parts = scores(WordIndex(REPORTS), ["lamp", "oil"], shown)
    same, _ = scores(alone, ["lamp", "oil"], {0: frozenset({1}), 1: frozenset({0, 1})})

    assert whole[0] == pytest.approx(same[0])
    assert whole[2] == pytest.approx(same[1])
    assert (0, 2) not in parts


def test_no_reports_and_no_terms_score_nothing():
    assert scores(WordIndex([]), ["lamp"], {}) == ({}, {})
    assert scores(WordIndex(REPORTS), [], EVERYTHING) == ({}, {})
    assert scores(WordIndex(REPORTS), ["telescope"], EVERYTHING) == ({}, {})
