"""The installation's model is for workspaces that the operator allows, with the models offered."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from kb_project.errors import EndpointError, InputError, RefusedError
from tests import rows
from tests.api import address, assert_problem, client
from tests.provider import EMBEDDING_MODEL, Provider
from tests.workspaces.models_rows import ledger
from tests.workspaces.pages import signed_in
from workspaces import access, ports
from workspaces.language_models import embedding, queries, services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import EmbeddingIndex, IndexState, ModelSettings, Role, Workspace
from workspaces.people import services as people_services

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def provider(settings) -> Iterator[Provider]:
    """The installation's model, on loopback; workspaces may not enter its address."""
    settings.MODEL_HOSTS_ALLOWED = []
    with Provider() as running:
        running.script.key = running.key
        settings.MODEL_ENDPOINT, settings.MODEL_NAME = running.url, running.model
        settings.MODEL_KEY = running.key
        yield running


def tier_of(workspace: Workspace) -> str:
    with access.in_workspace(workspace.pk):
        return queries.model_state(workspace=workspace).tier


def row_of(workspace: Workspace) -> ModelSettings | None:
    with access.in_workspace(workspace.pk):
        return ports.settings_of(workspace.pk)


def allow(workspace: Workspace, *, is_allowed: bool = True) -> None:
    services.installation_model_allow(workspace=workspace, is_allowed=is_allowed)


# --- permission -----------------------------------------------------------------------------------
@pytest.mark.usefixtures("provider")
def test_a_new_workspace_may_not_use_it():
    workspace = rows.make_workspace()

    assert tier_of(workspace) == "local"
    assert ports.ports_for(workspace.pk).chat is None


@pytest.mark.parametrize(
    ("whom", "new", "listed"),
    [
        ("none", "local", "local"),
        ("listed", "local", "installation"),
        ("all", "installation", "installation"),
        ("everyone", "local", "local"),
    ],
)
def test_the_operator_decides_for_whom_it_is(provider, settings, whom, new, listed):
    settings.MODEL_FOR = whom
    one, other = rows.make_workspace("One"), rows.make_workspace("Other")
    allow(other)

    assert (tier_of(one), tier_of(other)) == (new, listed)


@pytest.mark.usefixtures("provider")
def test_a_permission_is_given_and_withdrawn_by_a_command():
    workspace, said = rows.make_workspace(), StringIO()

    call_command("allowmodel", workspace.slug, stdout=said)
    given = tier_of(workspace)
    call_command("allowmodel", workspace.slug, "--off", stdout=said)

    assert (given, tier_of(workspace)) == ("installation", "local")
    assert "may use the installation's model" in said.getvalue()
    with pytest.raises(CommandError, match="There is no workspace"):
        call_command("allowmodel", "nowhere")


@pytest.mark.usefixtures("provider")
def test_a_workspace_that_the_operator_creates_may_use_it():
    call_command("createworkspace", "Papers", stdout=StringIO())

    assert tier_of(Workspace.objects.get(slug="papers")) == "installation"


@pytest.mark.usefixtures("provider")
def test_no_request_of_an_owner_gives_the_permission():
    cast = rows.make_cast()
    api, page = client(cast.alice), signed_in(cast.alice)
    put = {"endpoint": "", "is_local": False, "may_use_installation": True}

    api.put(address(cast.workspace, "models/"), put, format="json")
    page.post(f"/w/{cast.workspace.slug}/models/installation/", put)
    shown = page.get(f"/w/{cast.workspace.slug}/models/").content.decode()

    assert tier_of(cast.workspace) == "local"
    assert "Your administrator can allow it for this workspace" in shown


@pytest.mark.usefixtures("provider")
def test_the_permission_outlives_other_settings():
    workspace = rows.make_workspace()
    allow(workspace)

    services.model_settings_clear(workspace=workspace)
    services.installation_model_use(workspace=workspace)

    assert tier_of(workspace) == "installation"


