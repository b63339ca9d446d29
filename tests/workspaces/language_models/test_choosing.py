"""The Models page: choosing a provider, and testing settings before they are saved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import rows
from tests.provider import Provider
from tests.workspaces.language_models.model_page import choose, form, page, prices, stored
from tests.workspaces.models_rows import ENDPOINT, KEY
from tests.workspaces.pages import address, signed_in
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def test_choosing_a_provider_fills_in_its_address_and_suggests_models_and_prices(cast):
    shown = page(cast.alice, query="?provider=groq")

    assert 'value="https://api.groq.com/openai/v1"' in shown
    assert '<option value="groq" selected>Groq</option>' in " ".join(shown.split())
    assert '<option value="openai/gpt-oss-120b"></option>' in shown
    assert 'value="0.15"' in shown
    assert "They are not saved yet" in shown
    assert stored(cast) is None


def test_a_provider_replaces_what_is_shown_and_not_what_is_saved(cast):
    choose(cast)

    shown = page(cast.alice, query="?provider=mistral")

    assert 'value="https://api.mistral.ai/v1"' in shown
    assert f'value="{ENDPOINT}"' not in shown
    assert stored(cast).endpoint == ENDPOINT
    assert 'value="test-model"' in page(cast.alice, query="?provider=nobody")


def test_a_private_provider_says_who_has_to_allow_it(cast):
    assert "MODEL_HOSTS_ALLOWED" in page(cast.alice, query="?provider=ollama")


def test_a_model_in_use_has_its_listed_price_filled_in_until_it_is_saved(cast, settings):
    settings.MODEL_HOSTS_ALLOWED = ["api.groq.com"]
    choice = ModelChoice(endpoint="https://api.groq.com/openai/v1", model="openai/gpt-oss-120b")
    language_model_services.model_settings_save(workspace=cast.workspace, choice=choice)
    sent = prices(("openai/gpt-oss-120b", "0.15", "0.60"))

    before = page(cast.alice)
    signed_in(cast.alice).post(address("prices_set"), sent)

    assert "They are not saved yet" in before
    assert "They are not saved yet" not in page(cast.alice)


def test_a_reader_is_offered_no_provider(cast):
    assert 'name="provider"' not in page(cast.bob, query="?provider=groq")


# --- the test -------------------------------------------------------------------------------------
@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


HTMX = {"HX-Request": "true"}


def filled(provider: Provider, **changes: object) -> dict[str, object]:
    return form(endpoint=provider.url, model=provider.model, key=provider.key) | changes


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_the_test_tells_what_the_server_understands_and_saves_nothing(cast, provider, headers):
    response = signed_in(cast.alice).post(address("model_test"), filled(provider), headers=headers)

    shown = response.content.decode()
    assert "Answers by a JSON schema" in shown
    assert "Works" in shown
    assert ("<nav" in shown) is not bool(headers)
    assert stored(cast) is None
    assert provider.key not in shown


def test_a_wrong_key_is_told_without_showing_it(cast, provider):
    provider.script.key = "another"

    shown = signed_in(cast.alice).post(address("model_test"), filled(provider, key=KEY))

    assert "Does not" in shown.content.decode()
    assert KEY not in shown.content.decode()


def test_saved_settings_are_tested_with_their_key(cast, provider):
    choose(cast, provider.url)
    provider.script.key = KEY

    shown = signed_in(cast.alice).post(address("model_test"), filled(provider, key=""))

    assert "Works" in shown.content.decode()
    assert stored(cast).support["schema"] is True


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_settings_that_answer_are_saved_when_that_is_asked_for(cast, provider, headers):
    client = signed_in(cast.alice)

    response = client.post(address("model_test"), filled(provider, save="1"), headers=headers)

    to = response.headers["HX-Redirect" if headers else "Location"]
    assert to == address("model_settings")
    assert (stored(cast).endpoint, stored(cast).support["schema"]) == (provider.url, True)
    assert "Models tested and saved" in client.get(to).content.decode()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_settings_that_fail_are_not_saved_and_can_be_all_the_same(cast, provider, headers):
    provider.script.key = "another"
    client = signed_in(cast.alice)

    failed = client.post(address("model_test"), filled(provider, save="1"), headers=headers)
    before = stored(cast)
    client.post(address("model_settings"), filled(provider))

    assert "Nothing was saved," in failed.content.decode()
    assert ("Enter the key again" in failed.content.decode()) is not bool(headers)
    assert before is None
    assert stored(cast).endpoint == provider.url


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_settings_that_cannot_be_tested_say_what_is_wrong(cast, provider, headers):
    sent = filled(provider, context_window="-5")

    shown = signed_in(cast.alice).post(address("model_test"), sent, headers=headers)

    assert "greater than or equal to 512" in shown.content.decode()
    assert not provider.requests


def test_a_test_on_the_local_tier_says_what_is_missing(cast):
    shown = signed_in(cast.alice).post(address("model_test"), form(endpoint="", model=""))

    assert "has no language model" in shown.content.decode()
