from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests import rows
from tests.provider import Provider
from tests.workspaces.models_rows import ENDPOINT, KEY, a_call, an_outcome, budget
from workspaces import access, secrets
from workspaces.models import ModelSettings, Workspace
from workspaces.usage.ledger import TableCallStore
from workspaces.usage.queries import prices_in

pytestmark = pytest.mark.django_db

CHOICE = ("--endpoint", ENDPOINT, "--model", "small-1")


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


def call(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, "--workspace", "harbour", *arguments, stdout=out)
    return out.getvalue()


def stored(workspace: Workspace) -> ModelSettings:
    with access.in_workspace(workspace.pk):
        return ModelSettings.objects.in_workspace(workspace).get()


def key_of(workspace: Workspace) -> str:
    return secrets.unseal(stored(workspace).sealed_key, workspace.pk)


def test_an_endpoint_and_a_model_are_chosen(workspace):
    said = call("setmodel", *CHOICE, "--role", "judge=big-1", "--context-window", "8192")

    row = stored(workspace)
    assert (row.endpoint, row.model, row.role_models) == (ENDPOINT, "small-1", {"judge": "big-1"})
    assert row.context_window == 8192
    assert "works with small-1 at models.example.org" in said


def test_passages_are_read_without_the_model(workspace):
    call("setmodel", *CHOICE)
    assert not stored(workspace).local_extraction

    said = call("setmodel", "--extraction", "local")
    assert stored(workspace).local_extraction
    assert "reads passages without it" in said

    assert "without it" not in call("setmodel", "--extraction", "model")
    assert not stored(workspace).local_extraction


def test_a_roles_parameters_are_set_and_removed(workspace):
    call("setmodel", *CHOICE, "--parameter", "answer:reasoning_effort=low")
    call("setmodel", "--parameter", "answer:top_p=0.9")
    assert stored(workspace).parameters == {"answer": {"reasoning_effort": "low", "top_p": 0.9}}

    call("setmodel", "--parameter", "answer:reasoning_effort=")
    assert stored(workspace).parameters == {"answer": {"top_p": 0.9}}


def test_the_key_comes_from_a_file_and_is_not_said(workspace, tmp_path: Path):
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")

    said = call("setmodel", *CHOICE, "--key-file", str(path), "--json")

    assert key_of(workspace) == KEY
    assert KEY not in said
    assert json.loads(said)["has_key"] is True


def test_the_key_comes_from_the_environment(workspace, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", KEY)

    call("setmodel", *CHOICE, "--key-from-env")

    assert key_of(workspace) == KEY


def test_the_key_is_removed(workspace, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", KEY)
    call("setmodel", *CHOICE, "--key-from-env")

    call("setmodel", "--no-key")

    assert (key_of(workspace), stored(workspace).endpoint) == ("", ENDPOINT)


def test_prices_and_a_budget_are_set_beside_what_is_there(workspace):
    call("setmodel", "--price", "a=1,2", "--price", "b=3,4,1", "--budget", "0.05")
    call("setmodel", "--price", "a=5,6")

    with access.in_workspace(workspace.pk):
        prices = {price.model: price for price in prices_in(workspace=workspace)}
    assert {name: price.prompt for name, price in prices.items()} == {"a": 5, "b": 3}
    assert prices["b"].cached_prompt == 1
    assert f"{budget(workspace).cap:f}" == "0.050000"


def test_a_model_without_a_price_is_named(workspace):
    unpriced = call("setmodel", *CHOICE)
    priced = call("setmodel", "--price", "small-1=1,2")

    assert "No price is set for small-1" in unpriced
    assert "No price" not in priced


def test_a_budget_is_lifted(workspace):
    call("setmodel", "--budget", "1")

    assert "no limit" in call("setmodel", "--budget", "none")


def test_a_workspace_goes_back_to_the_local_tier(workspace):
    call("setmodel", *CHOICE)

    assert "works on the local tier" in call("setmodel", "--local")
    assert stored(workspace).endpoint == ""


def test_without_changes_it_tells_what_is_set(workspace):
    answer = json.loads(call("setmodel", "--json"))

    assert (answer["tier"], answer["budget"], answer["has_key"]) == ("local", None, False)
    with access.in_workspace(workspace.pk):
        assert not ModelSettings.objects.in_workspace(workspace).exists()


def test_the_endpoint_is_tried_out(workspace, provider):
    answer = json.loads(
        call("setmodel", "--endpoint", provider.url, "--model", provider.model, "--test", "--json")
    )

    assert {"what": "Answers", "works": True} in [
        {"what": line["what"], "works": line["works"]} for line in answer["test"]
    ]


def test_models_that_do_not_answer_are_saved_only_if_that_is_said(workspace, provider):
    provider.script.key = "another"
    sent = ("--endpoint", provider.url, "--model", provider.model, "--test")

    with pytest.raises(CommandError, match="rejects the key") as caught:
        call("setmodel", *sent)
    with access.in_workspace(workspace.pk):
        assert not ModelSettings.objects.in_workspace(workspace).exists()
    said = call("setmodel", *sent, "--anyway")

    assert "Nothing was changed" in str(caught.value)
    assert "FAILED" in said
    assert stored(workspace).endpoint == provider.url


def test_a_provider_gives_its_address_and_the_prices_of_its_models(workspace, settings):
    settings.MODEL_HOSTS_ALLOWED = ["api.groq.com"]
    call(
        "setmodel",
        *("--provider", "groq", "--model", "openai/gpt-oss-120b", "--provider-prices"),
        *("--price", "mine=1,2"),
    )

    assert stored(workspace).endpoint == "https://api.groq.com/openai/v1"
    with access.in_workspace(workspace.pk):
        prices = {row.model: f"{row.prompt:f}" for row in prices_in(workspace=workspace)}
    assert prices == {"openai/gpt-oss-120b": "0.1500", "mine": "1.0000"}


def test_an_address_of_ones_own_goes_before_the_providers(workspace):
    call("setmodel", "--provider", "azure", *CHOICE)

    assert stored(workspace).endpoint == ENDPOINT


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--endpoint", "nowhere", "--model", "m"], "must start with http"),
        (["--endpoint", ENDPOINT], "No model is named"),
        (["--role", "judge"], "form NAME=VALUE"),
        (["--role", "poet=x"], "is no role"),
        (["--price", "a=1"], "IN,OUT"),
        (["--price", "a=x,1"], "must be a number"),
        (["--price", "a=-1,1"], "between 0 and"),
        (["--budget", "-1"], "between 0 and"),
        (["--key-file", "/no/such/file"], "cannot be read"),
        (["--gleanings", "77"], "must be from 0 to 5"),
        (["--test"], "local tier"),
    ],
)
def test_wrong_input_is_said_in_a_sentence(workspace, arguments, said):
    with pytest.raises(CommandError, match=said):
        call("setmodel", *arguments)


