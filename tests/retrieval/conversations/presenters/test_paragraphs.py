"""Rows that follow each other in an answer are shown as a table."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from retrieval.conversations.presenters.paragraphs import cells_of, runs_of
from tests.retrieval.conversations.presenters.test_answers import said, shown

ADA = said("Name: Ada; Post: keeper; Since: 1866", (1, 11, 15))
BRAM = said("Name: Bram; Since: 1890", (1, 16, 20))
LAMP = said("Lamp: oil; Cost: £3", (2, 11, 15))


def tables(*sentences):
    return [(one.columns, one.rows) for one in shown(*sentences, each_alone=True) if one.columns]


def test_rows_of_the_same_columns_are_a_table_with_the_source_of_each():
    (table,) = shown(ADA, BRAM, each_alone=True)

    assert table.columns == ("Name", "Post", "Since")
    assert table.rows == (("Ada", "keeper", "1866"), ("Bram", "", "1890"))
    assert [len(sentence.chips) for _, sentence in table.cited_rows] == [1, 1]


def test_what_stands_before_and_behind_a_table_stays_where_it_is():
    before, table, behind = shown(
        said("The keepers were:", (1, 11, 15)), ADA, BRAM, LAMP, each_alone=True
    )

    assert [bool(one.columns) for one in (before, table, behind)] == [False, True, False]
    assert behind.sentences[0].text == "Lamp: oil; Cost: £3"


@pytest.mark.parametrize(
    "others",
    [
        (),
        (LAMP,),
        (said("Bram came in 1890.", (1, 16, 20)),),
        (BRAM | {"check": {"verdict": "unsupported"}},),
        (BRAM | {"marked": [[6, 10]]},),
    ],
)
def test_a_row_beside_none_of_its_table_or_one_with_something_to_be_said_of_it_is_a_sentence(
    others,
):
    assert tables(ADA, *others) == []


def test_what_a_model_writes_is_no_table():
    assert not any(one.columns for one in shown(ADA, BRAM))


def test_two_tables_that_follow_each_other_stay_two():
    second = replace_name(LAMP, "Lamp: gas; Cost: £5")

    assert [columns for columns, _ in tables(ADA, BRAM, LAMP, second)] == [
        ("Name", "Post", "Since"),
        ("Lamp", "Cost"),
    ]


def replace_name(row, text):
    return row | {"text": text}


WORDS = st.text(st.characters(exclude_characters=";:", categories=["L", "N"]), min_size=1)
NAMES = st.lists(WORDS.filter(lambda word: len(word) <= 60), min_size=2, max_size=6, unique=True)


@given(st.data(), NAMES)
def test_every_cell_of_every_row_is_found_again_below_its_name(data, names):
    made = [
        {name: data.draw(WORDS) for name in names if name == names[0] or data.draw(st.booleans())}
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    made.insert(0, dict.fromkeys(names, "whole"))

    found = [cells_of("; ".join(f"{name}: {cell}" for name, cell in row.items())) for row in made]

    assert [one or None for one in found] == [row if len(row) > 1 else None for row in made]
    if all(found):
        assert list(runs_of(found)) == [(0, len(found), tuple(names))]
