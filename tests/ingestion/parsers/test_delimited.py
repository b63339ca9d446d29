from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings, strategies as st

from ingestion.parsers import Limits, OpenFile
from ingestion.parsers.delimited import read as read_table
from ingestion.parsers.document import Source
from ingestion.parsers.formats import CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_rows_name_their_columns_whatever_separates_them(read, delimiter):
    rows = [["Name", "Role", "Town"], ["Ada", "Engineer", "Bergen"], ["Bo", "", "Oslo"]]
    data = "\r\n".join(delimiter.join(row) for row in rows)

    assert read(data.encode(), "team.csv").text == (
        "Name: Ada; Role: Engineer; Town: Bergen\nName: Bo; Town: Oslo"
    )


def test_quoted_cells_keep_separators_and_lose_line_breaks(read):
    data = 'Name,Note\n"Flett, Ada","First line\nsecond ""quoted"" line"\n'

    assert read(data.encode(), "n.csv").text == (
        'Name: Flett, Ada; Note: First line second "quoted" line'
    )


def test_numbers_in_the_first_row_are_no_header(read):
    assert read(b"Voar,3.2\nHestay,2.9\n", "h.csv").text == "Voar; 3.2\nHestay; 2.9"


def test_excels_separator_line_is_obeyed(read):
    assert read(b"sep=;\nA;B\nx,y;z\n", "e.csv").text == "A: x,y; B: z"


def test_a_legacy_encoding_is_read(read):
    data = "Nom;Ville\nRenée;Besançon\nJérôme;Orléans\n".encode("cp1252")

    assert "Nom: Renée; Ville: Besançon" in read(data, "n.csv").text


def test_a_quote_that_never_closes_does_not_swallow_the_rest(read):
    rows = "".join(f"{number},text\n" for number in range(300))

    document = read(f'id,note\n0,"open\n{rows}'.encode(), "q.csv")

    assert "id: 299; note: text" in document.text
    assert any("never closed" in warning for warning in document.warnings)


def test_a_long_cell_is_read(read):
    assert len(read(f"a,b\n1,{'x' * 300_000}\n".encode(), "l.csv").text) > 300_000


CELLS = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="\"'"), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=2, max_size=12))
def test_every_cell_is_found_again_in_its_row(tmp_path_factory, rows):
    buffer = io.StringIO()
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows([["Col A", "Col B", "Col C"], *rows])
    path = tmp_path_factory.mktemp("csv") / "table"
    path.write_text(buffer.getvalue(), encoding="utf-8-sig", newline="")

    with OpenFile.at(path) as file:
        document = read_table(Source(file, "t.csv", CSV, Limits()))

    lines = document.text.split("\n")
    assert len(lines) == len(rows)
    for line, (a, b, c) in zip(lines, rows, strict=True):
        assert line == f"Col A: {a}; Col B: {b}; Col C: {c}"
