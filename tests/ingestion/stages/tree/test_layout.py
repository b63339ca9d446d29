from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from ingestion.stages.tree.clustering import layer
from ingestion.stages.tree.layout import FEW_MOVING, Layout, Leaves, is_overlong, leaf_keys
from kb_project.llm.ports import Vectors
from tests.ingestion.stages.tree.test_clustering import subjects

LIMIT = 3_500


def clustered(vectors: Vectors) -> tuple[Layout, list[str]]:
    keys = leaf_keys(str(number) for number in range(len(vectors)))
    layout = Layout()
    layout.keep(1, keys, layer(vectors, [700] * len(keys), limit=LIMIT, is_last=False))
    return layout, keys


def members(layout: Layout, keys: list[str], vectors: Vectors) -> set[frozenset[str]]:
    found = layout.arranged(1, keys, vectors).values()
    return {frozenset(keys[item] for item in one) for one in found}


def test_the_same_leaves_are_where_they_were():
    vectors = subjects(5, 4)
    layout, keys = clustered(vectors)

    fresh = layer(vectors, [700] * len(keys), limit=LIMIT, is_last=False)

    assert list(layout.arranged(1, keys, vectors).values()) == fresh


def test_an_edited_leaf_changes_only_the_clusters_that_have_it():
    vectors = subjects(5, 4)
    layout, keys = clustered(vectors)
    before = members(layout, keys, vectors)
    edited = [*keys[:9], "edited", *keys[10:]]

    after = members(layout, edited, vectors)

    assert len(after - before) == 1
    assert before - after == {one for one in before if keys[9] in one}


def test_a_leaf_that_comes_back_is_where_it_was():
    vectors = subjects(5, 4)
    layout, keys = clustered(vectors)
    before = members(layout, keys, vectors)
    members(layout, keys[1:], vectors[1:])

    stored = Layout.from_json(layout.as_json())

    assert members(stored, keys, vectors) == before


def test_a_cluster_left_with_one_item_has_no_node_until_another_comes_back():
    vectors = subjects(4, 5)
    layout, keys = clustered(vectors)
    gone = {key for one in layout.layers[0][:1] for key in list(one)[1:]}
    left = [place for place, key in enumerate(keys) if key not in gone]

    found = members(layout, [keys[place] for place in left], vectors[left])

    assert all(len(one) > 1 for one in found)
    assert set().union(*found) == {keys[place] for place in left}


def test_clustering_is_done_again_after_many_changes():
    layout, keys = clustered(subjects(5, 4))

    assert layout.fits([*keys[:16], "a", "b", "c", "d"])
    assert not layout.fits([*keys[:14], "a", "b", "c", "d", "e", "f"])
    assert not layout.fits(keys[:8])
    assert not Layout().fits(keys)


def test_leaves_that_joined_earlier_count():
    vectors = subjects(5, 4)
    layout, keys = clustered(vectors)
    members(layout, [*keys[:16], "a", "b", "c", "d"], vectors)

    assert not layout.fits([*keys[:14], "a", "b", "c", "d", "e", "f"])


def test_two_leaves_of_the_same_text_are_told_apart():
    assert len(set(leaf_keys(["A lamp.", "A lamp.", "A bell."]))) == 3
    assert leaf_keys(["A lamp."]) == leaf_keys(["A lamp.", "A bell."])[:1]


def test_a_cluster_may_grow_a_little_over_the_limit():
    cluster = dict.fromkeys(range(5), 1.0)

    assert not is_overlong([cluster], [850] * 5, LIMIT)
    assert is_overlong([cluster], [900] * 5, LIMIT)


@settings(max_examples=25)
@given(st.integers(4, 24), st.integers(0, 99), st.data())
def test_every_leaf_is_somewhere_whatever_came_and_went(
    number: int, seed: int, data: st.DataObject
):
    vectors = subjects(number, 1, seed=seed)
    layout, keys = clustered(vectors)
    left = data.draw(st.lists(st.sampled_from(keys), min_size=2, unique=True))
    now = [*left, "new"]
    rows = np.resize(vectors, (len(now), vectors.shape[1]))

    found = layout.arranged(1, now, rows)

    assert set().union(*found.values()) == set(range(len(now)))
    assert len({frozenset(one) for one in found.values()}) == len(found)


class Shelved(Leaves):
    """Leaves that tell which of them were read."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.looked_at: set[int] = set()

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, place: Any) -> Any:
        self.looked_at.add(place)
        return self.vectors[place]

    def read(self, places: Iterable[int]) -> None:
        self.looked_at.update(places)

    def alike(self, vector: Vectors, most: int | None, least: float) -> list[int]:
        products = self.vectors @ vector
        order = np.argsort(-products, kind="stable")[:most].tolist()
        return [place for place in order if products[place] >= least]


def test_where_leaves_stay_none_is_looked_at():
    vectors = subjects(30, 4)
    layout, keys = clustered(vectors)
    left = [place for place in range(len(keys)) if place != 7]
    leaves = Shelved(vectors[left])

    layout.arranged(1, [keys[place] for place in left], leaves)

    assert not leaves.looked_at


def test_a_new_leaf_is_compared_with_the_clusters_that_may_be_nearest():
    vectors = subjects(60, 6)
    layout, keys = clustered(vectors[:-1])
    leaves = Shelved(vectors)

    layout.arranged(1, [*keys, "new"], leaves)

    assert 0 < len(leaves.looked_at) < len(vectors) // 4


@settings(max_examples=25)
@given(st.integers(4, 24), st.integers(0, 99), st.integers(1, FEW_MOVING // 2), st.data())
def test_leaves_that_are_sought_join_the_same_clusters(
    number: int, seed: int, new: int, data: st.DataObject
):
    vectors = subjects(number, 2, seed=seed)
    layout, keys = clustered(vectors)
    gone = data.draw(st.sets(st.sampled_from(keys), max_size=4))
    left = [place for place, key in enumerate(keys) if key not in gone]
    now = [*(keys[place] for place in left), *(f"new {place}" for place in range(new))]
    others = subjects(new, 1, seed=seed + 1)
    rows = np.concatenate([vectors[left], others])
    stored = layout.as_json()

    found = Layout.from_json(stored).arranged(1, now, Shelved(rows))

    assert found == Layout.from_json(stored).arranged(1, now, rows)
