from __future__ import annotations

from uuid import UUID, uuid4

from hypothesis import given, strategies as st

from retrieval.search.local import MOST_EACH, Claim, by_importance, fitting_facts, tokens
from retrieval.search.records import Relationship

A, B, C, X, Y, Z = (UUID(int=number) for number in range(1, 7))


def link(source, target, weight=1.0, text="short"):
    return Relationship(uuid4(), source, target, text, (), weight, ("meets",))


def claim(subject, text="short"):
    return Claim(uuid4(), subject, "conduct", "true", "", text, uuid4())


def ends(links):
    return [one.ends for one in links]


def test_relationships_between_two_of_the_entities_come_first_by_weight():
    links = [link(A, X, 9), link(A, B, 1), link(B, C, 2), link(Y, C, 8)]

    assert ends(by_importance(links, [A, B, C])) == [(B, C), (A, B), (A, X), (Y, C)]


def test_both_directions_are_kept():
    links = [link(A, B, 1), link(B, A, 2)]

    assert ends(by_importance(links, [A, B])) == [(B, A), (A, B)]


def test_those_that_lead_out_go_by_how_many_entities_the_neighbour_is_linked_to():
    links = [link(A, X, 9), link(A, Y, 1), link(Y, B, 2), link(B, Z, 8)]

    assert ends(by_importance(links, [A, B])) == [(Y, B), (A, Y), (A, X), (B, Z)]


def test_a_neighbour_linked_twice_to_one_entity_counts_once():
    links = [link(A, X, 1), link(X, A, 1), link(A, Y, 3)]

    assert ends(by_importance(links, [A]))[0] == (A, Y)


def test_only_so_many_lead_out_for_each_entity_and_all_between_them_stay():
    out = [link(A, uuid4(), 1) for _ in range(40)]
    between = [link(A, B, 0.1), link(B, A, 0.1)]

    found = by_importance(out + between, [A, B])

    assert len(found) == 2 * MOST_EACH + 2
    assert {one.id for one in between} <= {one.id for one in found}


def test_relationships_of_other_entities_are_left_out():
    assert by_importance([link(X, Y)], [A]) == []


def test_what_fitted_before_stays_where_the_next_entity_is_too_much():
    small, large = link(A, X), link(B, Y, text="word " * 100)

    fitting = fitting_facts(tokens("short") + 1, [A, B], [small, large], [])

    assert fitting.relationships == (small,)


def test_claims_count_with_the_relationships_of_their_entity():
    of_a, of_b = claim(A), claim(B, "word " * 100)

    fitting = fitting_facts(2 * tokens("short") + 1, [A, B], [link(A, X)], [of_a, of_b])

    assert fitting.claims == (of_a,)


def test_nothing_fits_where_the_first_entity_is_too_much():
    fitting = fitting_facts(1, [A], [link(A, X)], [])

    assert (fitting.relationships, fitting.claims) == ((), ())


@given(
    st.lists(
        st.tuples(
            st.sampled_from([A, B, C, X, Y]), st.sampled_from([A, B, C, X, Y]), st.floats(0, 9)
        ),
        max_size=30,
    ),
    st.floats(0, 500),
)
def test_the_budget_always_holds_and_order_never_mixes(drawn, budget):
    links = [link(source, target, weight) for source, target, weight in drawn if source != target]

    fitting = fitting_facts(budget, [A, B, C], links, [])

    inside = [{A, B, C}.issuperset(one.ends) for one in by_importance(links, [A, B, C])]
    assert sum(tokens(one.description) for one in fitting.relationships) <= budget
    assert inside == sorted(inside, reverse=True)
