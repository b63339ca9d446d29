"""The providers to choose from: usable as they are, and told in the documents as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings

from workspaces.language_models.choice import checked_endpoint, checked_model
from workspaces.language_models.providers import (
    BY_SLUG,
    OTHER,
    PROVIDERS,
    Provider,
    provider_at,
)

DOCS: Final = Path(settings.BASE_DIR) / "docs" / "models.md"
ASKED_FOR: Final = (
    "openai anthropic gemini azure mistral groq openrouter ollama llamacpp vllm lmstudio other"
).split()

each: Final = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda one: one.slug)


def test_the_usual_providers_are_there_once():
    assert set(ASKED_FOR) <= BY_SLUG.keys()
    assert len(BY_SLUG) == len(PROVIDERS)


@each
def test_its_address_and_models_would_be_accepted_as_they_are(provider: Provider):
    assert checked_endpoint(provider.endpoint) == provider.endpoint
    assert [checked_model(one.name) for one in provider.models] == [
        one.name for one in provider.models
    ]


@each
def test_its_prices_are_dated_and_no_cached_token_costs_more(provider: Provider):
    for price in provider.prices.values():
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", price.as_of)
        assert price.cached_prompt <= price.prompt <= price.completion
        assert price.prompt > 0


@each
def test_a_private_address_needs_no_key_and_is_plain_http(provider: Provider):
    is_http = provider.endpoint.startswith("http:")

    assert provider.is_private is is_http
    assert not (provider.is_private and provider.needs_key)


@each
def test_it_is_found_again_at_its_address(provider: Provider):
    found = provider_at(provider.endpoint)

    assert found == (None if provider.slug == OTHER else provider)


def test_the_documents_have_a_line_for_each_with_its_address():
    rows = re.findall(r"^\| ([^|]+?) \| `?([^|`]*)`? \|", DOCS.read_text(), re.MULTILINE)

    said = [(name, address) for name, address in rows if name in {one.name for one in PROVIDERS}]
    assert said == [(one.name, one.endpoint) for one in PROVIDERS if one.slug != OTHER]
