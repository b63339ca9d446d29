"""Tables of plain text that spaces and dashes lay out: rows that name their columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.spaced_tables import parts_of
from ingestion.parsers.tables import Row
from kb_project.text.regions import RegionKind
from tests.ingestion.parsers.conftest import of_kind

CRIB = """\
WHO COMES WHEN

Teams on the tower:
  Team    Lead             Since
  ------  ---------------  ----------
  Amber   Dilys Rowe       May 2019
  Birch   Stan Kowalczyk

  Cedar   Patience Mbeki   18 June

Ring before you come.
"""


def tables_of(text: str) -> list[list[Row]]:
    return [[list(row) for row in part] for part in parts_of(text) if not isinstance(part, str)]


def test_each_row_names_its_columns(read):
    document = read(CRIB.encode(), "crib.txt")

    rows = (
        "Team: Amber; Lead: Dilys Rowe; Since: May 2019\n"
        "Team: Birch; Lead: Stan Kowalczyk\n"
        "Team: Cedar; Lead: Patience Mbeki; Since: 18 June"
    )
    assert document.text == (
        f"WHO COMES WHEN\n\nTeams on the tower:\n\n{rows}\n\nRing before you come."
    )
    assert of_kind(document, RegionKind.TABLE) == [rows]


def test_numbers_on_the_right_and_cells_wider_than_their_dashes_stay_in_their_columns():
    text = "Name       Litres\n-----  ---------\nKelder     7,300\nThe long tank   12\n"

    assert tables_of(text) == [[["Name", "Litres"], ["Kelder", "7,300"], ["The long tank", "12"]]]


def test_one_line_below_all_names_is_enough_if_rows_keep_to_their_columns():
    rows = "  Code   Name\n  ___________________\n  al     Alva\n  bm     Baum (Native, HT)\n"

    assert tables_of(rows) == [[["Code", "Name"], ["al", "Alva"], ["bm", "Baum (Native, HT)"]]]
    assert tables_of("Minutes      May 2019\n---------------------\nAll came.\nWe ate.\n") == []


def test_a_cell_may_go_on_in_the_next_line_and_a_name_above_another():
    text = "Max     Usual\nMl/d    Ml/d\n------  ---------\n62      47, except\n        in winter\n"

    assert tables_of(text) == [[["Max Ml/d", "Usual Ml/d"], ["62", "47, except in winter"]]]


def test_a_frame_of_dashes_is_no_row():
    frame = "=====  ====="
    text = f"{frame}\nInput  Output\n{frame}\nFalse  True\nTrue   False\n{frame}\n\nAnd then.\n"

    assert tables_of(text) == [[["Input", "Output"], ["False", "True"], ["True", "False"]]]
    assert list(parts_of(text))[0::2] == ["", "\nAnd then.\n"]


def test_of_two_tables_each_has_its_own_names():
    text = "Ship  Crew\n----  ----\nAggie  5\n\nPort  Depth\n----  -----\nSkarr  4 m\n"

    assert tables_of(text) == [
        [["Ship", "Crew"], ["Aggie", "5"]],
        [["Port", "Depth"], ["Skarr", "4 m"]],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Notes\n=====\n\nIt burned.\n",
        "-- Permission is granted to any person  --\n-- --\n-- It is provided as it is      --\n",
        "12  15\n--  --\n27  30\n",
        "Name  Age\n----  ---\n\nIt began in the year of the storm, and nobody knew.\n",
        "It rained.\n\n---- ----\n\nIt stopped.\n",
        "$ ls --all --size\n",
    ],
    ids=["heading", "notice in a frame", "sum", "no rows", "ornament", "command"],
)
def test_these_are_no_tables(text):
    assert list(parts_of(text)) == [text]


WORD = st.text("abcdefgh", min_size=1, max_size=8)
CELL = st.lists(WORD, min_size=1, max_size=3).map(" ".join)


def laid_out(rows: Sequence[Sequence[str]], gap: int) -> str:
    widths = [max(2, *map(len, column)) for column in zip(*rows, strict=True)]
    names, *below = [
        (" " * gap).join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    rule = (" " * gap).join("-" * width for width in widths)
    return "\n".join([names, rule, *below])


@given(st.data(), st.integers(2, 5), st.integers(1, 6), st.integers(1, 4))
def test_every_cell_of_every_table_is_in_its_row_and_column(data, width, height, gap):
    names = [f"Name {'ABCDE'[number]}" for number in range(width)]
    rows = data.draw(st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=height,
                              max_size=height))  # fmt: skip

    text = f"Before it.\n\n{laid_out([names, *rows], gap)}\n\nBehind it."

    assert tables_of(text) == [[names, *rows]]
    assert list(parts_of(text))[0::2] == ["Before it.\n", "\nBehind it."]


LINES = st.lists(
    st.sampled_from(
        ["", "a  b", "-- --", "--  --", "==  ==", "aa  bb  cc", "It was so.", "   dd", "12  13",
         "--  --  --", "a b", "\tx\ty"]
    ),
    max_size=14,
)  # fmt: skip


@given(LINES)
def test_no_word_is_lost_and_the_words_between_tables_stay_as_they_are(lines):
    text = "\n".join(lines)

    parts = list(parts_of(text))

    said = [
        part if isinstance(part, str) else " ".join(filter(None, chain.from_iterable(part)))
        for part in parts
    ]
    words = " ".join(said).replace("-", " ").replace("=", " ").split()
    assert sorted(words) == sorted(text.replace("-", " ").replace("=", " ").split())
    assert all(part in text for part in parts if isinstance(part, str))
