from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kb_project.errors import ConflictError, InputError
from kb_project.llm import policy
from kb_project.llm.rerankers import BrokenReranker, EndpointReranker, ListwiseReranker
from tests import rows
from tests.provider import Provider
from tests.workspaces.models_rows import ENDPOINT, KEY, ledger
from workspaces import access, secrets
from workspaces.language_models import services as language_model_services, testing
from workspaces.language_models.choice import (
    ModelChoice,
    RerankChoice,
    checked_rerank_choice,
    rerank_choice_in,
)
from workspaces.models import ModelSettings, RerankerKind, Workspace
from workspaces.ports import ports_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

CHOICE = RerankChoice(kind=RerankerKind.ENDPOINT, endpoint=ENDPOINT, key=KEY, model="cross-1")
MODEL = RerankChoice(kind=RerankerKind.MODEL)


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def provider() -> Iterator[Provider]:
    policy.breaker_of.cache_clear()
    with Provider() as running:
        yield running


def stored(workspace: Workspace) -> ModelSettings:
    with access.in_workspace(workspace.pk):
        return ModelSettings.objects.in_workspace(workspace).get()


def key_of(workspace: Workspace) -> str:
    return secrets.unseal(stored(workspace).rerank_sealed_key, workspace.pk)


def with_chat(workspace: Workspace, endpoint: str = ENDPOINT) -> None:
    language_model_services.model_settings_save(
        workspace=workspace, choice=ModelChoice(endpoint=endpoint, model="small-1")
    )


def test_reranking_is_off_unless_somebody_chose_it(workspace):
    assert ports_for(workspace.pk).reranker is None

    with_chat(workspace)

    assert ports_for(workspace.pk).reranker is None


def test_an_endpoint_is_chosen_and_its_key_sealed(workspace):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)

    row = stored(workspace)
    assert rerank_choice_in(row) == replace(CHOICE, key=None)
    assert key_of(workspace) == KEY
    assert KEY.encode() not in bytes(row.rerank_sealed_key)
    assert row.rerank_key_hint == "wxyz"
    assert isinstance(ports_for(workspace.pk).reranker, EndpointReranker)


def test_a_workspace_with_a_reranker_alone_stays_on_the_local_tier(workspace):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)

    assert ports_for(workspace.pk).chat is None


def test_the_key_of_the_chat_model_is_another(workspace):
    language_model_services.model_settings_save(
        workspace=workspace, choice=ModelChoice(endpoint=ENDPOINT, model="m", key="sk-of-the-chat")
    )
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)

    assert secrets.unseal(stored(workspace).sealed_key, workspace.pk) == "sk-of-the-chat"
    assert key_of(workspace) == KEY


def test_a_key_is_not_sent_to_another_host(workspace):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)
    elsewhere = replace(CHOICE, key=None, endpoint="https://other.example.org/v1")

    with pytest.raises(InputError) as caught:
        language_model_services.reranker_set(workspace=workspace, choice=elsewhere)

    assert caught.value.code == "key_for_another_host"
    assert stored(workspace).rerank_endpoint == ENDPOINT


def test_switching_off_keeps_what_was_entered(workspace):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)

    language_model_services.reranker_set(
        workspace=workspace, choice=replace(CHOICE, kind=RerankerKind.OFF, key=None)
    )

    assert ports_for(workspace.pk).reranker is None
    assert key_of(workspace) == KEY


def test_a_key_can_be_removed(workspace):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)

    language_model_services.reranker_set(workspace=workspace, choice=replace(CHOICE, key=""))

    assert (key_of(workspace), stored(workspace).rerank_key_hint) == ("", "")


def test_the_chat_model_reranks_where_there_is_one(workspace):
    with_chat(workspace)

    language_model_services.reranker_set(workspace=workspace, choice=MODEL)

    assert isinstance(ports_for(workspace.pk).reranker, ListwiseReranker)


def test_the_local_tier_has_no_chat_model_to_rerank(workspace):
    with pytest.raises(ConflictError) as caught:
        language_model_services.reranker_set(workspace=workspace, choice=MODEL)

    assert caught.value.code == "no_model"


def test_when_the_chat_model_goes_its_reranking_goes(workspace):
    with_chat(workspace)
    language_model_services.reranker_set(workspace=workspace, choice=MODEL)

    language_model_services.model_settings_clear(workspace=workspace)

    assert ports_for(workspace.pk).reranker is None


