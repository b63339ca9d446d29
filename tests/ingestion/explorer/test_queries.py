"""Which entities a picture shows, and how it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from ingestion.explorer import queries
from ingestion.explorer.queries import Edge, Picture, Scope, drawn
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Entity, Relationship
from kb_project.errors import NotFoundError
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db


class Net:
    """A workspace's entities and relationships, made in bulk."""

    def __init__(self, cast: rows.Cast) -> None:
        self.workspace = cast.workspace

    def entities(self, count: int, prefix: str = "Node") -> list[Entity]:
        made = [
            Entity(
                workspace=self.workspace,
                key=f"{prefix} {number}".lower(),
                name=f"{prefix} {number}",
                type="person",
                rank=float(count - number),
            )
            for number in range(count)
        ]
        with access.in_workspace(self.workspace.pk):
            return Entity.objects.bulk_create(made, batch_size=1_000)

    def link(self, pairs: Sequence[tuple[Entity, Entity]], weight: float = 1) -> None:
        made = [
            Relationship(
                workspace=self.workspace, source=a, target=b, weight=weight, evidence_count=1
            )
            for a, b in pairs
        ]
        with access.in_workspace(self.workspace.pk):
            Relationship.objects.bulk_create(made, batch_size=1_000)

    def degree(self, entity: Entity, degree: int) -> None:
        with access.in_workspace(self.workspace.pk):
            rows_of = Entity.objects.in_workspace(self.workspace)
            rows_of.filter(pk=entity.pk).update(degree=degree)

    def open(self, limit: int = queries.USUAL, **scope: Any) -> Picture:
        with access.in_workspace(self.workspace.pk):
            return queries.opening(
                workspace=self.workspace,
                scope=Scope(**scope),
                limit=limit,
            )


@pytest.fixture
def net() -> Net:
    return Net(rows.make_cast())


def names(picture: Picture) -> list[str]:
    return [node.name for node in picture.nodes]


def assert_whole(picture: Picture) -> None:
    """Every end that is drawn is shown, once."""
    ids = [node.id for node in picture.nodes]
    assert len(set(ids)) == len(ids)
    assert {end for edge in picture.edges for end in (edge.a, edge.b)} <= set(ids)
    assert all(edge.a != edge.b for edge in picture.edges)


# --- opening --------------------------------------------------------------------------------------
def test_an_empty_graph_opens_with_nothing(net: Net):
    assert net.open() == Picture()


def test_a_graph_of_one_entity_shows_it(net: Net):
    net.entities(1)

    picture = net.open()

    assert (names(picture), picture.edges, picture.total) == (["Node 0"], (), 1)


def test_it_opens_on_the_highest_ranked_that_are_connected_and_counts_the_rest(net: Net):
    made = net.entities(300)
    net.link([(made[place], made[place + 1]) for place in range(100, 299)])

    picture = net.open(limit=80)

    assert_whole(picture)
    assert (len(picture.nodes), picture.total) == (80, 300)
    assert names(picture)[:2] == ["Node 100", "Node 101"]
    assert net.open(limit=80) == picture


def test_a_neighbourhood_of_a_hub_with_5_000_neighbours_is_bounded(net: Net):
    hub, *others = net.entities(5_001)
    net.link([(hub, other) for other in others])
    net.degree(hub, 5_000)

    picture = net.open(kind="entity", id=hub.pk)

    assert_whole(picture)
    assert (len(picture.nodes), picture.total) == (queries.USUAL, 5_001)
    assert (picture.nodes[0].id, picture.focus) == (hub.pk, (hub.pk,))
    assert len(picture.edges) == queries.USUAL - 1

    with access.in_workspace(net.workspace.pk):
        shown = [node.id for node in picture.nodes]
        more = queries.expanded(workspace=net.workspace, entity_id=hub.pk, shown=shown)

    assert len(more.nodes) == queries.MORE
    assert not {node.id for node in more.nodes} & set(shown)
    assert more.remaining == 5_000 - (queries.USUAL - 1) - queries.MORE


def test_named_entities_open_with_what_is_around_them_and_those_gone_are_left_out(net: Net):
    made = net.entities(6)
    net.link([(made[4], made[5]), (made[0], made[1])])

    picture = net.open(kind="entities", ids=(made[4].pk, uuid4()))

    assert names(picture) == ["Node 4", "Node 5"]
    assert picture.focus == (made[4].pk,)


def test_entities_that_are_all_gone_are_not_found(net: Net):
    with pytest.raises(NotFoundError):
        net.open(kind="entities", ids=(uuid4(),))


