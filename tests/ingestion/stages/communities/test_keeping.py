from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

from hypothesis import given, strategies as st

from ingestion.stages.communities import clustering
from ingestion.stages.communities.clustering import Cluster
from ingestion.stages.communities.keeping import (
    Figures,
    brought_up_to_date,
    is_due,
    kept_or_new,
)
from tests.ingestion.stages.communities.graphs import Link, graph_of

NODES = list(range(60))


def hierarchy(size: int, links: list[Link]) -> list[Cluster]:
    return clustering.hierarchy(graph_of(size, links))


def clique(members: list[int], weight: float = 1.0) -> list[Link]:
    return [Link(a, b, weight) for a, b in combinations(members, 2)]


def sets(clusters: list[Cluster] | tuple[Cluster, ...]) -> set[frozenset[int]]:
    return {one.members for one in clusters}


def groups(number: int, size: int = 6) -> list[list[int]]:
    return [NODES[start : start + size] for start in range(0, number * size, size)]


def chain(parts: list[list[int]]) -> list[Link]:
    """Groups that hold together, each with a weak link to the next."""
    links = [link for part in parts for link in clique(part)]
    return links + [Link(a[-1], b[0], 0.1) for a, b in pairwise(parts)]


def after(old: list[Cluster], size: int, links: list[Link]) -> list[Cluster]:
    return list(kept_or_new(hierarchy(size, links), old, graph_of(size, links))[0])


def test_clusters_stay_where_others_would_be_hardly_better():
    members = NODES[:8]
    halves = [Cluster(0, frozenset(members[:4])), Cluster(0, frozenset(members[4:]))]
    ring = [Link(a, b, 1.0) for a, b in zip(members, [*members[1:], members[0]], strict=True)]
    turned = [
        Cluster(0, frozenset(members[1:5])),
        Cluster(0, frozenset({*members[5:], members[0]})),
    ]

    kept, _ = kept_or_new(turned, halves, graph_of(8, ring))

    assert sets(tuple(kept)) == sets(tuple(halves))


def test_a_new_entity_joins_those_it_is_related_to_and_no_other_topic_changes():
    parts = groups(4)
    links = chain(parts)
    old = hierarchy(24, links)
    new = NODES[24]

    found = after(old, 25, [*links, Link(new, parts[2][0], 1.0)])

    assert {one.members - {new} for one in found} == sets(tuple(old))
    assert {one.members for one in found if new in one.members} == {
        one.members | {new} for one in old if parts[2][0] in one.members
    }


def test_a_new_part_of_the_graph_has_topics_of_its_own():
    parts = groups(3)
    old = hierarchy(12, chain(parts[:2]))

    found = after(old, 18, [*chain(parts[:2]), *clique(parts[2])])

    assert frozenset(parts[2]) in sets(tuple(found))
    assert sets(tuple(old)) < sets(tuple(found))


def test_what_is_clearly_better_is_taken():
    parts = groups(4)
    links = chain(parts)
    mixed = [Cluster(0, frozenset(part[place] for part in parts)) for place in range(6)]

    assert after(mixed, 24, links) == hierarchy(24, links)


def test_entities_that_are_gone_leave_their_topic():
    links = chain(groups(3))
    gone = NODES[17]
    old = [replace(one, members=one.members - {gone}) for one in hierarchy(18, links)]

    found = after(old, 17, [link for link in links if gone not in (link.source, link.target)])

    assert sets(found) == sets(old)


@given(
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19), st.floats(0.1, 9)), max_size=40),
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19), st.floats(0.1, 9)), max_size=40),
)
def test_every_entity_is_in_one_root_and_levels_nest_whatever_changed(
    before: list[tuple[int, int, float]], now: list[tuple[int, int, float]]
):
    first, second = ([Link(*triple) for triple in one] for one in (before, now))

    found = after(hierarchy(20, first), 20, second)

    assert_nested(found, 20)


def assert_nested(found: list[Cluster], size: int) -> None:
    """Every entity is in one root, and each cluster is part of its parent."""
    roots = [one for one in found if one.level == 0]
    assert sorted(entity for one in roots for entity in one.members) == NODES[:size]
    for place, one in enumerate(found):
        if one.parent is not None:
            assert one.parent < place
            assert one.members <= found[one.parent].members
            assert one.level == found[one.parent].level + 1


# --- without clustering the whole graph -----------------------------------------------------------
def updated(old: list[Cluster], size: int, links: list[Link]) -> list[Cluster]:
    return list(brought_up_to_date(graph_of(size, links), old)[0])


def test_only_what_is_around_a_change_moves():
    parts = groups(4)
    links = chain(parts)
    old = hierarchy(24, links)
    new, mover = NODES[24], parts[1][-1]

    # A new entity draws the last of the second group over to the third.
    tied = [Link(new, one, 2.0) for one in (*parts[2], mover)]
    drawn = [Link(mover, one, 2.0) for one in parts[2]]
    found = updated(old, 25, [*links, *tied, *drawn])

    roots = [one.members for one in found if one.level == 0]
    assert {*parts[2], new, mover} <= next(one for one in roots if new in one)
    assert [one for one in roots if parts[0][0] in one] == [
        one.members for one in old if one.level == 0 and parts[0][0] in one.members
    ]


def test_sentences_matter_only_where_not_all_is_gathered_already():
    parts = [NODES[:5], NODES[5:9], NODES[9:13]]
    graph = graph_of(13, [link for part in parts for link in clique(part)])

    assert graph.outside_largest(5, parts[1]) == parts[2]
    assert graph.outside_largest(5, parts[1][1:]) == NODES[5:13]
    assert graph.outside_largest(6, parts[1]) is None


def test_new_parts_and_what_is_too_small_are_placed_without_the_rest():
    first, second, new = groups(3)
    lone, other = NODES[18], NODES[19]
    links = chain([first, second])
    old = [
        replace(one, members=one.members - {*new, other}) if one.is_rest else one
        for one in hierarchy(20, links)
    ]

    found = updated(old, 20, [*links, *clique(new)])

    assert frozenset(new) in sets(found)
    assert [one.members for one in found if one.is_rest] == [{lone, other}]


def test_all_of_it_is_clustered_again_when_it_grew_or_became_worse():
    last = Figures(entities=100, roots=0.6, finest=0.5, largest=12, beside=8)

    assert not is_due(replace(last, entities=105, roots=0.595), last)
    for now in (
        replace(last, entities=106),
        replace(last, entities=95),
        replace(last, roots=0.59),
        replace(last, finest=0.49),
        replace(last, largest=19),
        replace(last, beside=19),
    ):
        assert is_due(now, last)


@given(
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19), st.floats(0.1, 9)), max_size=40),
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19), st.floats(0.1, 9)), max_size=40),
)
def test_every_entity_has_its_place_without_clustering_again(
    before: list[tuple[int, int, float]], now: list[tuple[int, int, float]]
):
    first = [Link(*triple) for triple in before if max(triple[:2]) < 15]
    second = [Link(*triple) for triple in now]

    assert_nested(updated(hierarchy(15, first), 20, second), 20)
