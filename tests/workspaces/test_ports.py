from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from django.db import connection

from kb_project.errors import RefusedError
from kb_project.llm.capabilities import Feature, Support
from kb_project.llm.embedders import EndpointEmbedder
from kb_project.llm.ports import ModelOptions, Role
from kb_project.ports import build_ports
from tests import rows
from tests.workspaces.models_rows import ENDPOINT, KEY
from workspaces import access, ports, secrets
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import EmbeddingIndex, IndexState, ModelSettings, Workspace
from workspaces.ports import chat_config, ports_for, settings_of
from workspaces.usage.ledger import TableCallStore

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

CHOICE = ModelChoice(endpoint=ENDPOINT, model="small-1", key=KEY)


@pytest.fixture
def installation(settings) -> None:
    settings.MODEL_ENDPOINT = "http://models.internal/v1"
    settings.MODEL_FOR = "all"
    settings.MODEL_KEY = "sk-of-the-installation"
    settings.MODEL_NAME = "house-1"


def save(workspace: Workspace, **changes: object) -> None:
    choice = replace(CHOICE, **changes)  # type: ignore[arg-type]  # names of the choice's fields
    language_model_services.model_settings_save(workspace=workspace, choice=choice)


def config_of(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        return chat_config(workspace.pk, settings_of(workspace.pk))


def make_index(workspace: Workspace, state: IndexState, provider: str = "endpoint") -> None:
    with access.in_workspace(workspace.pk):
        EmbeddingIndex.objects.create(
            workspace=workspace,
            provider=provider,
            endpoint="" if provider == "local" else ENDPOINT,
            model="embed-1",
            dimension=32,
            fingerprint=f"x/{state}",
            state=state,
        )


def test_without_settings_a_workspace_is_on_the_local_tier():
    ports = ports_for(rows.make_workspace().pk)

    assert ports.chat is None
    assert ports.next_embedder is None
    assert ports.embedder is build_ports().embedder
    assert ports.options == ModelOptions()


def test_what_was_chosen_reaches_the_chat_model():
    workspace = rows.make_workspace()
    save(
        workspace,
        role_models={"judge": "big-1"},
        limits={"extract": {"max_output": 77}},
        context_window=4096,
        concurrency=3,
    )

    config = config_of(workspace)

    assert (config.endpoint, config.key, config.concurrency) == (ENDPOINT, KEY, 3)
    assert (config.model_of(Role.EXTRACT), config.model_of(Role.JUDGE)) == ("small-1", "big-1")
    assert config.limits_of(Role.EXTRACT).max_output == 77
    assert config.limits_of(Role.EXTRACT).timeout == 180
    assert ports_for(workspace.pk).chat.model_of(Role.JUDGE) == "big-1"
    assert KEY not in repr(config)


def test_what_is_to_be_looked_for_reaches_the_stages():
    workspace = rows.make_workspace()
    save(workspace, gleanings=2, wants_claims=True, entity_types=("vessel",))
    tuning = {"domain": "Ships", "language": "English", "examples": ["one"]}
    language_model_services.tuning_save(workspace=workspace, tuning=tuning)

    options = ports_for(workspace.pk).options

    assert options == ModelOptions(
        gleanings=2,
        wants_claims=True,
        entity_types=("vessel",),
        domain="Ships",
        language="English",
        examples=("one",),
    )


def test_ports_are_kept_until_something_is_chosen_anew():
    workspace = rows.make_workspace()
    save(workspace)

    first, second = ports_for(workspace.pk), ports_for(workspace.pk)
    save(workspace, model="big-1")
    third = ports_for(workspace.pk)

    assert first is second
    assert third.chat.model_of(Role.ANSWER) == "big-1"


def test_a_learned_step_down_keeps_the_ports_and_reaches_new_ones():
    workspace = rows.make_workspace()
    save(workspace)
    first = ports_for(workspace.pk)

    store = TableCallStore(workspace.pk, endpoint=ENDPOINT)
    store.remember_support(Support().without(Feature.STREAM))

    assert ports_for(workspace.pk) is first
    assert not config_of(workspace).support.stream


def test_kept_ports_cost_one_query(django_assert_max_num_queries):
    workspace = rows.make_workspace()
    save(workspace)
    ports_for(workspace.pk)

    # Beside it: begin and end of the nested scope.
    with access.in_workspace(workspace.pk), django_assert_max_num_queries(1):
        ports_for(workspace.pk)


def test_a_key_that_cannot_be_read_any_more_is_a_refusal(settings):
    workspace = rows.make_workspace()
    save(workspace)
    settings.SECRET_KEY = "another"

    with pytest.raises(RefusedError, match="cannot be read"):
        ports_for(workspace.pk)


@pytest.mark.django_db(transaction=True)
def test_threads_do_not_share_a_chat_model():
    workspace = rows.make_workspace()
    save(workspace)
    found = [ports_for(workspace.pk).chat]

    def look() -> None:
        found.append(ports_for(workspace.pk).chat)
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert found[0] is not found[1]


# --- the installation's model ---------------------------------------------------------------------
def test_the_installations_model_serves_who_has_none(installation):
    config = config_of(rows.make_workspace())

    assert (config.endpoint, config.model) == ("http://models.internal/v1", "house-1")
    assert config.key == "sk-of-the-installation"


def test_a_workspace_may_stay_local_all_the_same(installation):
    workspace = rows.make_workspace()
    language_model_services.model_settings_clear(workspace=workspace)
    local = ports_for(workspace.pk).chat

    language_model_services.installation_model_use(workspace=workspace)

    assert local is None
    assert ports_for(workspace.pk).chat is not None


def test_the_installations_key_goes_to_its_own_endpoint_only(installation):
    workspace = rows.make_workspace()

    save(workspace, key=None)

    assert (config_of(workspace).endpoint, config_of(workspace).key) == (ENDPOINT, "")


def test_an_endpoint_without_a_model_is_no_installation_model(settings):
    settings.MODEL_ENDPOINT, settings.MODEL_NAME = "http://models.internal/v1", ""

    assert ports_for(rows.make_workspace().pk).chat is None


# --- embedding ------------------------------------------------------------------------------------
def test_the_index_in_use_names_the_embedder():
    workspace = rows.make_workspace()
    save(workspace)
    make_index(workspace, IndexState.ACTIVE)

    embedder = ports_for(workspace.pk).embedder

    assert isinstance(embedder, EndpointEmbedder)
    assert embedder.dimension == 32


def test_an_index_that_is_being_made_names_the_next_embedder():
    workspace = rows.make_workspace()
    before = ports_for(workspace.pk)
    make_index(workspace, IndexState.BUILDING)

    ports = ports_for(workspace.pk)

    assert before.next_embedder is None
    assert ports.embedder is build_ports().embedder
    assert isinstance(ports.next_embedder, EndpointEmbedder)


def test_an_index_may_go_back_to_the_local_model():
    workspace = rows.make_workspace()
    make_index(workspace, IndexState.ACTIVE, provider="local")
    make_index(workspace, IndexState.RETIRED)

    ports = ports_for(workspace.pk)

    assert ports.embedder is build_ports().embedder
    assert ports.next_embedder is None


def test_no_workspace_sees_the_settings_of_another():
    mine, theirs = rows.make_workspace("Mine"), rows.make_workspace("Theirs")
    save(theirs)

    with access.in_workspace(mine.pk):
        assert ModelSettings.objects.in_workspace(theirs).count() == 0
    assert ports_for(mine.pk).chat is None
    with access.in_workspace(theirs.pk):
        sealed = ModelSettings.objects.in_workspace(theirs).get().sealed_key
    with pytest.raises(RefusedError):
        secrets.unseal(sealed, mine.pk)


def test_threads_share_what_is_nobodys_own(django_assert_num_queries):
    workspace = rows.make_workspace()
    made = ports_for(workspace.pk)
    ports._cache.kept.clear()  # as in a thread that has asked for nothing yet

    with django_assert_num_queries(6):
        assert ports_for(workspace.pk) is made


def test_a_workspace_that_gets_a_model_of_its_own_is_not_taken_for_local():
    workspace = rows.make_workspace()
    ports_for(workspace.pk)

    with access.in_workspace(workspace.pk):
        save(workspace)

    assert ports_for(workspace.pk).chat is not None
    assert ports_for(workspace.pk).chat is ports_for(workspace.pk).chat