@pytest.mark.parametrize("kind", ["entity", "document", "topic"])
def test_a_scope_that_does_not_exist_is_not_found(net: Net, kind: str):
    with pytest.raises(NotFoundError):
        net.open(kind=kind, id=uuid4())


def test_a_document_and_a_topic_open_on_their_own_entities(net: Net):
    document = rows.make_document(
        net.workspace,
        "Letters",
        "Ada Lind met Bo Strand.",
        names={"Ada Lind": "P", "Bo Strand": "P"},
    )
    ada = rows.make_entity(net.workspace, "Ada Lind")
    report = rows.make_report(net.workspace, "The light", [ada], rows.chunks_of(document))
    net.entities(3)

    of_document = net.open(kind="document", id=document.pk)
    of_topic = net.open(kind="topic", id=report.community_id)

    assert (sorted(names(of_document)), of_document.total) == (["Ada Lind", "Bo Strand"], 2)
    assert (names(of_topic), of_topic.total) == (["Ada Lind"], 1)
    assert of_topic.nodes[0].topic == report.community_id


def test_entities_are_counted_as_their_list_counts_them_and_terms_apart(net: Net):
    named = net.entities(70)
    terms = net.entities(20, "term")
    net.link([(named[0], one) for one in (*named[1:], *terms)])
    net.degree(named[0], 89)
    with access.in_workspace(net.workspace.pk):
        rows_of = Entity.objects.in_workspace(net.workspace)
        rows_of.filter(pk__in=[one.pk for one in terms]).update(type="concept", chunk_count=2)
        listed = knowledge_queries.entities(workspace=net.workspace).count()

    whole, around = net.open(), net.open(kind="entity", id=named[0].pk)

    assert (whole.total, whole.terms) == (listed, 0) == (70, 0)
    assert not any(node.is_term for node in whole.nodes)
    assert (around.total - around.terms, around.terms) == (listed, len(terms))
    assert {node.id for node in around.nodes if node.is_term} == {one.pk for one in terms}


# --- growing --------------------------------------------------------------------------------------
def test_a_path_brings_what_is_between_and_its_steps_are_drawn(net: Net):
    a, b, c, d, far = net.entities(5)
    net.link([(a, b), (b, c), (c, d)])

    with access.in_workspace(net.workspace.pk):
        found = queries.connected(
            workspace=net.workspace, source=a.pk, target=d.pk, shown=[a.pk, d.pk]
        )
        none = queries.connected(
            workspace=net.workspace, source=a.pk, target=far.pk, shown=[a.pk, far.pk]
        )

    assert found.paths == ((a.pk, b.pk, c.pk, d.pk),)
    assert {node.id for node in found.nodes} == {b.pk, c.pk}
    assert len(found.edges) == 3
    assert (none.paths, none.nodes) == ((), ())


def test_what_is_added_comes_with_its_relationships_to_what_is_shown(net: Net):
    a, b, c = net.entities(3)
    net.link([(a, b), (b, a), (b, c)])

    with access.in_workspace(net.workspace.pk):
        picture = queries.added(workspace=net.workspace, ids=[b.pk], shown=[a.pk])

    assert [node.id for node in picture.nodes] == [b.pk]
    [edge] = picture.edges
    assert ({edge.a, edge.b}, edge.weight, edge.evidence) == ({a.pk, b.pk}, 2.0, 2)


def test_entities_of_another_workspace_are_never_shown(net: Net):
    other = Net(rows.make_cast("Elsewhere"))
    foreign = other.entities(2)
    own = net.entities(1)

    with access.in_workspace(net.workspace.pk):
        picture = queries.added(
            workspace=net.workspace, ids=[one.pk for one in foreign], shown=[own[0].pk]
        )

    assert picture.nodes == ()
    with pytest.raises(NotFoundError):
        net.open(kind="entity", id=foreign[0].pk)


def test_of_many_relationships_the_strongest_of_each_entity_are_drawn():
    ids = [UUID(int=number + 1) for number in range(30)]
    pairs = [(a, b) for a in ids for b in ids if a < b]
    edges = [Edge(a, b, float(-place), 1) for place, (a, b) in enumerate(pairs)]

    few = drawn(edges)
    kept = drawn(edges, keep=[ids[29]])

    assert few[0] == edges[0]
    assert {end for edge in few for end in (edge.a, edge.b)} == set(ids)
    assert len(few) <= len(ids) * queries.LINES < len(edges)
    assert sum(ids[29] in (edge.a, edge.b) for edge in kept) == 29