# --- no other way to it ---------------------------------------------------------------------------
def test_its_private_address_is_not_for_workspaces_to_enter(provider):
    workspace = rows.make_workspace()
    choice = ModelChoice(endpoint=provider.url, model=provider.model)

    with pytest.raises(InputError) as refused:
        services.model_settings_save(workspace=workspace, choice=choice)

    assert refused.value.code == "endpoint_not_reached"


def test_its_key_is_not_sent_for_an_index_at_its_address(provider, settings):
    """A workspace that enters the same address without a key embeds without the operator's."""
    settings.MODEL_HOSTS_ALLOWED = ["127.0.0.1"]
    workspace = rows.make_workspace()
    choice = ModelChoice(endpoint=provider.url, model=provider.model)
    services.model_settings_save(workspace=workspace, choice=choice)

    with pytest.raises(RefusedError) as refused:
        embedding.embedding_change(workspace=workspace, provider="endpoint", model=EMBEDDING_MODEL)

    assert refused.value.code == "key_refused"
    assert {seen.key for seen in provider.requests} == {"none"}


def test_only_offered_models_are_used(provider, settings):
    cast = rows.make_cast()
    allow(cast.workspace)
    put = {"role_models": {"judge": "the-dearest"}}

    refused = client(cast.alice).put(address(cast.workspace, "models/"), put, format="json")
    settings.MODEL_PRICES = ["the-dearest=10/20"]
    chosen = client(cast.alice).put(address(cast.workspace, "models/"), put, format="json")
    settings.MODEL_PRICES = []
    with access.in_workspace(cast.workspace.pk):
        config = ports.chat_config(cast.workspace.pk, ports.settings_of(cast.workspace.pk))

    assert_problem(refused, 400, "model_not_offered")
    assert chosen.status_code == 200
    # It is no longer offered: the installation's own takes its place.
    assert set(config.models.values()) == {provider.model}


# --- embeddings -----------------------------------------------------------------------------------
@pytest.mark.usefixtures("quick_retries")
def test_embeddings_with_it_are_in_the_ledger_and_end_with_the_permission(provider, settings):
    settings.MODEL_PRICES = [f"{EMBEDDING_MODEL}=100/0"]
    workspace = rows.make_workspace()
    allow(workspace)
    embedding.embedding_change(workspace=workspace, provider="endpoint", model=EMBEDDING_MODEL)
    with access.in_workspace(workspace.pk):
        EmbeddingIndex.objects.in_workspace(workspace).update(state=IndexState.ACTIVE)

    ports.ports_for(workspace.pk).embedder.embed_passages(["Marley was dead: to begin with."])
    calls = [(call.stage, call.is_installation, call.cost > 0) for call in ledger(workspace)]
    allow(workspace, is_allowed=False)
    with pytest.raises(EndpointError):
        ports.ports_for(workspace.pk).embedder.embed_question("Who was dead?")

    assert set(calls) == {("embed", True, True)}
    assert provider.count("embeddings") == len(calls)


@pytest.mark.usefixtures("provider")
def test_an_embedding_model_that_is_not_offered_is_refused():
    workspace = rows.make_workspace()
    allow(workspace)

    with pytest.raises(InputError, match="does not offer"):
        embedding.embedding_change(workspace=workspace, provider="endpoint", model="the-dearest")


# --- workspaces from before -----------------------------------------------------------------------
class Editor:
    connection = connection


def migrate() -> None:
    found: Any = importlib.import_module("workspaces.migrations.0015_model_limits")
    found.allow_those_that_use_it(apps, Editor)


@pytest.mark.usefixtures("provider")
def test_workspaces_that_used_it_before_keep_it():
    used, chose, refused = (rows.make_workspace(name) for name in ("Used", "Chose", "Refused"))
    services.model_settings_save(workspace=chose, choice=ModelChoice(gleanings=2))
    services.model_settings_clear(workspace=refused)
    own = rows.make_workspace("Own")
    choice = ModelChoice(endpoint="https://93.184.215.14/v1", model="m")
    services.model_settings_save(workspace=own, choice=choice)

    migrate()

    assert [tier_of(one) for one in (used, chose, refused, own)] == [
        *("installation", "installation", "local", "own")
    ]
    assert [row_of(one).may_use_installation for one in (refused, own)] == [False, False]


