"""The command that compares workspaces with what they follow from."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.models import Entity
from tests.ingestion.lives.world import World, make_world
from tests.rows import make_workspace
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(media: object, fake_embedder: None) -> World:
    return make_world("Town", papers=["log", "letter"])


def ghost(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        Entity.objects.create(
            workspace=workspace, key="ghost", name="Ghost", type="person", is_changed=False
        )


def said(*arguments: str, code: int = 0) -> str:
    out = StringIO()
    if not code:
        call_command("checkgraph", *arguments, stdout=out)
        return out.getvalue()
    with pytest.raises(SystemExit) as stopped:
        call_command("checkgraph", *arguments, stdout=out)
    assert stopped.value.code == code
    return out.getvalue()


def answers(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_workspace_that_is_sound_is_told_as_such(world: World):
    [answer] = answers(said("--workspace", "town", "--deep", "--json"))

    assert answer["agrees"]
    assert answer["sound"]
    assert (answer["waiting"], answer["drifts"], answer["under_way"]) == (0, [], [])
    assert "no other drift was found" in said("--workspace", "town")


def test_what_is_adrift_is_told_with_what_to_do(world: World):
    ghost(world.workspace)

    text = said("--workspace", "town", code=1)

    assert "1 entity or fact has a name, description or count" in text
    assert "run 'checkgraph --repair'" in text


def test_a_repair_mends_does_the_work_and_checks_again(world: World):
    ghost(world.workspace)

    [answer] = answers(said("--workspace", "town", "--repair", "--json"))

    assert answer["sound"]
    assert answer["under_way"] == []
    assert any("that no document supports" in sentence for sentence in answer["repaired"])
    world.check()


def test_all_workspaces_are_looked_at_and_one_that_is_adrift_is_enough(world: World):
    other = make_workspace("Elsewhere")
    assert [one["workspace"] for one in answers(said("--all", "--json"))] == ["elsewhere", "town"]
    ghost(other)

    elsewhere, town = answers(said("--all", "--json", code=1))

    assert not elsewhere["sound"]
    assert town["sound"]


@pytest.mark.parametrize("arguments", [[], ["--all", "--workspace", "town"]])
def test_it_wants_one_workspace_or_all(arguments: list[str]):
    with pytest.raises(CommandError):
        call_command("checkgraph", *arguments)
