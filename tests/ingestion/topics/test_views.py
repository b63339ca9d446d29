"""The page of a report: who wrote it, what it rests on, and having it written again."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from ingestion.models import (
    Community,
    CommunityMember,
    CommunityReport,
    Entity,
    Finding,
    FindingEvidence,
    IngestionJob,
    JobKind,
)
from ingestion.models.communities import SMALLEST_WRITTEN
from tests import rows
from tests.ingestion.pages import address, client_of, page_of
from workspaces import access
from workspaces.models import ModelSettings, Role
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nBo Strand sells oil to Ada Lind."
PROBLEM = {
    "code": "reply_truncated",
    "happened": "The answer was cut off.",
    "kept": "The report is made of sentences from your documents instead.",
    "next_step": "Have it written again.",
}


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def report(cast: rows.Cast) -> CommunityReport:
    document = rows.make_document(
        cast.workspace, "Keepers", TEXT, names={"Ada Lind": "PERSON", "Bo Strand": "PERSON"}
    )
    ada = rows.make_entity(cast.workspace, "Ada Lind")
    made = rows.make_report(cast.workspace, "The light", [ada], rows.chunks_of(document))
    with access.in_workspace(cast.workspace.pk):
        Community.objects.in_workspace(cast.workspace).update(is_changed=False)
    return made


def change(report: CommunityReport, **values: Any) -> None:
    with access.in_workspace(report.workspace_id):
        CommunityReport.objects.in_workspace(report.workspace_id).filter(pk=report.pk).update(
            **values
        )


def say(report: CommunityReport, text: str, references: list[dict[str, str]]) -> Finding:
    """A sentence of the summary."""
    with access.in_workspace(report.workspace_id):
        return Finding.objects.create(
            workspace_id=report.workspace_id,
            report=report,
            part=Finding.Part.SUMMARY,
            ordinal=Finding.objects.in_workspace(report.workspace_id).count(),
            summary=text,
            references=references,
        )


def cite(finding: Finding, start: int, end: int) -> None:
    with access.in_workspace(finding.workspace_id):
        place = FindingEvidence.objects.in_workspace(finding.workspace_id).select_related("chunk")
        chunk = next(one.chunk for one in place if one.chunk.start <= start < one.chunk.end)
        FindingEvidence.objects.create(
            workspace_id=finding.workspace_id,
            finding=finding,
            report_id=finding.report_id,
            chunk=chunk,
            document_id=chunk.document_id,
            start=start,
            end=end,
        )


def page(cast: rows.Cast, report: CommunityReport, user: Any = None) -> str:
    text = page_of(user or cast.bob, "community_detail", cast, report.community_id)
    return " ".join(text.split())


def is_marked(report: CommunityReport) -> bool:
    with access.in_workspace(report.workspace_id):
        community = Community.objects.in_workspace(report.workspace_id)
        return community.get(pk=report.community_id).is_changed


def refreshes(cast: rows.Cast) -> int:
    with access.in_workspace(cast.workspace.pk):
        jobs = IngestionJob.objects.in_workspace(cast.workspace)
        return jobs.filter(kind=JobKind.WORKSPACE).count()


def make_curator(cast: rows.Cast) -> None:
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=Role.CURATOR)


# --- what it says ---------------------------------------------------------------------------------
def test_a_page_names_the_model_and_what_of_its_words_was_not_kept(
    cast: rows.Cast, report: CommunityReport
):
    change(report, written_by="some-model-7b", substituted=2, rejected={"invented": 3})

    seen = page(cast, report)

    assert "Written by a model" in seen
    assert "some-model-7b" in seen
    assert "2 of its parts spoke through their reports." in seen
    assert "3 statements or references of the model’s led to no record and were not kept." in seen
    assert "Extractive report" not in seen


def test_a_statement_shows_the_records_it_rests_on(cast: rows.Cast, report: CommunityReport):
    ada, bo = (rows.make_entity(cast.workspace, name) for name in ("Ada Lind", "Bo Strand"))
    with access.in_workspace(cast.workspace.pk):
        chunk = (
            FindingEvidence.objects.in_workspace(cast.workspace).select_related("chunk")[0].chunk
        )
        finding = Finding.objects.in_workspace(cast.workspace)[0]
        link = rows.make_relationship(bo, ada, chunk, "sells to")
        finding.references = [
            {"kind": "entity", "id": str(ada.pk)},
            {"kind": "relationship", "id": str(link.pk)},
            {"kind": "report", "id": str(report.pk)},
            {"kind": "claim", "id": str(ada.pk)},
        ]
        finding.save()
    change(report, written_by="some-model")

    seen = page(cast, report)

    assert "Bo Strand → Ada Lind" in seen
    assert seen.count(address("entity_detail", cast, ada.pk)) >= 2
    assert "“Ada Lind keeps the light.” · Keepers" in seen


def test_a_sentence_without_a_passage_is_marked(cast: rows.Cast, report: CommunityReport):
    cite(say(report, "Ada keeps it.", []), 0, 8)
    say(report, "All is well.", [])
    change(report, written_by="some-model")

    seen = page(cast, report)

    assert '<span class="answer__sentence--unsupported">All is well.</span>' in seen
    assert "No passage supports 1 underlined sentence" in seen
    assert seen.count("answer__sentence--unsupported") == 1


def test_the_same_passage_has_the_same_number(cast: rows.Cast, report: CommunityReport):
    for text, places in (("One.", [(0, 8)]), ("Two.", [(0, 8), (27, 36)])):
        said = say(report, text, [])
        for place in places:
            cite(said, *place)

    seen = page(cast, report)

    assert seen.count('aria-label="Source 1: Keepers"') == 2
    assert seen.count('aria-label="Source 2: Keepers"') == 1


def test_what_a_model_says_is_text_and_never_markup(cast: rows.Cast, report: CommunityReport):
    say(report, "<script>alert(1)</script>", [])
    change(report, written_by="<b>model</b>", title="<img src=x>", rating_reason="<i>so</i>")

    seen = page(cast, report)

    for forged in ("<script>alert", "<b>model", "<img src=x", "<i>so"):
        assert forged not in seen


def test_why_no_model_wrote_it_is_said(cast: rows.Cast, report: CommunityReport):
    change(report, problem=PROBLEM)

    seen = page(cast, report)

    assert "No model wrote this report." in seen
    assert "The answer was cut off." in seen
    assert "Have it written</button>" not in seen


# --- having it written ----------------------------------------------------------------------------
def post(cast: rows.Cast, user: Any, name: str, *args: object) -> Any:
    client = client_of(user) if user else Client()
    return client.post(address(name, cast, *args))


def test_a_curator_has_it_written_again(cast: rows.Cast, report: CommunityReport):
    change(report, problem=PROBLEM)
    make_curator(cast)
    assert address("report_retry", cast, report.community_id) in page(cast, report)

    answer = post(cast, cast.bob, "report_retry", report.community_id)

    assert answer.status_code == 302
    assert is_marked(report)
    assert refreshes(cast) == 1
    assert "It will be rewritten at the next refresh." in page(cast, report)


def test_a_report_by_a_model_is_not_written_again(cast: rows.Cast, report: CommunityReport):
    change(report, written_by="some-model")

    post(cast, cast.alice, "report_retry", report.community_id)

    assert not is_marked(report)
    assert refreshes(cast) == 0


def test_on_the_local_tier_there_is_nothing_to_write_again(
    cast: rows.Cast, report: CommunityReport
):
    assert "no chat model is set up" in page(cast, report, cast.alice)

    post(cast, cast.alice, "reports_retry")

    assert not is_marked(report)


def test_once_a_model_is_set_up_it_may_write_what_was_there_before(
    cast: rows.Cast, report: CommunityReport
):
    with access.in_workspace(cast.workspace.pk):
        ModelSettings.objects.create(
            workspace=cast.workspace, endpoint="http://localhost:1/v1", model="some-model"
        )
        communities = Community.objects.in_workspace(cast.workspace)
        communities.filter(pk=report.community_id).update(size=SMALLEST_WRITTEN)
    assert "from before a chat model was set up" in page(cast, report, cast.alice)
    listed = " ".join(page_of(cast.alice, "community_list", cast).split())
    assert "1 report is made of sentences of your documents: no model wrote it." in listed

    post(cast, cast.alice, "reports_retry")

    assert is_marked(report)
    assert refreshes(cast) == 1
    assert "no model wrote" not in page_of(cast.alice, "community_list", cast)


def test_the_report_on_a_small_topic_says_that_no_model_writes_it(
    cast: rows.Cast, report: CommunityReport
):
    with access.in_workspace(cast.workspace.pk):
        ModelSettings.objects.create(
            workspace=cast.workspace, endpoint="http://localhost:1/v1", model="some-model"
        )
        communities = Community.objects.in_workspace(cast.workspace)
        communities.filter(pk=report.community_id).update(size=SMALLEST_WRITTEN - 1)

    shown = page(cast, report, cast.alice)

    assert "a model writes only about topics of 5 or more entities" in shown
    assert "Have it written" not in shown
    assert "no model wrote" not in page_of(cast.alice, "community_list", cast)


def test_readers_and_strangers_have_nothing_written(cast: rows.Cast, report: CommunityReport):
    change(report, problem=PROBLEM)

    for name, args in (("report_retry", [report.community_id]), ("reports_retry", [])):
        assert post(cast, cast.bob, name, *args).status_code == 403
        assert post(cast, cast.charlie, name, *args).status_code == 404
        assert post(cast, None, name, *args).status_code == 302
    assert not is_marked(report)
    assert "no model wrote" not in page_of(cast.bob, "community_list", cast)


# --- how much is in it ----------------------------------------------------------------------------
def test_a_topics_number_says_that_it_counts_terms_too(cast: rows.Cast, report: CommunityReport):
    with access.in_workspace(cast.workspace.pk):
        Community.objects.in_workspace(cast.workspace).update(size=2)

    assert "2 entities and terms" in page_of(cast.bob, "community_list", cast)
    page = page_of(cast.bob, "community_detail", cast, report.community_id)
    assert f'entities/?topic={report.community_id}">All entities</a>' in page


def test_the_list_of_a_topics_entities_says_that_terms_are_left_out(
    cast: rows.Cast, report: CommunityReport
):
    term = rows.make_entity(cast.workspace, "Trustee", "concept")
    with access.in_workspace(cast.workspace.pk):
        Entity.objects.in_workspace(cast.workspace).filter(pk=term.pk).update(chunk_count=2)
        CommunityMember.objects.create(
            workspace=cast.workspace, community_id=report.community_id, entity=term
        )
    topic = report.community_id

    listed = page_of(cast.bob, "entity_list", cast, topic=topic)
    terms = page_of(cast.bob, "entity_list", cast, topic=topic, type="concept")

    assert "1 entity" in listed
    assert "A topic's terms (words and phrases that recur) are not listed." in listed
    assert f"?type=concept&amp;topic={topic}" in listed
    assert "Trustee" in terms
    assert "are not listed" not in terms
