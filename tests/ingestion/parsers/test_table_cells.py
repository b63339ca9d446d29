"""Cells become words: what a sheet shows, what separates a line, and no cell is ever lost."""

from __future__ import annotations

import csv
import datetime
import io

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers import delimited, spreadsheet
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import Limits, Source
from ingestion.parsers.formats import CSV, TSV
from ingestion.parsers.tables import is_caption, is_header, write_table
from tests.ingestion.parsers.conftest import NO_FILE

CELLS = st.text(alphabet="abcXYZ 0189.灯", max_size=8)
TABLES = st.lists(st.lists(CELLS, max_size=5), max_size=8)


def written(rows: list[list[str]]) -> str:
    builder = TextBuilder(Source(NO_FILE, "a.csv", CSV, Limits()))
    write_table(builder, rows)
    return builder.text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "TRUE"),
        (False, "FALSE"),
        (7, "7"),
        (7.0, "7"),
        (-0.5, "-0.5"),
        (0.1 + 0.2, "0.3"),
        (1e15, "1e+15"),
        (1 / 3, "0.333333333333"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        ("  as it is ", "  as it is "),
        ("", ""),
        (datetime.date(2024, 5, 1), "2024-05-01"),
        (datetime.time(9, 30), "09:30:00"),
        (datetime.timedelta(hours=26), "1 day, 2:00:00"),
        (datetime.datetime.fromisoformat("2024-05-01"), "2024-05-01"),
        (datetime.datetime.fromisoformat("2024-05-01T09:30:15.5"), "2024-05-01 09:30:15"),
    ],
)
def test_a_cell_is_shown_as_a_reader_would_write_it_down(value, shown):
    assert spreadsheet._shown(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_keeps_twelve_digits(value):
    assert float(spreadsheet._shown(value)) == pytest.approx(value, rel=1e-11)


@given(st.lists(st.lists(st.integers(0, 999).map(str) | st.just(""), max_size=5), max_size=8))
def test_without_a_header_every_cell_is_in_the_text_in_order(rows):
    found = written(rows).replace(";", " ").split()

    assert found == [cell for row in rows for cell in row if cell]


@given(TABLES)
def test_a_table_never_has_more_lines_than_rows(rows):
    filled = [row for row in rows if any(cell.strip() for cell in row)]

    assert len([line for line in written(rows).split("\n") if line]) <= len(filled)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_every_row_under_a_header_names_its_columns(rows):
    filled = [(left.strip(), right.strip()) for left, right in rows]
    text = written([["Port", "Keeper"], *([left, right] for left, right in rows)])

    if all(left and right for left, right in filled):
        expected = [(" ".join(left.split()), " ".join(right.split())) for left, right in filled]
        assert text.split("\n") == [f"Port: {left}; Keeper: {right}" for left, right in expected]


def test_a_line_that_names_a_part_of_a_table_gets_no_column():
    text = written([["Name", "2023", "2024"], ["INCOME", "", ""], ["Dues", "5", "6"]])

    assert text == "INCOME\nName: Dues; 2023: 5; 2024: 6"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["Crew"], ["Name", "Age"], True),
        (["", "Crew"], ["Name", "Age"], True),
        (["Crew"], ["Ada"], False),
        (["Crew", "Ship"], ["Name", "Age"], False),
        ([""], ["Name", "Age"], False),
    ],
)
def test_one_cell_over_many_is_a_caption(first, second, expected):
    assert is_caption(first, second) is expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (["Region", "1999", "2024"], True),
        (["Region", "1850", "2024"], False),
        (["1999", "2000"], False),
        (["Name", "name"], False),
        (["Name"], False),
        (["Name", ""], False),
        (["Name", "x" * 81], False),
        (["Name", "€ 5"], False),
        (["Name", "12:30"], False),
    ],
)
def test_a_header_is_made_of_different_short_words(row, expected):
    assert is_header(row) is expected


@pytest.mark.parametrize(
    ("text", "media_type", "delimiter"),
    [
        ("a,b\n1,2\n", CSV, ","),
        ("a;b\n1,5;2,5\n", CSV, ";"),
        ("a|b\n1|2\n", CSV, "|"),
        ("a\tb,c\n1\t2\n", TSV, "\t"),
        ("a,b\n1,2\n", TSV, ","),
        ("sep=^\na^b\n", CSV, "^"),
        ("SEP=;\na,b;c\n", CSV, ";"),
        ('"a,b";c\n"d,e";f\n', CSV, ";"),
        ("one\ntwo\n", CSV, ","),
    ],
)
def test_the_separator_is_the_one_that_rows_agree_on(text, media_type, delimiter):
    assert delimited._delimiter(text, media_type)[0] == delimiter


def test_the_line_that_names_the_separator_is_no_row():
    assert delimited._delimiter("sep=;\na;b\n", CSV) == (";", "a;b\n")


@given(
    st.lists(st.tuples(*[st.text(alphabet='ab," ;\t|', max_size=6)] * 3), min_size=2, max_size=8)
)
def test_what_a_program_wrote_is_read_back_cell_by_cell(rows):
    out = io.StringIO()
    csv.writer(out, delimiter="|", quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)

    assert [tuple(row) for row in delimited._rows(out.getvalue(), "|")] == rows


def test_only_a_quote_that_swallows_a_hundred_lines_counts_as_never_closed():
    assert not delimited._never_closes('a,"b\n' + "c\n" * 50, ",")
    assert delimited._never_closes('a,"b\n' + "c\n" * 101, ",")
    assert not delimited._never_closes('a,"b\n' + "c\n" * 101 + '"', ",")
