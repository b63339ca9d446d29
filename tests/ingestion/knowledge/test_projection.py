"""Where the projection of the graph and the tables differ, and which of it waits."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from ingestion.knowledge import projection
from ingestion.models import Entity, GraphTombstone, Relationship
from kb_project.graph.ports import GraphNode
from kb_project.graph.table_store import TableGraphStore
from tests.memory_graph import MemoryGraphStore
from tests.rows import make_entity, make_workspace
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    """Two related entities that no refresh has to look at."""
    made = make_workspace()
    a, b = make_entity(made, "Ada"), make_entity(made, "Bea")
    with access.in_workspace(made.pk):
        Relationship.objects.create(workspace=made, source=a, target=b, weight=1, is_changed=False)
        Entity.objects.in_workspace(made).update(is_changed=False)
    return made


@pytest.fixture
def store(workspace: Workspace) -> MemoryGraphStore:
    """A projection that agrees with the tables."""
    made = MemoryGraphStore()
    projection.rebuild(workspace.pk, made)
    return made


def node_of(workspace: Workspace, key: str) -> GraphNode:
    with access.in_workspace(workspace.pk):
        nodes = TableGraphStore().everything(workspace.pk).nodes
    return next(one for one in nodes if one.name.lower() == key)


def compare(workspace: Workspace, store: MemoryGraphStore) -> projection.ProjectionDifference:
    return projection.compare(workspace.pk, store)


def test_after_a_rebuild_nothing_differs(workspace: Workspace, store: MemoryGraphStore):
    difference = compare(workspace, store)

    assert difference.is_empty
    assert not difference.lasting
    assert not difference.waiting


@pytest.mark.parametrize("change", [{"name": "Eda"}, {"type": "PLACE"}, {"degree": 7}])
def test_an_entity_that_is_told_otherwise_differs(
    change: dict[str, object], workspace: Workspace, store: MemoryGraphStore
):
    ada = node_of(workspace, "ada")
    store.upsert(workspace.pk, [replace(ada, **change)], [])  # type: ignore[arg-type]  # any field

    difference = compare(workspace, store)

    assert difference.altered.nodes == {ada.id}
    assert difference.lasting == {ada.id}
    assert difference.is_empty, "the ids are the same"


def test_a_link_of_another_weight_differs(workspace: Workspace, store: MemoryGraphStore):
    [link] = store.everything(workspace.pk).edges
    store.upsert(workspace.pk, [], [replace(link, weight=9.0)])

    assert compare(workspace, store).lasting == {link.id}


def test_what_one_of_the_two_lacks_differs(workspace: Workspace, store: MemoryGraphStore):
    ada, [link] = node_of(workspace, "ada"), store.everything(workspace.pk).edges
    ghost = GraphNode(UUID(int=7), "Ghost")
    store.remove(workspace.pk, [ada.id], [])
    store.upsert(workspace.pk, [ghost], [])

    difference = compare(workspace, store)

    assert difference.missing.nodes == {ada.id}
    assert difference.missing.edges == {link.id}
    assert difference.unexpected.nodes == {ghost.id}
    assert difference.lasting == {ada.id, link.id, ghost.id}


def test_what_is_marked_waits(workspace: Workspace, store: MemoryGraphStore):
    ada, ghost = node_of(workspace, "ada"), GraphNode(UUID(int=7), "Ghost")
    store.upsert(workspace.pk, [replace(ada, name="Eda"), ghost], [])
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(pk=ada.id).update(is_changed=True)
        GraphTombstone.objects.create(workspace=workspace, pk=ghost.id)

    difference = compare(workspace, store)

    assert difference.waiting == {ada.id, ghost.id}
    assert not difference.lasting
