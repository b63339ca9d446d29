from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

from hypothesis import given, settings, strategies as st

from ingestion.stages.communities.clustering import (
    MAX_SIZE,
    MOST_SIBLINGS,
    Cluster,
    hierarchy,
)
from ingestion.stages.communities.graph import PLACES
from tests.ingestion.stages.communities.graphs import Link, graph_of

SIZES = st.integers(0, 40)
TRIPLES = st.lists(
    st.tuples(st.integers(0, 39), st.integers(0, 39), st.floats(0, 5, allow_nan=False)),
    max_size=90,
)


def clustered(size: int, links: list[Link], *, max_size: int = MAX_SIZE) -> list[Cluster]:
    within = [link for link in links if max(link.source, link.target) < size]
    return hierarchy(graph_of(size, within), max_size=max_size)


def as_links(triples: list[tuple[int, int, float]]) -> list[Link]:
    return [Link(*triple) for triple in triples]


def clique(first: int, size: int, weight: float = 1.0) -> list[Link]:
    return as_links([(a, b, weight) for a, b in combinations(range(first, first + size), 2)])


def roots(clusters: list[Cluster]) -> list[Cluster]:
    return [cluster for cluster in clusters if cluster.level == 0]


@given(SIZES, TRIPLES)
def test_every_entity_is_in_exactly_one_root(size: int, triples: list[tuple[int, int, float]]):
    clusters = clustered(size, as_links(triples))

    times = Counter(entity for cluster in roots(clusters) for entity in cluster.members)
    assert times == Counter(range(size))


@given(SIZES, TRIPLES)
def test_levels_nest(size: int, triples: list[tuple[int, int, float]]):
    clusters = clustered(size, as_links(triples))

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
    clusters = clustered(size, as_links(triples))

    for level in {cluster.level for cluster in clusters}:
        members = [e for cluster in clusters if cluster.level == level for e in cluster.members]
        assert len(members) == len(set(members))


@given(SIZES, TRIPLES, st.randoms(use_true_random=False))
def test_the_order_of_the_links_changes_nothing(
    size: int, triples: list[tuple[int, int, float]], random: Random
):
    links = as_links(triples)
    expected = clustered(size, links)
    random.shuffle(links)

    assert clustered(size, links) == expected


@given(TRIPLES)
def test_the_direction_of_relationships_changes_nothing(triples: list[tuple[int, int, float]]):
    turned = [(b, a, weight) for a, b, weight in triples]

    assert clustered(40, as_links(turned)) == clustered(40, as_links(triples))


def test_a_topic_that_falls_apart_is_split_until_its_parts_are_small_enough():
    groups = [clique(first, 8) for first in range(0, 48, 8)]
    bridges = as_links([(first, first + 8, 0.1) for first in range(0, 40, 8)])

    clusters = clustered(48, [link for group in groups for link in group] + bridges)

    parents = {cluster.parent for cluster in clusters}
    leaves = [one for place, one in enumerate(clusters) if place not in parents]
    assert all(len(leaf.members) <= MAX_SIZE for leaf in leaves)
    assert frozenset(range(8)) in {leaf.members for leaf in leaves}


def test_a_topic_that_cannot_be_split_stays_whole():
    (cluster,) = clustered(12, clique(0, 12))

    assert len(cluster.members) == 12


def test_a_smaller_limit_splits_further():
    triples = [(number, number + 1, 1.0) for number in range(39)]
    coarse = clustered(40, as_links(triples))
    fine = clustered(40, as_links(triples), max_size=4)

    assert max(c.level for c in fine) > max(c.level for c in coarse)


def test_small_components_are_gathered_under_one_root():
    links = clique(0, 6) + as_links([(10, 11, 1), (12, 13, 1), (13, 14, 1)])

    clusters = clustered(16, links)

    topic, rest = roots(clusters)
    assert (topic.is_rest, rest.is_rest) == (False, True)
    assert len(topic.members) == 6
    assert len(rest.members) == 10  # two small components and five entities alone
    children = [cluster for cluster in clusters if cluster.parent == clusters.index(rest)]
    assert sorted(len(child.members) for child in children) == [2, 3]


def test_what_two_sentences_hold_together_is_no_topic():
    thin = [link._replace(first=PLACES, last=PLACES + 90) for link in clique(6, 6)]

    clusters = clustered(12, clique(0, 6) + thin)

    assert [root.is_rest for root in roots(clusters)] == [False, True]
    assert frozenset(range(6, 12)) in {c.members for c in clusters if c.level == 1}


def test_three_sentences_make_a_topic():
    links = [link._replace(first=PLACES, last=PLACES + 90) for link in clique(0, 6)]
    links[-1] = links[-1]._replace(last=2 * PLACES)

    topic, rest = roots(clustered(7, links))

    assert (topic.members, topic.is_rest) == (frozenset(range(6)), False)
    assert rest.is_rest


def test_one_small_component_alone_is_its_own_topic():
    (only,) = clustered(3, as_links([(0, 1, 1), (1, 2, 1)]))

    assert not only.is_rest
    assert only.members == frozenset(range(3))


