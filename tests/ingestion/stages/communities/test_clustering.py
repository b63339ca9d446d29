from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from random import Random
from uuid import UUID

from hypothesis import given, settings, strategies as st

from ingestion.stages.communities.clustering import (
    MAX_SIZE,
    MOST_SIBLINGS,
    Cluster,
    Link,
    components,
    hierarchy,
    pair_weights,
)

SIZES = st.integers(0, 40)
TRIPLES = st.lists(
    st.tuples(st.integers(0, 39), st.integers(0, 39), st.floats(0, 5, allow_nan=False)),
    max_size=90,
)


def ids(count: int) -> list[UUID]:
    return [UUID(int=number + 1) for number in range(count)]


def as_links(triples: list[tuple[int, int, float]]) -> list[Link]:
    return [Link(UUID(int=a + 1), UUID(int=b + 1), weight) for a, b, weight in triples]


def clique(first: int, size: int, weight: float = 1.0) -> list[Link]:
    return as_links([(a, b, weight) for a, b in combinations(range(first, first + size), 2)])


def roots(clusters: list[Cluster]) -> list[Cluster]:
    return [cluster for cluster in clusters if cluster.level == 0]


@given(SIZES, TRIPLES)
def test_every_entity_is_in_exactly_one_root(size: int, triples: list[tuple[int, int, float]]):
    clusters = hierarchy(ids(size), as_links(triples))

    times = Counter(entity for cluster in roots(clusters) for entity in cluster.members)
    assert times == Counter(ids(size))


@given(SIZES, TRIPLES)
def test_levels_nest(size: int, triples: list[tuple[int, int, float]]):
    clusters = hierarchy(ids(size), as_links(triples))

    for place, cluster in enumerate(clusters):
        if cluster.parent is None:
            assert cluster.level == 0
            continue
        parent = clusters[cluster.parent]
        assert cluster.parent < place
        assert parent.level == cluster.level - 1
        assert cluster.members < parent.members


@given(SIZES, TRIPLES)
def test_clusters_of_one_level_share_nobody(size: int, triples: list[tuple[int, int, float]]):
    clusters = hierarchy(ids(size), as_links(triples))

    for level in {cluster.level for cluster in clusters}:
        members = [e for cluster in clusters if cluster.level == level for e in cluster.members]
        assert len(members) == len(set(members))


@given(SIZES, TRIPLES, st.randoms(use_true_random=False))
def test_the_order_of_the_links_changes_nothing(
    size: int, triples: list[tuple[int, int, float]], random: Random
):
    entities, links = ids(size), as_links(triples)
    expected = hierarchy(entities, links)
    random.shuffle(links)

    assert hierarchy(entities, links) == expected


@given(SIZES, TRIPLES, st.randoms(use_true_random=False))
def test_the_ids_of_the_entities_change_nothing(
    size: int, triples: list[tuple[int, int, float]], random: Random
):
    entities, links = ids(size), as_links(triples)
    other = dict(zip(entities, random.sample(entities, size), strict=True))
    renamed = [
        Link(other.get(a, a), other.get(b, b), weight, *rest) for a, b, weight, *rest in links
    ]

    clusters = hierarchy([other[one] for one in entities], renamed)

    assert clusters == [
        replace(cluster, members=frozenset(other[one] for one in cluster.members))
        for cluster in hierarchy(entities, links)
    ]


@given(TRIPLES)
def test_the_direction_of_relationships_changes_nothing(triples: list[tuple[int, int, float]]):
    turned = [(b, a, weight) for a, b, weight in triples]

    assert hierarchy(ids(40), as_links(turned)) == hierarchy(ids(40), as_links(triples))


def test_a_topic_that_falls_apart_is_split_until_its_parts_are_small_enough():
    groups = [clique(first, 8) for first in range(0, 48, 8)]
    bridges = as_links([(first, first + 8, 0.1) for first in range(0, 40, 8)])

    clusters = hierarchy(ids(48), [link for group in groups for link in group] + bridges)

    parents = {cluster.parent for cluster in clusters}
    leaves = [one for place, one in enumerate(clusters) if place not in parents]
    assert all(len(leaf.members) <= MAX_SIZE for leaf in leaves)
    assert frozenset(ids(8)) in {leaf.members for leaf in leaves}


def test_a_topic_that_cannot_be_split_stays_whole():
    (cluster,) = hierarchy(ids(12), clique(0, 12))

    assert len(cluster.members) == 12


def test_a_smaller_limit_splits_further():
    triples = [(number, number + 1, 1.0) for number in range(39)]
    coarse = hierarchy(ids(40), as_links(triples))
    fine = hierarchy(ids(40), as_links(triples), max_size=4)

    assert max(c.level for c in fine) > max(c.level for c in coarse)


def test_small_components_are_gathered_under_one_root():
    links = clique(0, 6) + as_links([(10, 11, 1), (12, 13, 1), (13, 14, 1)])

    clusters = hierarchy(ids(16), links)

    topic, rest = roots(clusters)
    assert (topic.is_rest, rest.is_rest) == (False, True)
    assert len(topic.members) == 6
    assert len(rest.members) == 10  # two small components and five entities alone
    children = [cluster for cluster in clusters if cluster.parent == clusters.index(rest)]
    assert sorted(len(child.members) for child in children) == [2, 3]