def test_a_workspace_that_does_not_exist_is_said():
    for command in ("setmodel", "usage"):
        with pytest.raises(CommandError, match="There is no workspace"):
            call(command)


def test_usage_says_what_was_spent(workspace):
    call("setmodel", "--price", "small-1=10,20")
    before = call("usage")
    store = TableCallStore(workspace.pk)
    store.settle(store.open_calls([a_call()]), [an_outcome()])

    answer = json.loads(call("usage", "--json"))

    assert "has called no model" in before
    assert (answer["total"]["calls"], answer["spent"]) == (1, 0.01)
    assert "0.0100 spent, no limit" in call("usage")


# --- reranking ------------------------------------------------------------------------------------
def test_a_reranker_is_chosen_with_its_own_key(workspace, tmp_path: Path):
    path = tmp_path / "key"
    path.write_text(KEY)

    said = call(
        "setmodel",
        *("--reranker", "endpoint", "--rerank-endpoint", ENDPOINT, "--rerank-model", "cross-1"),
        *("--rerank-key-file", str(path)),
    )

    row = stored(workspace)
    assert (row.reranker, row.rerank_endpoint, row.endpoint) == ("endpoint", ENDPOINT, "")
    assert secrets.unseal(row.rerank_sealed_key, workspace.pk) == KEY
    assert "reranked by cross-1" in said
    assert KEY not in said


def test_a_reranker_is_tested_without_a_chat_model(workspace, provider):
    said = call(
        "setmodel",
        *("--reranker", "endpoint", "--rerank-endpoint", provider.url, "--rerank-model", "c"),
        "--test",
    )

    assert "works     Reranking: c" in said
    assert provider.counts() == {"rerank": 1}


def test_a_reranker_that_fails_its_test_is_saved_only_anyway(workspace, provider):
    provider.script.key = "another"
    chosen = ("--reranker", "endpoint", "--rerank-endpoint", provider.url, "--rerank-model", "c")

    with pytest.raises(CommandError, match="The reranker was not changed"):
        call("setmodel", *chosen, "--test")
    with access.in_workspace(workspace.pk):
        assert not ModelSettings.objects.in_workspace(workspace).exists()

    assert "FAILED    Reranking: c" in call("setmodel", *chosen, "--test", "--anyway")
    assert stored(workspace).reranker == "endpoint"


def test_reranking_with_no_chat_model_is_refused(workspace):
    with pytest.raises(CommandError, match="local tier"):
        call("setmodel", "--reranker", "model")