def test_a_key_that_cannot_be_read_stops_reranking_only(workspace, settings):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)
    settings.SECRET_KEY = "another"
    language_model_services.reranker_set(
        workspace=workspace, choice=replace(CHOICE, key=None, model="cross-2")
    )

    reranker = ports_for(workspace.pk).reranker

    assert isinstance(reranker, BrokenReranker)
    assert reranker.name == "cross-2"


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": ""},
        {"model": " "},
        {"endpoint": "ftp://example.org"},
        {"endpoint": "https://me:secret@example.org"},
        {"key": "sk with spaces"},
        {"model": "x" * 200},
        {"kind": "magic"},
    ],
)
def test_what_breaks_a_rule_is_refused(changes):
    with pytest.raises(InputError) as caught:
        checked_rerank_choice(replace(CHOICE, **changes))

    assert caught.value.kept == "Nothing was changed."


# --- the test -------------------------------------------------------------------------------------
def on(provider: Provider) -> RerankChoice:
    return replace(CHOICE, endpoint=provider.url)


def test_the_test_makes_one_real_call_and_the_ledger_has_it(workspace, provider):
    language_model_services.reranker_set(workspace=workspace, choice=on(provider))

    [line] = testing.reranker_test(workspace=workspace).lines

    assert line.is_good, line.sentence
    assert "cross-1" in line.what
    assert provider.count("rerank") == 1
    [call] = ledger(workspace)
    assert (call.stage, call.model, call.state) == ("rerank", "cross-1", "done")
    assert call.prompt_tokens == 21


def test_the_test_says_what_fails(workspace, provider):
    provider.script.next("401", kind="rerank")
    language_model_services.reranker_set(workspace=workspace, choice=on(provider))

    [line] = testing.reranker_test(workspace=workspace).lines

    assert not line.is_good
    assert "rejects the key" in line.sentence
    assert [call.state for call in ledger(workspace)] == ["failed"]


def test_every_test_asks(workspace, provider):
    language_model_services.reranker_set(workspace=workspace, choice=on(provider))
    assert testing.reranker_test(workspace=workspace).works
    provider.script.next("401", kind="rerank")

    assert not testing.reranker_test(workspace=workspace).works


def test_a_reranker_that_ranks_nonsense_first_does_not_pass(workspace, provider):
    rows_ = [{"index": place, "relevance_score": 3 - place} for place in range(3)]
    provider.script.reranking = {"results": rows_}
    language_model_services.reranker_set(workspace=workspace, choice=on(provider))

    [line] = testing.reranker_test(workspace=workspace).lines

    assert not line.is_good


def test_what_is_off_cannot_be_tested(workspace):
    with pytest.raises(ConflictError) as caught:
        testing.reranker_test(workspace=workspace)

    assert caught.value.code == "reranker_off"


def test_a_choice_is_tested_before_it_is_saved(workspace, provider):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)

    tested = testing.reranker_test(workspace=workspace, choice=replace(on(provider), model="new"))

    assert tested.works
    assert "new" in tested.lines[0].what
    assert {seen.key for seen in provider.requests} == {KEY}
    assert rerank_choice_in(stored(workspace)) == replace(CHOICE, key=None)


def test_a_choice_that_works_is_saved_and_one_that_does_not_is_not(workspace, provider):
    provider.script.next("401", kind="rerank")

    assert not testing.reranker_test_and_save(workspace=workspace, choice=on(provider)).works
    assert ports_for(workspace.pk).reranker is None
    assert testing.reranker_test_and_save(workspace=workspace, choice=on(provider)).works
    assert isinstance(ports_for(workspace.pk).reranker, EndpointReranker)


def test_a_stored_key_is_not_sent_to_another_host_to_test_it(workspace, provider):
    language_model_services.reranker_set(workspace=workspace, choice=CHOICE)

    with pytest.raises(InputError) as caught:
        testing.reranker_test(workspace=workspace, choice=replace(on(provider), key=None))

    assert caught.value.code == "key_for_another_host"
    assert not provider.requests


def test_switching_off_needs_no_test(workspace, provider):
    language_model_services.reranker_set(workspace=workspace, choice=on(provider))
    off = replace(on(provider), kind=RerankerKind.OFF)

    assert testing.reranker_test_and_save(workspace=workspace, choice=off).works
    assert ports_for(workspace.pk).reranker is None
    assert not provider.requests
