"""What a provider has in its prompt cache costs less, and the ledger says so."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kb_project.llm import openai_client
from tests.model_tier.tier import Tier
from tests.prompt_cache import PromptCache
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelBudget

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_all_passages_of_a_document_but_the_first_find_it_in_the_providers_cache(tier: Tier):
    price = PriceGiven(tier.provider.model, Decimal(4), Decimal(8), cached_prompt=Decimal(1))
    language_model_services.prices_set(workspace=tier.workspace, prices=[price])
    language_model_services.budget_set(workspace=tier.workspace, cap="10")
    tier.provider.script.caches = PromptCache(seconds=0.02)
    tier.choose()
    tier.add_papers(1, paragraphs=120)

    tier.drain()

    calls = sorted(
        (call for call in tier.calls() if call.stage == "situate"),
        key=lambda call: call.cached_tokens,
    )
    assert len(calls) > 4
    assert [call.cached_tokens >= openai_client.LEAST for call in calls] == [
        False,
        *[True] * (len(calls) - 1),
    ]
    for call in calls:
        fresh = call.prompt_tokens - call.cached_tokens
        spent = 4 * fresh + call.cached_tokens + 8 * call.completion_tokens
        assert call.cost == Decimal(spent) / 1_000_000
    with access.in_workspace(tier.workspace.pk):
        budget = ModelBudget.objects.in_workspace(tier.workspace).get()
    assert budget.spent == sum(call.cost for call in tier.calls())
