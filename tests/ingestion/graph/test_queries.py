"""Parts of the graph, as pages and the API get them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from ingestion.graph import queries
from ingestion.graph.queries import PathOrder
from ingestion.models import Document, Entity
from kb_project.errors import InputError, NotFoundError
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

TEXT = (
    "Ada Lind trained Bo Strand.\n\nBo Strand sells oil to Cy Falk.\n\n"
    "Cy Falk owns the Gull.\n\nDi Holm is alone."
)


@dataclass(frozen=True)
class World:
    """Ada – Bo – Cy – Gull, and Di, who is related to nobody."""

    workspace: Workspace
    document: Document
    people: dict[str, Entity]

    def id(self, name: str) -> UUID:
        return self.people[name].pk


@pytest.fixture
def world() -> World:
    workspace = rows.make_workspace()
    kinds = dict.fromkeys(("Ada Lind", "Bo Strand", "Cy Falk", "Gull", "Di Holm"), "person")
    document = rows.make_document(workspace, "Trade", TEXT, names=kinds)
    people = {name.split()[0]: rows.make_entity(workspace, name) for name in kinds}
    first, second, third, _ = rows.chunks_of(document)
    rows.make_relationship(people["Ada"], people["Bo"], first, "trained")
    rows.make_relationship(people["Bo"], people["Cy"], second, "sells oil to")
    rows.make_relationship(people["Cy"], people["Gull"], third, "owns")
    with access.in_workspace(workspace.pk):
        for name, degree in (("Ada", 1), ("Bo", 2), ("Cy", 2), ("Gull", 1)):
            Entity.objects.in_workspace(workspace).filter(pk=people[name].pk).update(degree=degree)
    return World(workspace, document, people)


def names(nodes: Iterable[Any]) -> list[str]:
    return [node.name for node in nodes]


def test_neighbours_are_an_entity_with_its_relationships_and_what_they_say(world: World):
    with access.in_workspace(world.workspace.pk):
        found = queries.neighbours_of(world.workspace, world.id("Bo"))

    assert sorted(names(found.nodes)) == ["Ada Lind", "Bo Strand", "Cy Falk"]
    assert found.nodes[0].name == "Bo Strand"
    assert {edge.predicate for edge in found.edges} == {"trained", "sells oil to"}
    assert (found.total_nodes, found.total_edges) == (3, 2)


def test_an_answer_that_is_cut_says_how_much_there_is(world: World):
    with access.in_workspace(world.workspace.pk):
        few = queries.neighbours_of(world.workspace, world.id("Bo"), limit=1)
        around = queries.subgraph_of(world.workspace, [world.id("Bo")], limit=2)
        document = queries.subgraph_of_document(world.workspace, world.document.pk, limit=2)

    assert (len(few.edges), few.total_edges, few.total_nodes) == (1, 2, 3)
    assert (len(around.nodes), around.total_nodes) == (2, 3)
    assert (len(document.nodes), document.total_nodes) == (2, 5)


def test_a_path_says_each_step_with_its_quote(world: World):
    with access.in_workspace(world.workspace.pk):
        found = queries.paths_between(world.workspace, world.id("Ada"), world.id("Gull"))
        (path,) = found.paths
        edges = queries.with_evidence(world.workspace, path.edges)

    assert names(path.nodes) == ["Ada Lind", "Bo Strand", "Cy Falk", "Gull"]
    assert [edge.predicate for edge in edges] == ["trained", "sells oil to", "owns"]
    assert [edge.sources[0].text for edge in edges] == TEXT.split("\n\n")[:3]
    assert [TEXT[one.start : one.end] for edge in edges for one in edge.sources] == TEXT.split(
        "\n\n"
    )[:3]


@pytest.mark.parametrize("order", PathOrder)
def test_entities_that_are_not_connected_have_no_path(world: World, order: PathOrder):
    with access.in_workspace(world.workspace.pk):
        far = queries.paths_between(
            world.workspace, world.id("Ada"), world.id("Gull"), 2, order=order
        )
        alone = queries.paths_between(world.workspace, world.id("Ada"), world.id("Di"), order=order)

    assert far.paths == alone.paths == ()


def test_the_shortest_paths_leave_out_a_stronger_detour(world: World):
    first = rows.chunks_of(world.document)[0]
    rows.make_relationship(world.people["Ada"], world.people["Cy"], first, "knows")
    for _ in range(4):
        for source, target in (("Ada", "Bo"), ("Bo", "Cy")):
            ends = world.people[source], world.people[target]
            rows.make_relationship(*ends, first, uuid4().hex)
    with access.in_workspace(world.workspace.pk):
        ids = world.id("Ada"), world.id("Cy")
        shortest = queries.paths_between(world.workspace, *ids, order=PathOrder.SHORTEST)
        best = queries.paths_between(world.workspace, *ids)

    assert [len(path.edges) for path in shortest.paths] == [1]
    assert [len(path.edges) for path in best.paths] == [2, 1]
    assert best.paths[0].strength > best.paths[1].strength


def test_a_subgraph_of_a_topic_has_its_members_and_what_relates_them(world: World):
    members = [world.people[name] for name in ("Ada", "Bo", "Gull")]
    report = rows.make_report(world.workspace, "Trade", members, [])
    with access.in_workspace(world.workspace.pk):
        found = queries.subgraph_of_topic(world.workspace, report.community_id)

    assert sorted(names(found.nodes)) == ["Ada Lind", "Bo Strand", "Gull"]
    assert [edge.predicate for edge in found.edges] == ["trained"]


def test_what_does_not_exist_is_not_found(world: World):
    with access.in_workspace(world.workspace.pk):
        for ask in (
            lambda: queries.neighbours_of(world.workspace, uuid4()),
            lambda: queries.paths_between(world.workspace, world.id("Ada"), uuid4()),
            lambda: queries.subgraph_of_document(world.workspace, uuid4()),
            lambda: queries.subgraph_of_topic(world.workspace, uuid4()),
        ):
            with pytest.raises(NotFoundError):
                ask()
        assert queries.subgraph_of(world.workspace, [uuid4()]).nodes == ()


@pytest.mark.parametrize("limit", [0, queries.MOST_NODES + 1])
def test_a_limit_out_of_bounds_is_refused(world: World, limit: int):
    with access.in_workspace(world.workspace.pk), pytest.raises(InputError):
        queries.subgraph_of(world.workspace, [world.id("Ada")], limit)
