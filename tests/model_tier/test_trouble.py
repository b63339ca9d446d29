"""Wrong key, unknown model, nobody there: a clear state and sentence, nothing half-written."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from ingestion.models import Chunk, ChunkExtraction, Entity, IngestionJob, RunState
from ingestion.pipeline import recovery
from tests import rows
from tests.model_tier.tier import Tier, unaccounted
from tests.provider import Provider
from workspaces.language_models import services as language_model_services
from workspaces.language_models.services import PriceGiven
from workspaces.models import CachedReply, ModelCall, Role
from workspaces.people import services as people_services

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def paused(tier: Tier) -> list[dict[str, str]]:
    """The problems of the jobs that wait."""
    jobs = [job for job in tier.rows(IngestionJob) if job.state == RunState.PAUSED]
    return [job.problem or {} for job in jobs]


def test_a_refused_key_pauses_and_the_right_one_goes_on(tier: Tier):
    tier.provider.script.key = "another key"
    tier.add_papers(2)
    tier.drain()
    assert tier.documents() == {"paused": 2}
    assert {problem["code"] for problem in paused(tier)} == {"key_refused"}
    assert all("another key" not in str(problem) for problem in paused(tier))
    assert tier.count(Chunk)
    assert not tier.count(ChunkExtraction)
    assert not tier.count(Entity)
    assert not tier.cached()

    tier.provider.script.key = tier.provider.key
    tier.choose()
    recovery.work_resume(tier.workspace.pk)
    tier.drain()

    assert tier.documents() == {"ready": 2}
    assert not unaccounted(tier)


@pytest.mark.parametrize(
    ("fault", "code"),
    [("404", "model_unknown"), ("html", "endpoint_not_a_model")],
)
def test_what_only_a_person_can_mend_pauses_with_a_sentence(tier: Tier, fault: str, code: str):
    tier.provider.script.next(fault, times=100)
    tier.add_papers(2)

    tier.drain()

    assert tier.documents() == {"paused": 2}
    for problem in paused(tier):
        assert problem["code"] == code
        assert problem["happened"]
        assert problem["next_step"]
    assert not tier.cached()
    # The first refusal is enough: what comes later waits without asking.
    assert tier.provider.count() <= 10


@pytest.mark.usefixtures("quick_retries")
def test_an_endpoint_that_is_down_pauses_until_it_is_back(tier: Tier):
    with Provider() as gone:
        address = gone.url
    tier.choose(endpoint=address, key=tier.provider.key)
    tier.add_papers(2)
    tier.drain()
    assert tier.documents() == {"paused": 2}
    assert {problem["code"] for problem in paused(tier)} == {"endpoint_down"}

    tier.choose()
    recovery.work_resume(tier.workspace.pk)
    tier.drain()

    assert tier.documents() == {"ready": 2}


def test_a_context_too_long_for_the_model_is_a_passages_own_trouble(tier: Tier):
    tier.choose(context_window=1_500, limits={"extract": {"max_output": 1_200, "timeout": 60}})
    tier.add_papers(1)

    tier.drain()

    assert set(tier.problems()) <= {"context_too_long"}
    assert not unaccounted(tier)
    assert tier.documents() == {"ready": 1}


def test_the_budget_stops_the_ingest_at_its_cap_and_it_goes_on_when_raised(
    tier: Tier, client: Client
):
    language_model_services.prices_set(
        workspace=tier.workspace,
        prices=[PriceGiven(tier.provider.model, Decimal(2), Decimal(10))],
    )
    language_model_services.budget_set(workspace=tier.workspace, cap=Decimal("0.05"))
    tier.add_papers(6)

    tier.drain()

    assert tier.spent() <= Decimal("0.05")
    assert {problem["code"] for problem in paused(tier)} == {"budget_spent"}
    kept = {reply.key for reply in tier.cached()}
    assert kept
    assert tier.count(Chunk)
    assert_pages_say_so(tier, client)

    language_model_services.budget_set(workspace=tier.workspace, cap=Decimal(10))
    recovery.work_resume(tier.workspace.pk)
    tier.drain()

    assert tier.documents() == {"ready": 6}
    assert not unaccounted(tier)
    assert kept <= {reply.key for reply in tier.cached()}
    made = [call.key for call in tier.calls(ModelCall.State.DONE)]
    assert len(made) == len(set(made))
    assert tier.spent() == sum(call.cost for call in tier.calls())


def assert_pages_say_so(tier: Tier, client: Client) -> None:
    alice = rows.make_user("Alice")
    people_services.member_add(workspace=tier.workspace, user=alice, role=Role.OWNER)
    client.force_login(alice)
    page = client.get(reverse("ingestion:document_list", args=[tier.workspace.slug]))
    assert "budget" in page.content.decode().lower()
    listed = client.get(f"/api/v1/workspaces/{tier.workspace.slug}/documents/").json()
    found = listed["results"] if isinstance(listed, dict) else listed
    assert {one["state"] for one in found} >= {"paused"}
    assert any((one.get("problem") or {}).get("code") == "budget_spent" for one in found)


def test_nothing_wrong_is_ever_cached(tier: Tier):
    for fault in ("truncated", "invalid", "schema", "huge", "empty"):
        tier.provider.script.next(fault, times=2)
    tier.add_papers(2)

    tier.drain()

    done = {call.key for call in tier.calls(ModelCall.State.DONE)}
    assert {reply.key for reply in tier.cached()} <= done
    assert tier.count(CachedReply)
