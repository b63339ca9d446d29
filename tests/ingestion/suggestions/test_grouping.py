from __future__ import annotations

import uuid
from itertools import combinations

from hypothesis import given, strategies as st

from ingestion.resolution.keys import pair_of
from ingestion.suggestions.cases import MOST, Group, SuggestedPair, grouped, key_of

A, B, C, D, E, F = (uuid.UUID(int=number) for number in range(1, 7))


def suggested(one: uuid.UUID, other: uuid.UUID, certainty: float = 0.8) -> SuggestedPair:
    return SuggestedPair(pair_of(one, other), certainty, ("the names are alike",))


def members(groups: list[Group]) -> list[set[uuid.UUID]]:
    return [set(group.entities) for group in groups]


def test_entities_that_were_all_suggested_with_each_other_are_one_case():
    [case] = grouped([suggested(A, B), suggested(B, C, 0.6), suggested(A, C, 0.9)], {})

    assert set(case.entities) == {A, B, C}
    assert [pair.certainty for pair in case.pairs] == [0.9, 0.8, 0.6]
    assert case.certainty == 0.6


def test_a_chain_is_two_cases_of_which_one_begins_where_the_other_ends():
    cases = grouped([suggested(A, B, 0.9), suggested(B, C, 0.8)], {})

    assert members(cases) == [{A, B}, {B, C}]


def test_no_case_holds_two_that_were_said_to_differ():
    pairs = [suggested(A, B, 0.9), suggested(B, C, 0.8), suggested(A, C, 0.7)]

    cases = grouped(pairs, {}, apart={(A, C)})

    assert sorted(members(cases), key=sorted) == [{A, B}, {B, C}]


def test_a_case_has_at_most_five():
    pairs = [suggested(*pair) for pair in combinations((A, B, C, D, E, F), 2)]

    cases = grouped(pairs, {})

    assert max(len(case.entities) for case in cases) == MOST
    assert {pair.pair for case in cases for pair in case.pairs} == {one.pair for one in pairs}


def test_what_is_certain_and_moves_much_comes_first():
    sizes = {A: 90, B: 80, C: 5, D: 1}

    cases = grouped([suggested(C, D, 0.9), suggested(A, B, 0.7)], sizes)

    assert members(cases) == [{A, B}, {C, D}]
    assert cases[0].entities == (A, B)
    assert cases[0].effect > cases[1].effect


def test_a_case_is_named_by_its_entities():
    assert key_of([A, B]) == key_of([B, A]) != key_of([A, C])


def test_nothing_suggested_is_no_case():
    assert grouped([], {}) == []


PAIRS = st.lists(
    st.tuples(
        st.integers(1, 9), st.integers(1, 9), st.floats(0.4, 1), st.booleans()
    ).filter(lambda row: row[0] < row[1]),
    unique_by=lambda row: row[:2],
)  # fmt: skip


@given(PAIRS)
def test_whatever_is_suggested_each_pair_is_in_one_case_and_no_case_chains(
    pairs: list[tuple[int, int, float, bool]],
):
    asked = [
        (suggested(uuid.UUID(int=one), uuid.UUID(int=other), certainty), is_apart)
        for one, other, certainty, is_apart in pairs
    ]
    apart = {one.pair for one, is_apart in asked if is_apart}

    cases = grouped([one for one, _ in asked], {}, apart)

    open_pairs = sorted(one.pair for one, is_apart in asked if not is_apart)
    assert sorted(pair.pair for case in cases for pair in case.pairs) == open_pairs
    for case in cases:
        assert 2 <= len(case.entities) <= MOST
        inside = {pair_of(*pair) for pair in combinations(case.entities, 2)}
        assert inside == {pair.pair for pair in case.pairs}


@given(PAIRS, st.randoms())
def test_cases_do_not_depend_on_the_order_of_suggestions(pairs, random):
    asked = [suggested(uuid.UUID(int=a), uuid.UUID(int=b), c) for a, b, c, _ in pairs]
    mixed = list(asked)
    random.shuffle(mixed)

    assert grouped(asked, {}) == grouped(mixed, {})
