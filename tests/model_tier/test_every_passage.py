"""Whatever the model does, every passage is read or listed with its reason."""

from __future__ import annotations

import pytest

from ingestion.documents import outcomes, rereading
from ingestion.models import (
    Chunk,
    ChunkExtraction,
    CommunityReport,
    Document,
    Entity,
    Fragment,
    Relationship,
)
from tests.kb_project.llm.test_refusals import REPLIES
from tests.model_tier.tier import Tier, misplaced, unaccounted
from tests.provider import INJECTED
from workspaces import access

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# What is tried again until it works, and what is not worth another try of the same kind.
PASSING = ("429", "500", "503", "cut", "not_json")
BAD = ("invalid", "schema", "truncated", "huge", "empty", "injection", "nested", "context")


def test_a_calm_ingest_reads_every_passage_and_writes_every_report(tier: Tier):
    tier.add_papers()

    tier.drain()

    assert tier.documents() == {"ready": 4}
    assert not unaccounted(tier)
    assert not tier.problems()
    assert {entity.name for entity in tier.rows(Entity)} >= {"Ada Lind", "Tern Rock"}
    assert tier.count(Relationship)
    assert tier.count(Fragment)
    assert {report.written_by for report in tier.rows(CommunityReport)} == {tier.provider.model}
    assert not list(misplaced(tier))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_is_tried_again_and_leaves_no_trace(tier: Tier, fault: str):
    tier.provider.script.next(fault, times=2)
    tier.add_papers(2)

    tier.drain()

    assert tier.documents() == {"ready": 2}
    assert not tier.problems()
    assert not unaccounted(tier)


@pytest.mark.usefixtures("hurried")
def test_with_two_calls_in_five_limited_no_passage_is_lost_whatever_the_provider_says(tier: Tier):
    limits = [row for row in REPLIES if row["means"] == "endpoint_busy"]
    script = tier.provider.script
    script.replies = {row["of"]: (row["status"], row["body"]) for row in limits}
    for one, other in zip(limits * 4, reversed(limits * 4), strict=True):
        for fault in (one["of"], "fine", other["of"], "fine", "fine"):
            script.next(fault)
    tier.add_papers(paragraphs=80)

    # Calls run side by side: one of them may meet a limit with each of its attempts.
    tier.drain_and_sweep(4)

    assert tier.documents() == {"ready": 4}
    assert tier.count(Chunk) >= 20
    assert not tier.problems()
    assert not unaccounted(tier)
    seen = {request.fault for request in tier.provider.requests}
    assert seen >= script.replies.keys()


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_answer_costs_one_passage_and_is_never_kept(tier: Tier, fault: str):
    tier.provider.script.next(fault, times=6)
    tier.add_papers(2)

    tier.drain()

    assert tier.documents() == {"ready": 2}
    assert not unaccounted(tier)
    # What is said in free words cannot be told from an echo; facts can.
    assert all(INJECTED not in reply.text for reply in tier.cached() if reply.role == "extract")
    assert not list(misplaced(tier))


def test_passages_that_failed_are_listed_and_can_be_read_alone(tier: Tier):
    tier.provider.script.on("<passage>.*Elin Moe kept the light of Skarrow", "No.")
    tier.add_papers(3)
    tier.drain()
    failed = tier.problems()
    assert failed
    assert not unaccounted(tier)
    tier.provider.script._answers.clear()
    before = tier.provider.count()

    with access.in_workspace(tier.workspace.pk):
        unread = {
            document: outcomes.passages_with_problems(workspace=tier.workspace, document=document)
            for document in Document.objects.in_workspace(tier.workspace)
        }
        assert sum(map(len, unread.values())) == failed.total()
        for document, listed in unread.items():
            if listed:
                rereading.passages_retry(
                    workspace=tier.workspace,
                    document=document,
                    chunk_ids=[one.chunk_id for one in listed],
                )
    tier.drain()

    assert not tier.problems()
    assert tier.documents() == {"ready": 3}
    extracting = [one for one in tier.provider.requests[before:] if "<passage>" in one.text]
    # One reading and at most one gleaning for each of them; the other passages are not asked about.
    assert len(extracting) <= 2 * failed.total()


def test_an_answer_in_fences_or_without_forms_is_understood(tier: Tier):
    tier.provider.script.refused.update({"json_schema", "json_object"})
    tier.provider.script.next("fenced", times=3)
    tier.add_papers(2)

    tier.drain()

    assert not tier.problems()
    assert tier.documents() == {"ready": 2}
    refused = [one for one in tier.provider.requests if one.form]
    assert len(refused) == 2  # found out once, not once a call


def test_four_hundred_entities_and_endless_names_are_bounded(tier: Tier):
    quote = "kept the light of"
    crowd = [
        {"name": f"Light {n}", "type": "thing", "description": "One of many.", "quote": quote}
        for n in range(400)
    ]
    endless = {"name": "x" * 10_000, "type": "thing", "description": "Long.", "quote": quote}
    answer = {"entities": [endless, *crowd], "relationships": []}
    tier.provider.script.on("<passage>", answer)
    tier.add_papers(1, paragraphs=2)

    tier.drain()

    assert tier.documents() == {"ready": 1}
    assert max(len(entity.name) for entity in tier.rows(Entity)) < 301
    [extraction] = tier.rows(ChunkExtraction)
    assert extraction.rejected["too_many"]
    assert extraction.rejected["name_not_usable"] == 1
