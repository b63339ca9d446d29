"""From one tier to the other and back: nothing is lost or left over, and nothing paid twice."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command

from ingestion.curation import merging
from ingestion.documents import rereading
from ingestion.extractors import METHOD
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Claim,
    CommunityReport,
    Document,
    DocumentVersion,
    Entity,
    Evidence,
    Fragment,
    IngestionJob,
    Mention,
    ResolutionDecision,
    SummaryNode,
    Verdict,
    WalkSnapshot,
)
from ingestion.pipeline import recovery
from ingestion.stages import snapshot
from kb_project.graph.walk_index import WalkIndex
from tests import rows
from tests.ingestion.jobs import add
from tests.ingestion.once import Kept, once_a_module
from tests.model_tier.tier import Tier, make_tier, misplaced, paper, unaccounted
from tests.provider import Provider
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelCall, Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# What is asked about a document by itself.
OF_DOCUMENTS = ("situate", "extract", "tree")
NAMED = ("ada lind", "bo strand", "skarrow")


def to_local(tier: Tier) -> None:
    language_model_services.model_settings_clear(workspace=tier.workspace)


def otherwise(tier: Tier) -> int:
    return len(rereading.outdated_ids(workspace=tier.workspace))


def read_again(tier: Tier) -> int:
    number = rereading.documents_read_again(workspace=tier.workspace)
    tier.drain()
    return number


def locally_read(tier: Tier, count: int = 3, *, paragraphs: int = 20) -> None:
    """Papers that came in before there was a model; now there is one."""
    to_local(tier)
    tier.add_papers(count, paragraphs=paragraphs)
    tier.drain()
    tier.choose()


def make_locally_read() -> Workspace:
    with Provider() as provider:
        tier = make_tier(provider)
        locally_read(tier)
    return tier.workspace


read_once = once_a_module(make_locally_read, Kept)


@pytest.fixture
def read(read_once: Kept[Workspace], provider: Provider, media: Path, fake_embedder: None) -> Tier:
    """With three papers that came in before there was a model."""
    tier = Tier(read_once.for_a_test(media), provider)
    tier.choose()
    return tier


def methods(tier: Tier) -> Counter[str]:
    """How many passages were read by which reader."""
    found = tier.rows(ChunkExtraction)
    return Counter("local" if one.method == METHOD else "model" for one in found)


def ids(tier: Tier) -> dict[str, UUID]:
    return {one.key: one.pk for one in tier.rows(Entity) if one.key in NAMED}


def named_at(tier: Tier, key: str) -> set[tuple[UUID, int, int]]:
    """The places that are cited for an entity."""
    entity = next(one.pk for one in tier.rows(Entity) if one.key == key)
    found = [one for one in tier.rows(Mention) if one.entity_id == entity]
    return {(one.chunk_id, one.start, one.end) for one in found}


def asked(tier: Tier) -> int:
    return len(tier.calls(ModelCall.State.DONE))


def assert_whole(tier: Tier) -> None:
    """Every fact stands where it says, and graph and walk are what the tables are."""
    assert not unaccounted(tier)
    assert not list(misplaced(tier))
    assert_citations_quote(tier)
    call_command("checkgraph", workspace=tier.workspace.slug)
    with access.in_workspace(tier.workspace.pk):
        packed = WalkSnapshot.objects.in_workspace(tier.workspace).get().payload
        now = snapshot.read(tier.workspace.pk)
        embedded = ChunkEmbedding.objects.in_workspace(tier.workspace).count()
    assert WalkIndex.from_bytes(bytes(packed)).to_bytes() == now.to_bytes()
    assert embedded == tier.count(Chunk)


def assert_citations_quote(tier: Tier) -> None:
    texts = {one.document_id: one.text for one in tier.rows(DocumentVersion)}
    for mention in tier.rows(Mention):
        assert texts[mention.document_id][mention.start : mention.end] == mention.surface


def test_a_change_of_tier_asks_nothing_by_itself(read: Tier):
    read.drain()

    assert methods(read) == {"local": read.count(Chunk)}
    assert otherwise(read) == 3
    assert read.provider.count() == 0


def test_a_new_document_is_no_reason_to_pay_for_the_others(read: Tier):
    before = {one.pk for one in read.rows(Document)}

    read.drain()
    add(read.workspace, "new.txt", paper(9, paragraphs=20))
    read.drain()

    asked_about = {call.document_id for call in read.calls() if call.stage in OF_DOCUMENTS}
    assert asked_about
    assert not asked_about & before
    assert otherwise(read) == 3


def test_between_the_tiers_only_reports_summaries_and_answers_ask(tier: Tier):
    tier.choose(local_extraction=True)
    tier.add_papers(3)
    tier.drain()

    assert methods(tier) == {"local": tier.count(Chunk)}
    assert otherwise(tier) == 0
    assert {one.written_by for one in tier.rows(CommunityReport)} != {"extractive"}
    assert "extractive" not in summarised_by(tier)
    assert {call.stage for call in tier.calls()} == {"reports", "tree", "questions"}
    assert_whole(tier)

    tier.choose()
    assert otherwise(tier) == 3


def test_summaries_are_written_by_who_reads(read: Tier):
    assert summarised_by(read) == {"extractive"}

    read_again(read)
    assert summarised_by(read) == {read.provider.model}
    to_local(read)
    read_again(read)

    assert summarised_by(read) == {"extractive"}


def summarised_by(tier: Tier) -> set[str]:
    return {one.written_by for one in tier.rows(SummaryNode)}


def test_documents_of_the_local_tier_are_read_by_the_model(read: Tier):
    before, places = ids(read), named_at(read, "ada lind")

    number = read_again(read)

    assert number == 3
    assert otherwise(read) == 0
    assert methods(read) == {"model": read.count(Chunk)}
    assert read.documents() == {"ready": 3}
    assert ids(read) == before
    assert places & named_at(read, "ada lind")
    assert read.count(Fragment)
    assert all(one.situated_by == read.provider.model for one in read.rows(DocumentVersion))
    assert {one.written_by for one in read.rows(CommunityReport)} == {read.provider.model}
    assert_whole(read)


def test_a_second_press_costs_nothing(read: Tier):
    read_again(read)
    before = asked(read)

    number = read_again(read)

    assert number == 0
    assert asked(read) == before


def test_the_way_back_is_free_and_complete(tier: Tier):
    tier.add_papers(3)
    tier.drain()
    before, requests = ids(tier), tier.provider.count()
    to_local(tier)
    estimate = rereading.reading_again_estimate(workspace=tier.workspace)

    read_again(tier)

    assert estimate.is_free
    assert methods(tier) == {"local": tier.count(Chunk)}
    assert tier.provider.count() == requests
    assert not tier.count(Fragment)
    assert not tier.count(Claim)
    assert not any(one.situated_by for one in tier.rows(DocumentVersion))
    assert ids(tier) == before
    assert_whole(tier)


def test_there_and_back_and_there_again_is_paid_for_once(read: Tier):
    read_again(read)
    facts = {(one.chunk_id, one.start, one.end) for one in read.rows(Evidence)}
    calls = {one.pk for one in read.calls(ModelCall.State.DONE)}
    to_local(read)
    read_again(read)
    read.choose()

    read_again(read)

    assert {(one.chunk_id, one.start, one.end) for one in read.rows(Evidence)} == facts
    since = [one for one in read.calls(ModelCall.State.DONE) if one.pk not in calls]
    assert not [one for one in since if one.stage in OF_DOCUMENTS]
    assert_whole(read)


def test_other_types_read_again_without_situating_again(tier: Tier):
    tier.add_papers(2)
    tier.drain()
    situated = {one.pk for one in tier.calls() if one.stage == "situate"}
    tier.choose(entity_types=("PERSON", "PLACE"))
    estimate = rereading.reading_again_estimate(workspace=tier.workspace)

    assert otherwise(tier) == 2
    assert estimate.known == 0
    assert not estimate.is_free
    read_again(tier)

    assert otherwise(tier) == 0
    assert {one.pk for one in tier.calls() if one.stage == "situate"} == situated
    assert_whole(tier)


def test_what_the_model_cannot_read_keeps_what_was_found_before(tier: Tier):
    locally_read(tier, 1)
    before = {(one.chunk_id, one.start, one.end) for one in tier.rows(Mention)}
    tier.provider.script.on("<passage>", "I would rather tell you about my day.")

    read_again(tier)

    assert tier.documents() == {"ready": 1}
    assert sum(tier.problems().values()) == tier.count(Chunk)
    assert {(one.chunk_id, one.start, one.end) for one in tier.rows(Mention)} == before
    assert otherwise(tier) == 0
    assert_whole(tier)


def test_a_retry_that_fails_again_loses_nothing_either(tier: Tier):
    locally_read(tier, 1)
    before = tier.count(Mention)
    tier.provider.script.on("<passage>", "I would rather tell you about my day.")
    read_again(tier)
    [document] = tier.rows(Document)

    with access.in_workspace(tier.workspace.pk):
        rereading.passages_retry(workspace=tier.workspace, document=document)
    tier.drain()

    assert tier.count(Mention) == before
    assert tier.problems()


def test_a_model_that_is_away_leaves_the_former_facts_standing(read: Tier):
    before = {one.pk for one in read.rows(Mention)}
    read.provider.script.key = "another key"

    read_again(read)

    assert read.documents() == {"paused": 3}
    assert {one.pk for one in read.rows(Mention)} == before
    assert otherwise(read) == 0
    read.provider.script.key = ""
    recovery.work_resume(read.workspace.pk)
    read.drain()
    assert methods(read) == {"model": read.count(Chunk)}
    assert_whole(read)


def test_a_budget_that_ends_on_the_way_leaves_half_and_half_and_nothing_lost(tier: Tier):
    locally_read(tier, 6, paragraphs=24)
    mentions = Counter(one.document_id for one in tier.rows(Mention))
    prices = [PriceGiven(tier.provider.model, Decimal(2), Decimal(10))]
    language_model_services.prices_set(workspace=tier.workspace, prices=prices)
    language_model_services.budget_set(workspace=tier.workspace, cap=Decimal("0.3"))

    read_again(tier)

    assert tier.documents()["paused"]
    assert set(Counter(one.document_id for one in tier.rows(Mention))) == set(mentions)
    assert not unaccounted(tier)
    assert not list(misplaced(tier))
    assert_citations_quote(tier)
    language_model_services.budget_set(workspace=tier.workspace, cap=Decimal(100))
    recovery.work_resume(tier.workspace.pk)
    tier.drain()
    assert tier.documents() == {"ready": 6}
    assert methods(tier) == {"model": tier.count(Chunk)}
    made = [call.key for call in tier.calls(ModelCall.State.DONE)]
    assert len(made) == len(set(made))
    assert_whole(tier)


def test_what_a_person_decided_about_names_is_obeyed_on_either_tier(tier: Tier):
    to_local(tier)
    tier.add_papers(2)
    tier.drain()
    alice = rows.make_user("Alice")
    known = {one.key: one for one in tier.rows(Entity)}
    with access.in_workspace(tier.workspace.pk):
        merging.decision_record(
            workspace=tier.workspace,
            user=alice,
            left=known["ada lind"],
            right=known["bo strand"],
            verdict=Verdict.SAME,
        )
    tier.drain()

    tier.choose()
    read_again(tier)

    assert_read_as_one(tier)
    to_local(tier)
    read_again(tier)
    assert_read_as_one(tier)


def assert_read_as_one(tier: Tier) -> None:
    [decision] = [one for one in tier.rows(ResolutionDecision) if one.by == "person"]
    assert decision.undone_at is None
    surfaces = {one.surface for one in tier.rows(Mention) if one.entity_id == ids(tier)["ada lind"]}
    assert {"Ada Lind", "Bo Strand"} <= surfaces
    assert "bo strand" not in ids(tier)
    assert_whole(tier)


def test_documents_that_are_being_read_are_not_counted(read: Tier):
    rereading.documents_read_again(workspace=read.workspace)

    assert otherwise(read) == 0
    assert rereading.documents_read_again(workspace=read.workspace) == 0
    assert read.documents() == {"queued": 3}


def test_some_documents_may_be_read_again_alone(read: Tier):
    chosen = read.rows(Document)[0]

    number = rereading.documents_read_again(workspace=read.workspace, documents=[chosen.pk])
    read.drain()

    assert number == 1
    assert otherwise(read) == 2
    assert set(methods(read)) == {"model", "local"}
    assert_whole(read)


def test_another_workspace_is_left_alone(read: Tier):
    other = Tier(rows.make_workspace("Island"), read.provider)
    locally_read(other)

    read_again(read)

    assert otherwise(other) == 3
    assert {one.state for one in other.rows(IngestionJob)} == {"done"}
