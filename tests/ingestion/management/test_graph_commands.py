from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.models import Entity, Relationship
from kb_project.graph.age_store import AgeGraphStore
from kb_project.graph.ports import GraphNode
from tests.rows import make_entity, make_workspace
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    """Two related entities, not projected yet."""
    made = make_workspace("Harbour")
    a, b = make_entity(made, "Ada"), make_entity(made, "Bea")
    with access.in_workspace(made.pk):
        Relationship.objects.create(workspace=made, source=a, target=b, weight=1)
    return made


def call(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def call_json(command: str, slug: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(call(command, "--workspace", slug, "--json"))
    return answer


def failing_check(slug: str) -> dict[str, Any]:
    out = StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("checkgraph", "--workspace", slug, "--json", stdout=out)
    assert stopped.value.code == 1
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def test_a_graph_that_was_never_projected_is_reported_missing(workspace: Workspace):
    answer = failing_check("harbour")

    assert not answer["agrees"]
    assert len(answer["entities"]["missing"]) == 2
    assert len(answer["relationships"]["missing"]) == 1
    assert answer["entities"]["unexpected"] == []
    assert answer["waiting"] == 3


def test_after_a_rebuild_the_check_is_content(workspace: Workspace):
    rebuilt = call_json("rebuildgraph", "harbour")

    assert (rebuilt["entities"], rebuilt["relationships"]) == (2, 1)
    assert call_json("checkgraph", "harbour")["agrees"]
    assert "agrees with the tables" in call("checkgraph", "--workspace", "harbour")


def test_a_rebuild_repairs_what_should_not_be_there(workspace: Workspace):
    ghost = Entity(name="Ghost")
    with access.in_workspace(workspace.pk):
        AgeGraphStore().upsert(workspace.pk, [GraphNode(ghost.pk, "Ghost")], [])
    assert failing_check("harbour")["entities"]["unexpected"] == [str(ghost.pk)]

    call("rebuildgraph", "--workspace", "harbour")

    assert call_json("checkgraph", "harbour")["agrees"]


def test_people_read_counts_in_a_sentence(workspace: Workspace):
    said = call("rebuildgraph", "--workspace", "harbour")

    assert said.startswith("harbour: 2 entities and terms, 1 relationship in ")


@pytest.mark.parametrize("command", ["rebuildgraph", "checkgraph"])
def test_an_unknown_workspace_is_named(command: str):
    with pytest.raises(CommandError, match="'nowhere'"):
        call(command, "--workspace", "nowhere")
