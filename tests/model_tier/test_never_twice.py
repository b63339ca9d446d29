"""What was paid for is never paid for again."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ingestion.models import Chunk, CommunityReport, Document, Entity, Relationship
from tests.model_tier.tier import Tier
from workspaces import access
from workspaces.models import ModelCall

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_calls_are_as_few_as_promised(tier: Tier):
    tier.choose(gleanings=1)
    tier.add_papers(3)

    tier.drain()

    by_stage = Counter(call.stage for call in tier.calls(ModelCall.State.DONE))
    chunks = tier.count(Chunk)
    assert by_stage["extract"] <= chunks * 2
    assert by_stage["reports"] == tier.count(CommunityReport)
    assert by_stage["situate"] <= chunks
    assert by_stage["describe"] < tier.count(Entity) + tier.count(Relationship)


def test_a_single_passage_needs_no_summary_and_no_situating(tier: Tier):
    tier.add_papers(1, paragraphs=2)

    tier.drain()

    stages = Counter(call.stage for call in tier.calls(ModelCall.State.DONE))
    assert stages["situate"] == 0
    assert stages["describe"] == 0
    assert stages["extract"] <= 2


def test_the_same_documents_again_cost_nothing(tier: Tier):
    tier.add_papers(3)
    tier.drain()
    before, names = tier.provider.count(), {entity.pk for entity in tier.rows(Entity)}
    forget_documents(tier)

    tier.add_papers(3)
    tier.drain()

    assert tier.provider.count() == before
    assert tier.documents() == {"ready": 3}
    assert {entity.pk for entity in tier.rows(Entity)} == names
    assert tier.calls(ModelCall.State.CACHED)


def forget_documents(tier: Tier) -> None:
    with access.in_workspace(tier.workspace.pk):
        Document.objects.in_workspace(tier.workspace).delete()
        Entity.objects.in_workspace(tier.workspace).update(is_changed=True)
    tier.drain()


def test_no_request_reaches_the_model_twice(tier: Tier):
    tier.add_papers(4)
    tier.drain()

    asked = Counter(json.dumps(seen.body, sort_keys=True) for seen in tier.provider.requests)
    assert set(asked.values()) == {1}