def test_entities_without_any_relationship_still_have_a_root():
    (only,) = clustered(5, [])

    assert only == Cluster(level=0, members=frozenset(range(5)), is_rest=True)


def test_no_entities_give_no_clusters():
    assert clustered(0, as_links([(0, 1, 1)])) == []


def test_both_directions_of_a_pair_count_together():
    assert graph_of(2, [Link(0, 1, 1.0), Link(1, 0, 2.5)]).near(1) == {0: 3.5}


def test_two_weak_directions_can_outweigh_one_strong_link():
    # 0 to 3 hold together; 4 leans to them by both directions, to 5-8 by one link only.
    strong = clique(0, 4, 3.0) + clique(5, 4, 3.0)
    both = as_links([(4, 0, 1.0), (0, 4, 1.0), (4, 1, 1.0), (1, 4, 1.0), (4, 5, 1.5)])

    clusters = clustered(9, strong + both)

    home = next(c for c in clusters if 4 in c.members and len(c.members) < 9)
    assert 0 in home.members


@given(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11))))
def test_components_cover_everything_once(size: int, pairs: list[tuple[int, int]]):
    inside = [(a, b) for a, b in pairs if a < size and b < size]

    parts = graph_of(size, [Link(a, b, 1.0) for a, b in inside]).components()

    assert sorted(node for part in parts for node in part) == list(range(size))
    home = {node: number for number, part in enumerate(parts) for node in part}
    assert all(home[a] == home[b] for a, b in inside)


@settings(deadline=None)
@given(st.sampled_from([float("nan"), float("inf"), -3.0, 0.0]))
def test_a_weight_that_is_no_weight_still_binds(weight: float):
    links = as_links([(a, b, weight) for a, b in combinations(range(4), 2)])

    (only,) = clustered(4, links)

    assert len(only.members) == 4


def test_five_thousand_entities_are_all_in_a_topic():
    random = Random(1)
    triples = [
        (random.randrange(5000), int(random.random() ** 3 * 5000), 1.0) for _ in range(10_000)
    ]

    clusters = clustered(5000, as_links(triples))

    assert len(clusters) > 100
    assert frozenset().union(*(one.members for one in clusters)) == frozenset(range(5000))


def test_topics_side_by_side_are_few_and_none_is_lost():
    groups = [clique(first, 5) for first in range(0, 200, 5)]
    bridges = as_links([(first, first + 5, 0.1) for first in range(0, 195, 5)])

    clusters = clustered(200, [link for group in groups for link in group] + bridges)

    siblings = Counter(cluster.parent for cluster in clusters)
    assert 5 <= siblings[None] <= MOST_SIBLINGS
    assert max(siblings.values()) <= MOST_SIBLINGS
    assert {frozenset(range(first, first + 5)) for first in range(0, 200, 5)} <= {
        one.members for one in clusters
    }


def test_topics_without_a_link_go_with_those_of_their_document():
    groups = [
        [
            link._replace(first=number % 3 * PLACES, last=number % 3 * PLACES + 90)
            for link in clique(5 * number, 5)
        ]
        for number in range(30)
    ]
    several = [
        group[0]._replace(first=number % 3 * PLACES + 5) for number, group in enumerate(groups)
    ]

    tops = roots(clustered(150, [link for group in groups for link in group] + several))

    assert len(tops) <= MOST_SIBLINGS
    for top in tops:
        numbers = {entity // 5 % 3 for entity in top.members}
        assert len(numbers) == 1


def test_topics_that_share_nothing_are_gathered_with_the_rest_where_they_are_too_many():
    links = [link for n in range(30) for link in clique(5 * n, 5)]
    tops = roots(clustered(150, links))
    topics = [top for top in tops if not top.is_rest]
    rest = [top for top in tops if top.is_rest]

    assert len(topics) == MOST_SIBLINGS
    assert [len(one.members) for one in rest] == [150 - 5 * MOST_SIBLINGS]


def test_topics_that_were_joined_before_they_share_nothing_more_are_gathered_whole():
    groups = [link for n in range(60) for link in clique(5 * n, 5)]
    pairs = as_links([(5 * n, 5 * n + 5, 0.1) for n in range(0, 60, 2)])

    tops = roots(clustered(300, groups + pairs))

    assert len(tops) == MOST_SIBLINGS + 1
    assert sorted(entity for top in tops for entity in top.members) == list(range(300))


def test_what_is_related_to_one_topic_alone_is_not_gathered_around_it_level_by_level():
    hub = clique(0, 5, 3.0)
    around = [link for n in range(1, 400) for link in clique(5 * n, 5, 3.0)]
    spokes = as_links([(0, 5 * n, 0.1) for n in range(1, 400)])

    clusters = clustered(2000, hub + around + spokes)

    assert max(one.level for one in clusters) <= 5
    assert max(Counter(one.parent for one in clusters).values()) <= MOST_SIBLINGS
