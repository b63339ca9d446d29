from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from hypothesis import given, strategies as st

from ingestion.models.communities import other_topics_id
from ingestion.stages import communities
from ingestion.stages.communities import Changes, Group, Id, changes
from ingestion.stages.communities.clustering import Cluster, hierarchy
from tests.ingestion.stages.communities.graphs import Link, graph_of

WORKSPACE = UUID(int=99)
REST = other_topics_id(WORKSPACE).bytes
TRIPLES = st.lists(
    st.tuples(st.integers(0, 24), st.integers(0, 24), st.just(1.0)), min_size=5, max_size=60
)


ENTITIES = [UUID(int=number + 1) for number in range(30)]


def identified(
    clusters: list[Cluster], old: dict[Id, Group], workspace_id: UUID
) -> dict[Id, Group]:
    return communities.identified(clusters, old, workspace_id, ENTITIES)


def cluster(
    numbers: Iterable[int], level: int = 0, parent: int | None = None, *, is_rest: bool = False
) -> Cluster:
    return Cluster(level, frozenset(numbers), parent, is_rest)


def by_members(groups: dict[Id, Group]) -> dict[frozenset[int], Id]:
    return {group.members: group.id for group in groups.values()}


def from_triples(triples: list[tuple[int, int, float]]) -> list[Cluster]:
    return hierarchy(graph_of(25, [Link(*triple) for triple in triples]))


def test_new_communities_have_ids_that_follow_from_their_members():
    clusters = [cluster(range(6)), cluster(range(6, 10))]

    first, second = identified(clusters, {}, WORKSPACE), identified(clusters, {}, WORKSPACE)

    assert first == second
    assert len(first) == 2


def test_the_same_members_in_another_workspace_are_another_community():
    clusters = [cluster(range(6))]

    other = UUID(int=98)
    assert not identified(clusters, {}, WORKSPACE).keys() & identified(clusters, {}, other).keys()


def test_a_community_that_grows_a_little_keeps_its_id():
    old = identified([cluster(range(6))], {}, WORKSPACE)

    new = identified([cluster(range(8))], old, WORKSPACE)

    assert new.keys() == old.keys()
    assert changes(old, new).changed == list(old)


def test_a_community_that_shares_little_is_a_new_one():
    old = identified([cluster(range(10))], {}, WORKSPACE)

    new = identified([cluster(range(8, 18))], old, WORKSPACE)

    assert not new.keys() & old.keys()


def test_the_larger_part_of_a_split_keeps_the_id():
    old = identified([cluster(range(10))], {}, WORKSPACE)

    new = identified([cluster(range(7)), cluster(range(7, 10))], old, WORKSPACE)

    assert by_members(new)[frozenset(range(7))] in old
    assert by_members(new)[frozenset(range(7, 10))] not in old


def test_a_parent_and_a_child_do_not_swap_ids():
    shape = [cluster(range(12)), cluster(range(11), 1, 0), cluster([11], 1, 0)]
    old = identified(shape, {}, WORKSPACE)

    grown = [cluster(range(13)), cluster(range(11), 1, 0), cluster([11, 12], 1, 0)]
    new = identified(grown, old, WORKSPACE)

    assert by_members(new)[frozenset(range(13))] == by_members(old)[frozenset(range(12))]
    assert by_members(new)[frozenset(range(11))] == by_members(old)[frozenset(range(11))]


def test_of_equal_members_the_same_level_wins():
    old = identified([cluster(range(5)), cluster(range(5), 1, 0)], {}, WORKSPACE)

    new = identified([cluster(range(5)), cluster(range(5), 1, 0)], old, WORKSPACE)

    assert new == old


def test_the_root_of_the_rest_always_has_the_same_id():
    old = identified([cluster(range(3), is_rest=True)], {}, WORKSPACE)
    new = identified([cluster(range(20, 30), is_rest=True), cluster(range(3))], old, WORKSPACE)

    assert list(old) == [REST]
    assert by_members(new)[frozenset(range(20, 30))] == REST
    assert by_members(new)[frozenset(range(3))] != REST


@given(TRIPLES)
def test_the_same_graph_changes_nothing(triples: list[tuple[int, int, float]]):
    clusters = from_triples(triples)
    old = identified(clusters, {}, WORKSPACE)

    assert identified(clusters, old, WORKSPACE) == old
    assert changes(old, old) == Changes()


@given(TRIPLES, TRIPLES)
def test_applying_the_changes_leads_from_the_old_to_the_new(
    before: list[tuple[int, int, float]], after: list[tuple[int, int, float]]
):
    old = identified(from_triples(before), {}, WORKSPACE)
    new = identified(from_triples(after), old, WORKSPACE)

    found = changes(old, new)

    assert len(new) == len(from_triples(after))
    left = {id_: group for id_, group in old.items() if id_ not in found.removed}
    now = left | {group.id: group for group in (*found.added, *found.moved)}
    assert now.keys() == new.keys()
    pairs = {(g.id, entity) for g in left.values() for entity in g.members}
    pairs = (pairs - set(found.left)) | set(found.joined)
    assert pairs == {(g.id, entity) for g in new.values() for entity in g.members}
    assert {g.id for g in found.added} <= set(found.changed)


def test_a_member_deleted_elsewhere_asks_for_a_new_report():
    old = identified([cluster(range(6))], {}, WORKSPACE)
    ((id_, group),) = old.items()
    less = {id_: Group(id_, 0, None, frozenset(range(5)), group.size)}
    new = identified([cluster(range(5))], less, WORKSPACE)

    found = changes(less, new)

    assert found.changed == [id_]
    assert [moved.size for moved in found.moved] == [5]


def test_another_set_of_children_asks_for_a_new_report():
    flat = identified([cluster(range(12))], {}, WORKSPACE)
    parted = [cluster(range(12)), cluster(range(6), 1, 0), cluster(range(6, 12), 1, 0)]

    found = changes(flat, identified(parted, flat, WORKSPACE))

    assert set(flat) <= set(found.changed)
    assert not found.removed
