"""The rows of a community as records; only against the database, where they come from."""

from __future__ import annotations

from uuid import UUID

import pytest

from ingestion.models import Claim, Community, CommunityReport, Finding, Relationship
from ingestion.stages.reports import context
from ingestion.stages.reports.context import TopicRecords
from tests.ingestion.stages.reports.carol import Carol, describe, make_community
from tests.rows import make_entity
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol() -> Carol:
    return Carol()


def material(carol: Carol, community: Community, *others: Community) -> TopicRecords:
    ids = [community.pk, *(other.pk for other in others)]
    with access.in_workspace(carol.workspace.pk):
        return context.topic_records(carol.workspace.pk, ids)[community.pk]


def nodes(found: TopicRecords) -> dict[str, str]:
    return {node.name: node.record.text for node in found.entities}


def claim(carol: Carol, description: str, **values: str) -> None:
    chunk = carol.chunks[0]
    with access.in_workspace(carol.workspace.pk):
        Claim.objects.create(
            workspace=carol.workspace,
            subject=carol.scrooge,
            chunk=chunk,
            document_id=chunk.document_id,
            type=values.get("type", "habit"),
            status=values.get("status", Claim.Status.TRUE),
            period_start=values.get("start", ""),
            period_end=values.get("end", ""),
            description=description,
            start=chunk.start,
            end=chunk.end,
        )


def make_written(carol: Carol, community: Community, title: str, *findings: str) -> UUID:
    with access.in_workspace(carol.workspace.pk):
        report = CommunityReport.objects.create(
            workspace=carol.workspace,
            community=community,
            title=title,
            summary="They are poor.",
            rating=5,
        )
        for ordinal, text in enumerate(findings):
            for part in Finding.Part:
                Finding.objects.create(
                    workspace=carol.workspace,
                    report=report,
                    part=part,
                    ordinal=ordinal,
                    summary=text if part == Finding.Part.FINDING else "not told twice",
                    explanation=f"{text} indeed." if part == Finding.Part.FINDING else "",
                )
    return report.pk


def test_entities_tell_their_name_type_and_description(carol: Carol):
    describe(carol, carol.fred, "The cheerful nephew of Scrooge.")

    found = material(carol, make_community(carol.workspace, [carol.fred, carol.tim]))

    assert nodes(found) == {
        "Fred": f"Fred ({carol.fred.type}): The cheerful nephew of Scrooge.",
        "Tiny Tim": f"Tiny Tim ({carol.tim.type})",
    }


def test_relationships_inside_are_told_in_both_directions(carol: Carol):
    with access.in_workspace(carol.workspace.pk):
        Relationship.objects.create(
            workspace=carol.workspace,
            source=carol.scrooge,
            target=carol.bob,
            description="Scrooge pays Bob.",
        )

    found = material(carol, make_community(carol.workspace, [carol.scrooge, carol.bob]))

    assert {edge.record.text for edge in found.relationships} == {
        "Bob Cratchit -> Scrooge",
        "Scrooge -> Bob Cratchit: Scrooge pays Bob.",
    }
    assert {edge.record.names for edge in found.relationships} == {
        ("Bob Cratchit", "Scrooge"),
        ("Scrooge", "Bob Cratchit"),
    }


def test_relationships_that_lead_out_are_not_told(carol: Carol):
    found = material(carol, make_community(carol.workspace, [carol.scrooge, carol.tim]))

    assert found.relationships == ()


def test_claims_tell_status_and_period_and_each_is_told_once(carol: Carol):
    claim(carol, "Scrooge is a miser.", start="1836", end="1843-12-24")
    claim(carol, "Scrooge is a miser.", start="1836", end="1843-12-24")
    claim(carol, "Scrooge is a miser.", status=Claim.Status.FALSE, start="1843", end="1843")

    found = material(carol, make_community(carol.workspace, [carol.scrooge]))

    assert [one.record.text for one in found.claims] == [
        "Scrooge (habit, false, 1843): Scrooge is a miser.",
        "Scrooge (habit, true, 1836–1843-12-24): Scrooge is a miser.",
    ]
    assert {one.subject for one in found.claims} == {carol.scrooge.pk}


def test_parts_come_with_their_members_and_what_their_report_says(carol: Carol):
    parent = make_community(carol.workspace, carol.everybody)
    told = make_community(carol.workspace, [carol.bob, carol.tim], parent=parent)
    silent = make_community(carol.workspace, [carol.fred], parent=parent)
    report = make_written(carol, told, "The Cratchits", "Tim is ill.", "Bob is loyal.")

    found = material(carol, parent, told, silent)

    parts = {part.members: part.report for part in found.parts}
    assert parts[frozenset({carol.fred.pk})] is None
    record = parts[frozenset({carol.bob.pk, carol.tim.pk})]
    assert record is not None
    assert record.id == report
    assert record.text == (
        "The Cratchits. They are poor."
        " Tim is ill. Tim is ill. indeed. Bob is loyal. Bob is loyal. indeed."
    )


def test_each_community_of_a_batch_gets_its_own(carol: Carol):
    first = make_community(carol.workspace, [carol.bob, carol.tim])
    second = make_community(carol.workspace, [carol.fred, carol.scrooge])

    assert set(nodes(material(carol, first, second))) == {"Bob Cratchit", "Tiny Tim"}
    assert set(nodes(material(carol, second, first))) == {"Fred", "Scrooge"}


def test_a_community_without_members_is_empty(carol: Carol):
    assert material(carol, make_community(carol.workspace, [])) == TopicRecords(())


def test_rows_of_another_workspace_are_not_read(carol: Carol):
    other = Carol("Elsewhere")
    theirs = make_community(other.workspace, [make_entity(other.workspace, "Ada")])

    assert material(carol, theirs) == TopicRecords(())