def test_what_two_sentences_hold_together_is_no_topic():
    thin = [link._replace(first="d1 0", last="d1 90") for link in clique(6, 6)]

    clusters = hierarchy(ids(12), clique(0, 6) + thin)

    assert [root.is_rest for root in roots(clusters)] == [False, True]
    assert frozenset(ids(12)[6:]) in {c.members for c in clusters if c.level == 1}


def test_three_sentences_make_a_topic():
    links = [link._replace(first="d1 0", last="d1 90") for link in clique(0, 6)]
    links[-1] = links[-1]._replace(last="d2 0")

    topic, rest = roots(hierarchy(ids(7), links))

    assert (topic.members, topic.is_rest) == (frozenset(ids(6)), False)
    assert rest.is_rest


def test_one_small_component_alone_is_its_own_topic():
    (only,) = hierarchy(ids(3), as_links([(0, 1, 1), (1, 2, 1)]))

    assert not only.is_rest
    assert only.members == frozenset(ids(3))


def test_entities_without_any_relationship_still_have_a_root():
    (only,) = hierarchy(ids(5), [])

    assert only == Cluster(level=0, members=frozenset(ids(5)), is_rest=True)


def test_no_entities_give_no_clusters():
    assert hierarchy([], as_links([(0, 1, 1)])) == []


def test_both_directions_of_a_pair_count_together():
    a, b = ids(2)

    assert pair_weights([Link(a, b, 1.0), Link(b, a, 2.5)], {a: 0, b: 1}) == {(0, 1): 3.5}


def test_two_weak_directions_can_outweigh_one_strong_link():
    # 0 to 3 hold together; 4 leans to them by both directions, to 5-8 by one link only.
    strong = clique(0, 4, 3.0) + clique(5, 4, 3.0)
    both = as_links([(4, 0, 1.0), (0, 4, 1.0), (4, 1, 1.0), (1, 4, 1.0), (4, 5, 1.5)])

    clusters = hierarchy(ids(9), strong + both)

    home = next(c for c in clusters if ids(9)[4] in c.members and len(c.members) < 9)
    assert ids(9)[0] in home.members


@given(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11))))
def test_components_cover_everything_once(size: int, pairs: list[tuple[int, int]]):
    inside = [(a, b) for a, b in pairs if a < size and b < size]

    parts = components(size, inside)

    assert sorted(node for part in parts for node in part) == list(range(size))
    home = {node: number for number, part in enumerate(parts) for node in part}
    assert all(home[a] == home[b] for a, b in inside)


@settings(deadline=None)
@given(st.sampled_from([float("nan"), float("inf"), -3.0, 0.0]))
def test_a_weight_that_is_no_weight_still_binds(weight: float):
    links = as_links([(a, b, weight) for a, b in combinations(range(4), 2)])

    (only,) = hierarchy(ids(4), links)

    assert len(only.members) == 4


def test_five_thousand_entities_are_all_in_a_topic():
    random = Random(1)
    triples = [
        (random.randrange(5000), int(random.random() ** 3 * 5000), 1.0) for _ in range(10_000)
    ]

    clusters = hierarchy(ids(5000), as_links(triples))

    assert len(clusters) > 100
    assert frozenset().union(*(one.members for one in clusters)) == frozenset(ids(5000))


def test_topics_side_by_side_are_few_and_none_is_lost():
    groups = [clique(first, 5) for first in range(0, 200, 5)]
    bridges = as_links([(first, first + 5, 0.1) for first in range(0, 195, 5)])

    clusters = hierarchy(ids(200), [link for group in groups for link in group] + bridges)

    siblings = Counter(cluster.parent for cluster in clusters)
    assert 5 <= siblings[None] <= MOST_SIBLINGS
    assert max(siblings.values()) <= MOST_SIBLINGS
    assert {frozenset(ids(200)[first : first + 5]) for first in range(0, 200, 5)} <= {
        one.members for one in clusters
    }


def test_topics_without_a_link_go_with_those_of_their_document():
    groups = [
        [
            link._replace(first=f"d{number % 3} 0", last=f"d{number % 3} 90")
            for link in clique(5 * number, 5)
        ]
        for number in range(30)
    ]
    several = [
        link._replace(first=f"d{n % 3} 5") for n, group in enumerate(groups) for link in group[:1]
    ]

    tops = roots(hierarchy(ids(150), [link for group in groups for link in group] + several))

    assert len(tops) <= MOST_SIBLINGS
    for top in tops:
        numbers = {(entity.int - 1) // 5 % 3 for entity in top.members}
        assert len(numbers) == 1


def test_topics_that_share_nothing_are_gathered_with_the_rest_where_they_are_too_many():
    links = [link for n in range(30) for link in clique(5 * n, 5)]
    tops = roots(hierarchy(ids(150), links))
    topics = [top for top in tops if not top.is_rest]
    rest = [top for top in tops if top.is_rest]

    assert len(topics) == MOST_SIBLINGS
    assert [len(one.members) for one in rest] == [150 - 5 * MOST_SIBLINGS]


def test_topics_that_were_joined_before_they_share_nothing_more_are_gathered_whole():
    groups = [link for n in range(60) for link in clique(5 * n, 5)]
    pairs = as_links([(5 * n, 5 * n + 5, 0.1) for n in range(0, 60, 2)])

    tops = roots(hierarchy(ids(300), groups + pairs))

    assert len(tops) == MOST_SIBLINGS + 1
    assert sorted(entity for top in tops for entity in top.members) == ids(300)