def test_an_index_made_with_its_key_keeps_it(provider):
    workspace = rows.make_workspace()
    with access.in_workspace(workspace.pk):
        EmbeddingIndex.objects.create(
            workspace=workspace,
            endpoint=provider.url,
            model=EMBEDDING_MODEL,
            dimension=32,
            fingerprint="f",
            state=IndexState.ACTIVE,
        )

    migrate()

    assert ports.ports_for(workspace.pk).embedder.embed_question("a ghost").shape == (32,)


def test_without_a_model_of_the_installation_nothing_is_allowed(settings):
    settings.MODEL_ENDPOINT = ""
    workspace = rows.make_workspace()

    migrate()

    assert row_of(workspace) is None


# --- the test's rate ------------------------------------------------------------------------------
def post_test(cast: rows.Cast, user: Any, path: str = "models/test/") -> Any:
    return client(user).post(address(cast.workspace, path))


@pytest.mark.parametrize("path", ["models/test/", "reranker/test/"])
def test_tests_are_limited_for_a_workspace(path: str):
    cast = rows.make_cast()
    dora = rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.ADMIN)

    answers = [post_test(cast, (cast.alice, dora)[number % 2], path) for number in range(11)]

    assert {answer.status_code for answer in answers[:10]} == {409}
    assert_problem(answers[10], 429, "too_many_requests")
    assert 0 < int(answers[10]["Retry-After"]) <= 600
    assert post_test(cast, cast.bob, path).status_code == 403
    assert post_test(cast, cast.charlie, path).status_code == 404


def test_tests_are_limited_for_a_person_across_workspaces():
    cast = rows.make_cast()
    other = rows.Cast(
        rows.make_workspace("Second", owner=cast.alice), cast.alice, cast.bob, cast.charlie
    )
    for number in range(10):
        post_test((cast, other)[number % 2], cast.alice)

    assert post_test(other, cast.alice).status_code == 429


def test_the_page_limits_tests_too(settings):
    settings.RATES = {**settings.RATES, "model_tests": 1000}
    cast = rows.make_cast()
    browser, place = signed_in(cast.alice), f"/w/{cast.workspace.slug}/models/test/"
    sent = {"context_window": 16_000, "concurrency": 8, "gleanings": 1}
    for _ in range(10):
        browser.post(place, sent)

    answer = browser.post(place, sent)

    beside = browser.post(place, sent, headers={"HX-Request": "true"})

    assert (answer.status_code, beside.status_code) == (429, 200)
    assert "tested too often" in beside.content.decode()
    assert "tested too often" in answer.content.decode()
    assert "Retry-After" in answer


# --- what it does ---------------------------------------------------------------------------------
def test_a_model_for_answers_writes_them_and_does_nothing_else(provider, settings):
    settings.MODEL_WORK = "answers"
    workspace = rows.make_workspace()
    allow(workspace)

    found = ports.ports_for(workspace.pk)

    assert found.chat is None
    assert found.writer is not None
    with access.in_workspace(workspace.pk):
        assert queries.model_state(workspace=workspace).only_answers


@pytest.mark.usefixtures("provider")
def test_without_permission_a_model_for_answers_writes_none(settings):
    settings.MODEL_WORK = "answers"
    workspace = rows.make_workspace()

    assert ports.ports_for(workspace.pk).writer is None


def test_what_its_server_takes_at_once_limits_every_workspace(provider, settings):
    settings.MODEL_CONTEXT_WINDOW, settings.MODEL_CONCURRENCY = 4096, 1
    workspace = rows.make_workspace()
    allow(workspace)
    row = row_of(workspace)
    assert row is not None
    assert (row.context_window, row.concurrency) == (16_000, 8)

    config = ports.chat_config(workspace.pk, row)

    assert config is not None
    assert (config.context_window, config.concurrency) == (4096, 1)
