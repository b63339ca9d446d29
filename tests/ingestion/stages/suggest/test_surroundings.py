from __future__ import annotations

from itertools import product
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from ingestion.stages.suggest.features import Reason
from ingestion.stages.suggest.links import Links
from ingestion.stages.suggest.weighing import (
    SUGGESTED,
    AdjacentNames,
    certainty_of,
    shared_neighbours,
    similar_passages,
    stated_names,
)
from kb_project.graph.compact import packed
from tests.ingestion.stages.suggest.things import found_among, thing

ONE, OTHER = thing("Samuel Clemens"), thing("Mark Twain")


def said(between: str, after: str = "", *, is_full: bool = True) -> Reason | None:
    found = stated_names([AdjacentNames(ONE.id, OTHER.id, between, after, is_full)])
    return next(iter(found.values()), None)


@pytest.mark.parametrize(
    "between",
    [
        ", also known as ",
        " (known as “",
        ", formerly known as the ",
        " was called ",
        ", better known by ",
        " (aka ",
        ", nicknamed '",
        ", who is also called ",
        " (born ",
        ", née ",
    ],
)
def test_a_sentence_that_calls_one_by_the_others_name_is_a_reason(between: str):
    found = said(between)

    assert found
    assert found.is_of_names
    assert certainty_of((found,)) > SUGGESTED
    assert found.words.startswith("a document says “… ")


@pytest.mark.parametrize(
    "between", [" and ", " called on ", ", son of ", " is known in ", " born in ", " (", ", "]
)
def test_other_words_between_two_names_are_none(between: str):
    assert said(between) is None


def test_what_is_only_called_says_less_than_what_is_called():
    called, is_called, also = map(said, (" called ", " is called ", ", also called "))

    assert called
    assert is_called
    assert also
    assert called.weight < is_called.weight < also.weight
    assert certainty_of((called,)) < SUGGESTED  # A man from Micronesia named Mau Piailug.


def test_a_maiden_name_alone_is_not_the_person():
    assert said(", née ", is_full=False) is None


def test_brackets_that_close_behind_the_name_support_what_names_say():
    found = said(" (", ").")

    assert found
    assert not found.is_of_names
    assert said(" (", " in") is None


def test_the_strongest_of_several_sentences_counts():
    weak, strong = (
        AdjacentNames(ONE.id, OTHER.id, ", or ", ""),
        AdjacentNames(OTHER.id, ONE.id, " (alias ", ")"),
    )

    [reason] = stated_names([weak, strong, weak]).values()

    assert reason.weight > 4


def test_names_that_do_not_resemble_are_suggested_where_a_document_says_so():
    besides = [AdjacentNames(ONE.id, OTHER.id, ", known as ", "")]

    [found] = found_among(ONE, OTHER, besides=besides)

    assert set(found.pair) == {ONE.id, OTHER.id}
    assert found_among(ONE, OTHER) == []


def test_neighbours_that_both_have_are_counted():
    near = [thing(f"Neighbour {number}") for number in range(4)]
    hub = thing("Hub", near=near)
    one, other = thing("Ada", near=[*near, hub]), thing("Adda", near=[*near, hub])
    things = {one.id: one for one in (*near, hub)}

    found = shared_neighbours(one, other, things)

    assert found
    assert found.words == "share 5 neighbours"
    few = shared_neighbours(thing("Ada", near=near[:1]), other, things)
    assert few
    assert few.words == "share 1 neighbour"
    assert few.weight < found.weight <= 2


def test_two_without_neighbours_share_none():
    assert shared_neighbours(ONE, OTHER, {}) is None


@pytest.mark.parametrize(("cosine", "weight"), [(-0.5, -1), (0.2, 0), (0.4, 0.8), (0.9, 1.5)])
def test_passages_about_the_same_speak_for_it_and_others_against(cosine: float, weight: float):
    found = similar_passages(cosine)

    assert found.weight == pytest.approx(weight)
    assert bool(found.words) == (weight > 0.6)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_packed_links_are_the_sets_of_neighbours(pairs: list[tuple[int, int]]):
    ids = [UUID(int=number) for number in range(11)]
    expected = {one: set[UUID]() for one in ids}
    for source, target in pairs:
        expected[ids[source]].add(ids[target])
        expected[ids[target]].add(ids[source])
    ends = [packed(ids[pair[side]] for pair in pairs) for side in (0, 1)]

    near = Links(*ends).neighbours(ids)

    assert [set(one) for one in near] == list(expected.values())
    for one, other in product(near, near):
        assert one & other == set(one) & set(other)
    assert all((one in beside) == (one in set(beside)) for one, beside in product(ids, near))
