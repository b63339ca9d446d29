from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.answering.suggesting import Link, Material, from_material
from retrieval.answering.telling_names import are_alike, telling

SHORT_FOR = [
    ("Gordon Rennie", "Gordie"),
    ("Gordie", "Gordon Rennie"),
    ("Vellacott Lens Works", "Lens Works"),
    ("Ada", "Ada"),
    ("临江光学工坊", "临江"),
]
DIFFERENT = [
    ("Great Lens", "Skarrow Light"),
    ("Ada Lind", "Bram Oost"),
    ("Elspeth Rennie", "Gordon Rennie"),
    ("Jamie Flett", "James Holm"),
    ("杭州", "宁波"),
]


@pytest.mark.parametrize("pair", SHORT_FOR)
def test_names_of_one_thing_are_alike(pair):
    assert are_alike(*pair)


@pytest.mark.parametrize("pair", DIFFERENT)
def test_names_of_two_things_are_not(pair):
    assert not are_alike(*pair)


def test_initials_and_the_rest_of_a_longer_name_tell_nothing():
    names = ["Orran Lights Society", "Society", "RK", "MO", "Vellacott Lens Works", "Lens Works"]

    assert telling(names) == {"Orran Lights Society", "Vellacott Lens Works"}


def test_a_short_name_without_a_longer_one_is_a_name():
    assert telling(["Society", "Ada"]) == {"Society", "Ada"}


@given(st.lists(st.text(max_size=12), max_size=8))
def test_telling_names_are_some_of_those_given(names):
    assert telling(names) <= set(names)


@given(st.text(max_size=12), st.text(max_size=12))
def test_alike_goes_both_ways(one, other):
    assert are_alike(one, other) == are_alike(other, one) or len(one) == len(other)


def test_no_question_is_made_of_names_that_are_one_or_tell_nothing():
    links = [
        Link("Gordon Rennie", "Gordie"),
        Link("Walter Groat", "Society"),
        Link("MO", "RK"),
        Link("Walter Groat", "Skarrow Light"),
    ]
    material = Material(["Orran Lights Society", "Society", "RK"], links)

    assert from_material(material, "Who fell?", "Nobody.") == [
        "How is Walter Groat linked to Skarrow Light?",
        "What do the documents say about Orran Lights Society?",
    ]


def test_links_of_what_was_asked_about_come_first():
    links = [Link("Per Holm", "Strand"), Link("Ada Lind", "Skarrow Light")]

    found = from_material(Material([], links), "Who was Ada Lind?", "A keeper.")

    assert found[0] == "How is Ada Lind linked to Skarrow Light?"
