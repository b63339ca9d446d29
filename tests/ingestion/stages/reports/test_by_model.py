"""Reports by a chat model, against the database. Golden tests are named after known defects."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ingestion.models import (
    Claim,
    CommunityReport,
    Entity,
    Finding,
)
from ingestion.models.communities import OTHER_TOPICS, other_topics_id
from ingestion.stage import StageOutcome
from ingestion.stages import reports
from ingestion.stages.reports import context
from kb_project.llm.config import ChatConfig
from kb_project.llm.fake import FakeChat
from kb_project.llm.ports import ChatRequest, ModelOptions
from tests.ingestion.stages.reports.carol import (
    TEXT,
    Carol,
    evidence_of,
    findings_of,
    make_belle,
    make_community,
    problem_of,
    prompts,
    report_of,
    reports_in,
    run,
    told,
)
from tests.rows import make_document, make_entity
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol(monkeypatch: pytest.MonkeyPatch) -> Carol:
    """Her topics are of one to five entities, and a model writes about all of them."""
    monkeypatch.setattr(reports, "SMALLEST_WRITTEN", 1)
    return Carol()


# --- one call, and what comes of it ---------------------------------------------------------------
def test_a_model_writes_title_summary_rating_and_findings(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    assert run(carol.workspace, FakeChat(told)) == StageOutcome(written=1)

    report = report_of(community)
    assert (report.title, report.summary) == ("About Bob Cratchit", "This is what it says.")
    assert (report.rating, report.rating_reason) == (7.0, "It is the heart of the tale.")
    assert (report.written_by, report.problem, report.rejected) == ("fake-model", None, {})
    assert [f.explanation for f in findings_of(community, Finding.Part.FINDING)] == ["It says so."]


def test_scores_are_numbers_and_sort_as_numbers(carol: Carol):
    ratings = {"Scrooge": "10/10", "Bob Cratchit": 9, "Fred": "2.5"}
    members = (carol.scrooge, carol.bob, carol.fred)
    made = [make_community(carol.workspace, [one]) for one in members]

    def rated(request: ChatRequest[Any]) -> dict[str, Any]:
        answer = told(request)
        return answer | {"rating": ratings[answer["title"].removeprefix("About ")]}

    run(carol.workspace, FakeChat(rated))

    with access.in_workspace(carol.workspace.pk):
        rows = CommunityReport.objects.in_workspace(carol.workspace).order_by("-rating")
        assert [row.rating for row in rows] == [10.0, 9.0, 2.5]
        assert {row.community_id for row in rows} == {one.pk for one in made}


def test_references_resolve_to_the_places_in_documents(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    def fred(request: ChatRequest[Any]) -> dict[str, Any]:
        [label] = re.findall(r"^(R\d+) Fred", request.prompt.user, re.MULTILINE)
        one = {"summary": "Fred invited him.", "explanation": "", "references": [label]}
        return told(request) | {"findings": [one]}

    run(carol.workspace, FakeChat(fred))

    [finding] = findings_of(community, Finding.Part.FINDING)
    assert [reference["kind"] for reference in finding.references] == ["relationship"]
    [cited] = [one for one in evidence_of(community) if one.finding_id == finding.pk]
    assert TEXT[cited.start : cited.end].startswith("Fred invited Scrooge")
    assert cited.document_id == carol.document.pk


def test_every_statement_on_the_page_is_cited_within_its_chunk(carol: Carol):
    community = make_community(carol.workspace, [*carol.everybody, make_belle(carol)])

    run(carol.workspace, FakeChat(told))

    cited = evidence_of(community)
    said = [f for part in Finding.Part for f in findings_of(community, part)]
    assert {one.finding_id for one in cited} == {finding.pk for finding in said}
    assert all(one.chunk.start <= one.start < one.end <= one.chunk.end for one in cited)


def test_an_entity_nobody_describes_leads_to_where_it_is_named(carol: Carol):
    make_document(carol.workspace, "Belle", "Belle left.", names={"Belle": "person"})
    community = make_community(carol.workspace, [make_entity(carol.workspace, "Belle")])

    run(carol.workspace, FakeChat(told))

    assert {(one.start, one.end) for one in evidence_of(community)} == {(0, 5)}


def test_claims_are_told_and_lead_to_their_quotes(carol: Carol):
    chunk = carol.chunks[2]
    with access.in_workspace(carol.workspace.pk):
        for _ in range(2):
            Claim.objects.create(
                workspace=carol.workspace,
                subject=carol.fred,
                chunk=chunk,
                document_id=chunk.document_id,
                type="generosity",
                status=Claim.Status.SUSPECTED,
                period_start="1843",
                description="Fred is said to be generous.",
                start=chunk.start,
                end=chunk.start + 4,
            )
    community = make_community(carol.workspace, [carol.fred])
    chat = FakeChat(lambda request: told(request) | {"summary": "He is generous [C1]."})

    run(carol.workspace, chat)

    [prompt] = prompts(chat)
    assert prompt.count("Fred (generosity, suspected, 1843): Fred is said to be generous.") == 1
    [summary] = findings_of(community, Finding.Part.SUMMARY)
    [cited] = [one for one in evidence_of(community) if one.finding_id == summary.pk]
    assert TEXT[cited.start : cited.end] == "Fred"


def test_what_was_invented_is_not_kept_and_is_counted(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    told_of = [
        {"summary": "Real.", "explanation": "", "references": ["E1", "E77"]},
        {"summary": "Made up.", "explanation": "", "references": ["R99"]},
    ]

    run(carol.workspace, FakeChat(lambda request: told(request) | {"findings": told_of}))

    assert [f.summary for f in findings_of(community, Finding.Part.FINDING)] == ["Real."]
    assert report_of(community).rejected == {"invented": 2, "unreferenced": 1}


def test_a_sentence_that_rests_on_nothing_is_kept_without_a_citation(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    run(
        carol.workspace,
        FakeChat(lambda request: told(request) | {"summary": "All is well in general."}),
    )

    [summary] = findings_of(community, Finding.Part.SUMMARY)
    assert summary.references == []
    assert summary.pk not in {one.finding_id for one in evidence_of(community)}


def test_a_rating_and_a_title_the_model_left_out_are_made_here(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    run(carol.workspace, FakeChat(lambda r: told(r) | {"title": "", "rating": "very high"}))

    report = report_of(community)
    assert report.title == "Carol and Scrooge"
    assert 0 < report.rating < 10
    assert report.rating_reason.startswith("5 entities with 4 facts")
    assert report.written_by == "fake-model"


def test_the_root_of_the_rest_keeps_its_title(carol: Carol):
    rest = make_community(carol.workspace, carol.everybody, id_=other_topics_id(carol.workspace.pk))

    run(carol.workspace, FakeChat(told))

    assert report_of(rest).title == OTHER_TOPICS


# --- golden: what the prompts hold ----------------------------------------------------------------
def test_no_edge_is_dropped_and_entities_without_one_are_in_the_prompt(carol: Carol):
    make_community(carol.workspace, [*carol.everybody, make_belle(carol)])
    chat = FakeChat(told)

    run(carol.workspace, chat)

    [prompt] = prompts(chat)
    assert len(re.findall(r"^R\d+ ", prompt, re.MULTILINE)) == 4
    for link in ("Scrooge -> Marley", "Bob Cratchit -> Scrooge", "Fred -> Scrooge"):
        assert link in prompt
    assert "Belle (PERSON)" in prompt


def test_substitution_fires_and_the_parents_prompt_contains_the_childs_report(
    carol: Carol, monkeypatch: pytest.MonkeyPatch
):
    with access.in_workspace(carol.workspace.pk):
        Entity.objects.in_workspace(carol.workspace).filter(pk=carol.bob.pk).update(
            description="Bob Cratchit sat in a dismal little cell. " * 8
        )
    parent = make_community(carol.workspace, carol.everybody)
    child = make_community(carol.workspace, [carol.bob, carol.tim], parent=parent)
    monkeypatch.setattr(context, "BUDGET", 130)
    chat = FakeChat(told)

    run(carol.workspace, chat)

    below, above = prompts(chat)
    assert "dismal" in below
    assert "dismal" not in above
    assert f"T1 {report_of(child).title}. {report_of(child).summary}" in above
    assert "Scrooge" in above
    assert report_of(parent).substituted == 1
    [reference] = findings_of(parent, Finding.Part.SUMMARY)[0].references
    assert reference == {"kind": "report", "id": str(report_of(child).pk)}
    quoted = {(one.start, one.end) for one in evidence_of(child)}
    assert {(one.start, one.end) for one in evidence_of(parent)} & quoted


def test_a_parent_that_fits_is_written_from_its_own_records(carol: Carol):
    parent = make_community(carol.workspace, carol.everybody)
    make_community(carol.workspace, [carol.bob, carol.tim], parent=parent)
    chat = FakeChat(told)

    run(carol.workspace, chat)

    assert len(chat.requests) == 2
    assert "T1 " not in prompts(chat)[1]
    assert report_of(parent).substituted == 0


def test_levels_are_written_from_the_leaves_up(carol: Carol):
    root = make_community(carol.workspace, carol.everybody)
    middle = make_community(carol.workspace, [carol.bob, carol.tim, carol.fred], parent=root)
    make_community(carol.workspace, [carol.tim], parent=middle)
    chat = FakeChat(told)

    run(carol.workspace, chat)

    entities = [len(re.findall(r"^E\d+ ", prompt, re.MULTILINE)) for prompt in prompts(chat)]
    assert entities == [1, 3, 5]


def test_the_window_of_the_model_bounds_the_prompt(carol: Carol):
    make_community(carol.workspace, carol.everybody)
    config = ChatConfig("http://fake.invalid/v1", "small", concurrency=1, context_window=200)
    chat = FakeChat(told, config=config)

    run(carol.workspace, chat)

    assert chat.requests == []
    [report] = reports_in(carol.workspace)
    assert problem_of(report)["code"] == "context_too_long"
    assert report.written_by == "extractive"
    assert report.summary


def test_a_report_is_written_as_was_learned_from_the_documents(carol: Carol):
    make_community(carol.workspace, carol.everybody)
    chat = FakeChat(told)
    options = ModelOptions(
        language="English",
        persona="You are a clerk.",
        report_rating="Topics about debts matter.",
        report_language="French",
    )

    run(carol.workspace, chat, options=options)

    [prompt] = prompts(chat)
    assert "<persona>\nYou are a clerk.\n</persona>" in prompt
    assert "<rating>\nTopics about debts matter.\n</rating>" in prompt
    assert "<language>\nFrench\n</language>" in prompt
    assert "English" not in prompt
