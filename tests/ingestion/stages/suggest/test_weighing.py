from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import example, given, strategies as st

from ingestion.stages.suggest import blocks, weighing
from ingestion.stages.suggest.features import Candidate, Reason
from tests.ingestion.stages.suggest.things import found_among, names_of, thing


def certainty(one: Candidate, other: Candidate) -> float:
    things = {side.id: side for side in (one, other)}
    common = blocks.common_in(things.values())
    return weighing.certainty_of(weighing.reasons_for(one, other, things, common))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Louis XIV", "Louis XVI"),
        ("Storm 2023", "Storm 2024"),
        ("Hans Andresen Jr", "Hans Andresen Sr"),
        ("First World War", "Second World War"),
        ("North Tower", "South Tower"),
        ("May report", "June report"),
        ("Budget", "Budget 2024"),
    ],
)
def test_what_tells_one_of_several_is_never_suggested(one: str, other: str):
    assert certainty(thing(one, "work"), thing(other, "work")) == 0


def test_a_king_without_his_number_may_be_either_but_hardly():
    plain = certainty(thing("Levon Sanosyan"), thing("Sanosyan, Levon"))
    numbered = certainty(thing("Levon Sanosyan V"), thing("Levon Sanosyan"))

    assert numbered < 0.4 < plain


def test_other_types_make_it_less_certain_and_untyped_names_do_not():
    same = certainty(thing("Acme Inc", "organization"), thing("Acme Ltd", "organization"))
    other = certainty(thing("Acme Inc", "organization"), thing("Acme Ltd", "person"))
    untyped = certainty(thing("Acme Inc", "organization"), thing("Acme Ltd", "name"))

    assert other < untyped < same


def test_a_people_is_not_its_country():
    assert certainty(thing("German", "group"), thing("Germany", "place")) < 0.1


def test_a_sentence_that_names_both_makes_it_less_certain():
    one = thing("Jacob Marley")
    linked = thing("Jacob Marlez", near=[one])

    assert certainty(one, linked) < certainty(one, thing("Jacob Marlez"))


def test_but_not_of_initials_which_are_introduced_beside_the_name():
    unit = thing("Sea Observation Unit", "organization")
    linked = thing("SOU", "organization", near=[unit])

    assert certainty(unit, linked) == certainty(unit, thing("SOU", "organization"))


def test_neighbours_alone_suggest_nothing():
    near = [thing(f"Neighbour {number}") for number in range(9)]

    found = found_among(*near, thing("Ada", near=near), thing("Bertil", near=near))

    assert found == []


def test_passages_may_tip_the_balance_either_way():
    one, other = thing("Selkie Maid", "product"), thing("Tender Selkie Maid", "product")
    things = {side.id: side for side in (one, other)}
    common = blocks.common_in(things.values())
    possible = weighing.weighed([(one, other)], things, common, {})
    [pair] = [found.pair for found in possible]

    assert weighing.with_passages(possible, {}) == []
    assert weighing.with_passages(possible, {pair: 0.1}) == []
    [found] = weighing.with_passages(possible, {pair: 0.9})
    assert "their passages are about the same subject" in [reason.words for reason in found.reasons]


def test_one_entity_is_suggested_with_few_others():
    things = [thing(f"Marian Heddle {suffix}") for suffix in ("Smith", "Jones", "Brown", "Woods")]
    clones = [thing("Marian Heddle", kind) for kind in "abcdefghij"]

    found = found_among(*things, *clones)

    for one in (*things, *clones):
        assert sum(one.id in pair.pair for pair in found) <= weighing.MOST_OF_ONE


def test_no_reason_is_no_certainty():
    assert weighing.certainty_of([]) == 0
    assert weighing.certainty_of([Reason("name", weighing.NEVER)]) == 0


NAMES = st.lists(
    st.text("abcde .IVX12Jr", min_size=1, max_size=14).map(str.strip).filter(bool),
    min_size=2,
    max_size=6,
    unique=True,
)


@given(NAMES)
@example(["II.I", "dI.I"])
def test_whatever_names_are_called_certainty_is_the_same_both_ways(names: list[str]):
    things = [one for one in map(thing, names) if one.key]
    for one, other in combinations(things, 2):
        there, back = certainty(one, other), certainty(other, one)
        assert 0 <= there <= 1
        assert there == pytest.approx(back)


@given(NAMES)
def test_whatever_names_are_called_something_is_suggested_or_not(names: list[str]):
    things = [one for one in map(thing, names) if one.key]

    for pair in names_of(found_among(*things), *things):
        assert len(pair) <= 2
