from __future__ import annotations

import html
from collections.abc import Iterator

import pytest
from django.urls import reverse

from tests import rows
from tests.provider import Provider
from tests.workspaces.language_models.model_page import choose, form, page, prices, stored
from tests.workspaces.models_rows import ENDPOINT, KEY, budget
from tests.workspaces.pages import address, signed_in
from workspaces import access
from workspaces.language_models import services
from workspaces.models import EmbeddingIndex, IndexState, ModelPrice

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

CHANGES = [
    "model_settings",
    "model_test",
    "model_settings_clear",
    "installation_model_use",
    "prices_set",
    "budget_set",
    "cache_clear",
    "tuning_start",
    "tuning_forget",
    "embedding_change",
    "embedding_give_up",
]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


# --- who may --------------------------------------------------------------------------------------
def test_the_local_tier_is_explained_to_everybody(cast):
    for person in (cast.alice, cast.bob):
        assert "This workspace works on the local tier" in page(person)


def test_a_reader_sees_the_models_and_no_form(cast):
    choose(cast)

    shown = page(cast.bob)

    assert "test-model" in shown
    assert 'name="endpoint"' not in shown
    assert "wxyz" not in shown
    assert KEY not in shown


@pytest.mark.parametrize("name", CHANGES)
def test_a_reader_may_change_nothing(cast, name):
    response = signed_in(cast.bob).post(address(name), form(cap="1", model="x"))

    assert response.status_code == 403
    assert "Ask Alice" in response.content.decode()
    assert stored(cast) is None


@pytest.mark.parametrize("name", CHANGES)
def test_a_stranger_finds_nothing(cast, name):
    client = signed_in(cast.charlie)

    answers = {client.get(address(name)).status_code, client.post(address(name)).status_code}

    assert 404 in answers
    assert answers <= {404, 405}


def test_the_pages_are_in_the_navigation(cast):
    home = signed_in(cast.bob).get(reverse("retrieval:home", args=["harbour"])).content.decode()

    assert address("model_settings") in home
    assert address("usage") in home


# --- the models -----------------------------------------------------------------------------------
def test_an_admin_saves_models_and_never_sees_the_key(cast):
    sent = form(key=KEY, judge_model="big-1", extract_timeout=90, entity_types="person, vessel")

    response = signed_in(cast.alice).post(address("model_settings"), sent, follow=True)

    shown = response.content.decode()
    row = stored(cast)
    assert (row.endpoint, row.model, row.key_hint) == (ENDPOINT, "small-1", "wxyz")
    assert row.role_models == {"judge": "big-1"}
    assert row.limits == {"extract": {"timeout": 90}}
    assert row.entity_types == ["person", "vessel"]
    assert KEY not in shown
    assert "ends in <code>…wxyz</code>" in shown


def test_a_roles_parameters_are_saved_and_shown_as_typed(cast):
    sent = form(answer_parameters="reasoning_effort=low")

    response = signed_in(cast.alice).post(address("model_settings"), sent, follow=True)

    assert stored(cast).parameters == {"answer": {"reasoning_effort": "low"}}
    assert 'value="reasoning_effort=low"' in response.content.decode()


def test_parameters_that_requests_set_themselves_are_refused_beside_their_field(cast):
    response = signed_in(cast.alice).post(
        address("model_settings"), form(answer_parameters="stream=true")
    )

    assert "is set by Concordance itself" in html.unescape(response.content.decode())
    assert stored(cast) is None


def test_a_key_field_left_empty_keeps_the_key(cast):
    choose(cast)
    sealed = bytes(stored(cast).sealed_key)

    signed_in(cast.alice).post(address("model_settings"), form(key=""))
    kept = bytes(stored(cast).sealed_key)
    signed_in(cast.alice).post(address("model_settings"), form(remove_key="on"))

    assert (kept, bytes(stored(cast).sealed_key)) == (sealed, b"")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("endpoint", "models.example.org", "must start with http"),
        ("endpoint", "not an address", "spaces or control characters"),
        ("endpoint", "https://me:secret@models.example.org", "must not hold a name or password"),
        ("endpoint", "x" * 10_000, "at most 500 characters"),
        ("key", "x" * 10_000, "at most 500 characters"),
        ("key", "two words", "contains invalid characters"),
        ("model", "x" * 10_000, "at most 120 characters"),
        ("model", "a\0b", "Null characters"),
        ("context_window", "-5", "greater than or equal to 512"),
        ("concurrency", "many", "Enter a whole number"),
        ("gleanings", "99", "less than or equal to 5"),
        ("judge_model", "x" * 10_000, "at most 120 characters"),
        ("extract_timeout", "0", "greater than or equal to 1"),
        ("entity_types", "x" * 41, "at most 40"),
        ("entity_types", "x, " * 10_000, "at most 1680 characters"),
    ],
)
def test_wrong_input_is_told_beside_its_field(cast, field, value, said):
    response = signed_in(cast.alice).post(address("model_settings"), form(**{field: value}))

    shown = response.content.decode()
    assert response.status_code == 200
    assert said in shown
    assert 'aria-invalid="true"' in shown
    assert stored(cast) is None


def test_an_endpoint_without_a_model_is_told(cast):
    shown = signed_in(cast.alice).post(address("model_settings"), form(model=""))

    assert "No model is named" in shown.content.decode()
    assert stored(cast) is None


def test_a_key_is_not_taken_along_to_another_host(cast):
    choose(cast)

    sent = form(endpoint="https://evil.example/v1")
    shown = signed_in(cast.alice).post(address("model_settings"), sent).content.decode()

    assert "is not sent elsewhere" in shown
    assert stored(cast).endpoint == ENDPOINT


