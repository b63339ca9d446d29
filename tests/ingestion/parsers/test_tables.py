from __future__ import annotations

import pytest

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import Limits, Source
from ingestion.parsers.tables import is_header, spread, write_table
from tests.ingestion.parsers.conftest import NO_FILE


def written(rows) -> str:
    builder = TextBuilder(Source(NO_FILE, "x", "text/csv", Limits()))
    write_table(builder, rows)
    return builder.text


@pytest.mark.parametrize(
    "row",
    [
        ["Name", "Age"],
        ["Region", "2023", "2024"],
        ["Charge", "2024-25", "2025/26"],
        ["", "Visitors", "Cost"],
        ["名前", "町"],
    ],
)
def test_labels_make_a_header(row):
    assert is_header(row)


@pytest.mark.parametrize(
    "row",
    [
        ["Ada", "36"],
        ["2023", "2024"],
        ["Same", "same"],
        ["Only one"],
        ["a" * 81, "b"],
        ["x", "$4.50"],
    ],
)
def test_values_do_not(row):
    assert not is_header(row)


def test_a_row_longer_than_its_header_keeps_its_cells():
    assert written([["A", "B"], ["1", "2", "3"]]) == "A: 1; B: 2; 3"


def test_a_header_alone_is_text():
    assert written([["Name", "Age"]]) == "Name; Age"


def test_blank_rows_part_tables():
    assert written([["A", "B"], ["1", "2"], ["", ""], ["C", "D"], ["3", "4"]]) == (
        "A: 1; B: 2\n\nC: 3; D: 4"
    )


def test_a_colon_in_a_label_is_not_doubled():
    assert written([["Name:", "Age："], ["Ada", "36"]]) == "Name: Ada; Age: 36"


def test_nothing_is_nothing():
    assert written([]) == ""
    assert written([[], ["", " "]]) == ""


def test_a_value_under_a_merged_name_has_that_name():
    assert written([["Port", "Boats", None], ["Voar", "4", "5"]]) == "Port: Voar; Boats: 4; 5"


def test_merged_cells_are_in_every_row_that_they_cover():
    rows = [["Port", "Boat"], ["Voar", "Ada"], ["", "Bo"], ["", ""], ["Skarrow", "Cy"]]

    assert written(spread(rows, [((1, 0), (3, 0))])) == (
        "Port: Voar; Boat: Ada\nPort: Voar; Boat: Bo\nPort: Skarrow; Boat: Cy"
    )


def test_merged_names_are_read_with_the_names_below_them():
    rows = [
        ["Rope", "Retail", "", "Trade", ""],
        ["", "Net", "Gross", "Net", "Gross"],
        list("abcde"),
    ]
    merged = [((0, 0), (1, 0)), ((0, 1), (0, 2)), ((0, 3), (0, 4))]

    assert written(spread(rows, merged)) == (
        "Rope: a; Retail Net: b; Retail Gross: c; Trade Net: d; Trade Gross: e"
    )


def test_the_first_values_under_a_merged_name_are_no_names():
    rows = [["Keeper", "", "Port"], ["Ada", "Holm", "Voar"], ["Bo", "Lind", "Voar"]]

    assert written(spread(rows, [((0, 0), (0, 1))])) == (
        "Keeper: Ada; Holm; Port: Voar\nKeeper: Bo; Lind; Port: Voar"
    )


def test_cells_merged_beyond_the_rows_are_read():
    assert written(spread([["a", "b"]], [((0, 1), (9, 9)), ((5, 5), (6, 6))])) == "a; b"
