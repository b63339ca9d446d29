"""Reports by a chat model where passages were read without one: from the passages themselves."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from ingestion.models import Finding
from ingestion.stages.reports.context import (
    BUDGET,
    EntityRecord,
    Kind,
    Record,
    SubTopic,
    TopicRecords,
    build,
)
from kb_project.llm.fake import FakeChat
from kb_project.llm.ports import ModelOptions
from tests.ingestion.stages.reports.carol import (
    TEXT,
    Carol,
    evidence_of,
    findings_of,
    make_community,
    prompts,
    report_of,
    run,
    told,
)
from workspaces import access

LOCALLY = ModelOptions(local_extraction=True)


@pytest.fixture
def carol(db) -> Carol:
    return Carol()


def test_a_report_is_written_from_what_the_passages_say(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    chat = FakeChat(told)

    run(carol.workspace, chat, options=LOCALLY)

    [prompt] = prompts(chat)
    lines = re.findall(r"^([A-Z]\d+) (.+)$", prompt, re.MULTILINE)
    assert {label[0] for label, _ in lines} == {"P"}
    for chunk in carol.chunks:
        assert any(" ".join(chunk.text.split()) in line for _, line in lines)
    assert report_of(community).written_by == "fake-model"


def test_passages_of_the_most_connected_members_come_first(carol: Carol):
    with access.in_workspace(carol.workspace.pk):
        carol.fred.degree = 40
        carol.fred.save()
    make_community(carol.workspace, carol.everybody)
    chat = FakeChat(told)

    run(carol.workspace, chat, options=LOCALLY)

    first = re.search(r"^P1 (.+)$", prompts(chat)[0], re.MULTILINE)
    assert first is not None
    assert "Fred invited Scrooge" in first.group(1)


def test_a_passage_is_cited_by_the_sentence_that_fits(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    def tim(request):
        [label] = re.findall(r"^(P\d+) .*Tiny Tim", request.prompt.user, re.MULTILINE)
        one = {"summary": "Tiny Tim was the youngest son.", "references": [label]}
        return told(request) | {"findings": [one]}

    run(carol.workspace, FakeChat(tim), options=LOCALLY)

    [finding] = findings_of(community, Finding.Part.FINDING)
    [cited] = [one for one in evidence_of(community) if one.finding_id == finding.pk]
    assert TEXT[cited.start : cited.end] == "Tiny Tim was the youngest son of Bob Cratchit."
    assert finding.references == []


def test_where_passages_do_not_fit_reports_on_parts_come_before_them():
    passages = tuple(
        Record.of(Kind.PASSAGE, uuid4(), f"Passage {number}: " + "The lamp burns oil. " * 100)
        for number in range(40)
    )
    part = Record.of(Kind.REPORT, uuid4(), "Lamps. What is known of lamps.")
    members = tuple(
        EntityRecord(Record.of(Kind.ENTITY, uuid4(), "Ada"), "Ada") for number in range(3)
    )
    topic = TopicRecords(members, passages=passages, parts=(SubTopic(frozenset(), part),))

    found = build(topic)

    kinds = [record.kind for record in found.labels.values()]
    assert kinds[0] is Kind.REPORT
    assert 1 < kinds.count(Kind.PASSAGE) < len(passages)
    assert found.substituted == 1
    assert sum(record.tokens for record in found.labels.values()) <= BUDGET