def test_an_admin_goes_back_to_the_local_tier(cast):
    choose(cast)

    shown = signed_in(cast.alice).post(address("model_settings_clear"), follow=True)

    assert "works on the local tier" in shown.content.decode()
    assert stored(cast).is_local


def test_the_installations_model_is_told_and_can_be_left(cast, settings):
    settings.MODEL_ENDPOINT = "http://models.internal/v1"
    settings.MODEL_FOR = "all"
    settings.MODEL_NAME, settings.MODEL_KEY = "house-1", "sk-of-the-installation"
    shown = page(cast.alice)

    assert "uses the installation's model" in shown
    assert "models.internal" in shown
    assert "sk-of-the-installation" not in shown
    assert "Stay on the local tier" in shown


# --- money ----------------------------------------------------------------------------------------
def test_prices_are_saved_and_an_emptied_line_is_gone(cast):
    client = signed_in(cast.alice)
    client.post(address("prices_set"), prices(("a", "1.5", "3"), ("b", "0", "0"), ("", "", "")))
    client.post(address("prices_set"), prices(("a", "1.5", "3"), ("", "", "")))

    with access.in_workspace(cast.workspace.pk):
        [price] = ModelPrice.objects.in_workspace(cast.workspace)
    assert (price.model, f"{price.prompt:f}") == ("a", "1.5000")
    assert 'value="1.5"' in page(cast.alice)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("a", "-1", "1"), "greater than or equal to 0"),
        (("a", "NaN", "1"), "Enter a number"),
        (("a", "", "1"), "needs an input price and an output price"),
        (("", "1", "1"), "has no model"),
        (("x" * 10_000, "1", "1"), "at most 120"),
    ],
)
def test_a_wrong_price_is_told_in_its_line(cast, line, said):
    shown = signed_in(cast.alice).post(address("prices_set"), prices(line)).content.decode()

    assert said in shown
    with access.in_workspace(cast.workspace.pk):
        assert not ModelPrice.objects.in_workspace(cast.workspace).exists()


def test_two_prices_of_one_model_are_refused(cast):
    sent = prices(("a", "1", "1"), ("a", "2", "2"))

    shown = signed_in(cast.alice).post(address("prices_set"), sent).content.decode()

    assert "A model has one price" in shown


@pytest.mark.parametrize("sent", [{}, {"prices-TOTAL_FORMS": "x"}])
def test_a_mangled_table_of_prices_is_no_crash(cast, sent):
    assert signed_in(cast.alice).post(address("prices_set"), sent).status_code == 200


def test_a_budget_is_set_and_lifted(cast):
    client = signed_in(cast.alice)
    client.post(address("budget_set"), {"cap": "0.05"})
    first = budget(cast.workspace).cap
    client.post(address("budget_set"), {"cap": ""})

    assert (f"{first:f}", budget(cast.workspace).cap) == ("0.050000", None)


@pytest.mark.parametrize("cap", ["-1", "NaN", "a lot", "9" * 10_000])
def test_a_wrong_budget_is_told(cast, cap):
    shown = signed_in(cast.alice).post(address("budget_set"), {"cap": cap}).content.decode()

    assert 'aria-invalid="true"' in shown
    assert budget(cast.workspace) is None


@pytest.mark.parametrize("role", ["", "extract", "poet", "x" * 10_000])
def test_replies_are_forgotten_or_the_role_is_refused(cast, role):
    response = signed_in(cast.alice).post(address("cache_clear"), {"role": role}, follow=True)

    said = "There is no role" if role not in ("", "extract") else "were forgotten"
    assert said in response.content.decode()


# --- learning and embedding -----------------------------------------------------------------------
def test_learning_on_the_local_tier_says_what_is_missing(cast):
    shown = signed_in(cast.alice).post(address("tuning_start"), follow=True).content.decode()

    assert "has no language model" in shown


def test_what_was_learned_is_shown_and_forgotten(cast):
    choose(cast)
    tuning = {"domain": "Lighthouses <b>", "language": "English", "types": ["vessel"]}
    services.tuning_save(workspace=cast.workspace, tuning=tuning)

    shown = page(cast.alice)
    signed_in(cast.alice).post(address("tuning_forget"))

    assert "Lighthouses &lt;b&gt;" in shown
    assert "vessel" in shown
    assert "Lighthouses" not in page(cast.alice)


def test_an_embedding_model_is_changed_and_given_up(cast, provider):
    choose(cast, provider.url)
    client = signed_in(cast.alice)

    first = client.post(address("embedding_change"), {"model": "test-embedding"}, follow=True)
    again = client.post(address("embedding_change"), {"model": "test-embedding"}, follow=True)
    client.post(address("embedding_give_up"))

    assert "A second index is being built" in first.content.decode()
    assert "already being built" in again.content.decode()
    with access.in_workspace(cast.workspace.pk):
        [index] = EmbeddingIndex.objects.in_workspace(cast.workspace)
    assert index.state == IndexState.RETIRED


@pytest.mark.parametrize("model", ["", "x" * 10_000, "a\nb"])
def test_a_wrong_embedding_model_is_told(cast, provider, model):
    choose(cast, provider.url)

    response = signed_in(cast.alice).post(
        address("embedding_change"), {"model": model}, follow=True
    )

    assert "notice--bad" in response.content.decode()
    with access.in_workspace(cast.workspace.pk):
        assert not EmbeddingIndex.objects.in_workspace(cast.workspace).exists()
