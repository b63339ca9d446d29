"""Tests of models with real calls, of saved settings and of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.forms.models import model_to_dict

from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.provider import Provider
from tests.workspaces.models_rows import KEY
from workspaces import access
from workspaces.language_models import services as language_model_services, testing
from workspaces.language_models.choice import ModelChoice
from workspaces.models import ModelSettings, Workspace

pytestmark = pytest.mark.django_db


def stored(workspace: Workspace) -> ModelSettings:
    with access.in_workspace(workspace.pk):
        return ModelSettings.objects.in_workspace(workspace).get()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


def use(workspace: Workspace, provider: Provider, **changes: object) -> None:
    choice = ModelChoice(endpoint=provider.url, model=provider.model, key=provider.key)
    choice = replace(choice, **changes)  # type: ignore[arg-type]  # names of the choice's fields
    language_model_services.model_settings_save(workspace=workspace, choice=choice)


def test_a_test_makes_real_calls_and_remembers_what_is_understood(provider):
    workspace = rows.make_workspace()
    provider.script.refused = {"json_schema"}
    use(workspace, provider)

    lines = testing.model_test(workspace=workspace).lines

    found = {line.what: line.is_good for line in lines}
    assert found["Answers"]
    assert not found["Answers by a JSON schema"]
    assert stored(workspace).support["schema"] is False
    assert provider.count("chat") >= 3


def test_every_model_in_use_is_tried(provider):
    workspace = rows.make_workspace()
    use(workspace, provider, role_models={"judge": "big-1"})

    lines = testing.model_test(workspace=workspace).lines

    asked = {seen.body["model"] for seen in provider.requests if seen.kind == "chat"}
    assert asked == {provider.model, "big-1"}
    assert [line.what for line in lines].count("List of models") == 1
    assert "Answers: big-1" in {line.what for line in lines}


def test_a_refused_key_is_a_line_and_nothing_is_learned(provider):
    workspace = rows.make_workspace()
    provider.script.key = "another"
    use(workspace, provider)

    lines = testing.model_test(workspace=workspace).lines

    assert not any(line.is_good for line in lines)
    assert stored(workspace).support == {}
    assert all(provider.key not in line.sentence for line in lines)


def test_a_test_of_other_settings_stores_nothing_of_them(provider):
    workspace = rows.make_workspace()
    with Provider() as other:
        other.script.refused = {"json_schema"}
        use(workspace, other)
        before = model_to_dict(stored(workspace))
        wanted = ModelChoice(endpoint=provider.url, model="big-1", key="sk-new")

        tested = testing.model_test(workspace=workspace, choice=wanted)

        assert tested.works
        assert {seen.key for seen in provider.requests} == {"sk-new"}
        assert {seen.body["model"] for seen in provider.requests if seen.body} == {"big-1"}
        assert not other.requests
        assert model_to_dict(stored(workspace)) == before


def test_a_stored_key_is_not_sent_to_another_host_to_test_it(provider):
    workspace = rows.make_workspace()
    with Provider() as other:
        use(workspace, other)

        with pytest.raises(InputError) as caught:
            testing.model_test(
                workspace=workspace, choice=ModelChoice(endpoint=provider.url, model="big-1")
            )

    assert caught.value.code == "key_for_another_host"
    assert not provider.requests


def test_settings_that_work_are_saved_with_what_their_test_found(provider):
    workspace = rows.make_workspace()
    provider.script.refused = {"json_schema"}
    wanted = ModelChoice(endpoint=provider.url, model="big-1", key=KEY)

    tested = testing.model_test_and_save(workspace=workspace, choice=wanted)

    row = stored(workspace)
    assert tested.works
    assert (row.endpoint, row.model, row.key_hint) == (provider.url, "big-1", "wxyz")
    assert row.support["schema"] is False
    assert row.support["stream"] is True


def test_settings_of_which_one_model_does_not_answer_are_not_saved(provider):
    workspace = rows.make_workspace()
    provider.script.replies["no model"] = (404, {"error": {"message": "The model is not found"}})
    wanted = ModelChoice(endpoint=provider.url, model="a", role_models={"judge": "b"})
    for fault in ("fine",) * 4 + ("no model",) * 9:
        provider.script.next(fault)

    tested = testing.model_test_and_save(workspace=workspace, choice=wanted)

    assert not tested.works
    assert {line.what: line.is_good for line in tested.lines}["Answers: a"]
    assert not {line.what: line.is_good for line in tested.lines}["Answers: b"]
    with access.in_workspace(workspace.pk):
        assert not ModelSettings.objects.in_workspace(workspace).exists()


def test_there_is_nothing_to_test_on_the_local_tier():
    with pytest.raises(ConflictError, match="local tier"):
        testing.model_test(workspace=rows.make_workspace())
