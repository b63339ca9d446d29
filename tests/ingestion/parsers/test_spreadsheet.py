from __future__ import annotations

import datetime
import io

import pytest
import xlsxwriter

from ingestion.parsers.document import Limits
from ingestion.parsers.formats import ODS
from ingestion.parsers.number_formats import NumberFormat
from tests.ingestion.parsers.conftest import headed
from tests.ingestion.parsers.samples import make_encrypted_office, make_ods, make_xlsx, make_zip


def test_a_sheet_is_a_page_and_rows_name_their_columns(read):
    data = make_xlsx(
        {
            "Boats": [
                ["Name", "Length (m)", "Bought", "Afloat"],
                ["Petrel", 9.5, datetime.date(2024, 5, 1), True],
                ["Aggie", 31, datetime.datetime.fromisoformat("1998-07-02T14:30"), False],
            ],
            "Empty": [],
            "Crew": [["Owen", "skipper"]],
        }
    )

    document = read(data, "fleet.xlsx")

    assert [document.text[page.start : page.end] for page in document.pages] == [
        "Boats\n\nName: Petrel; Length (m): 9.5; Bought: 2024-05-01; Afloat: TRUE\n"
        "Name: Aggie; Length (m): 31; Bought: 1998-07-02 14:30:00; Afloat: FALSE",
        "",
        "Crew\n\nOwen; skipper",
    ]
    assert headed(document) == ["Boats", "Crew"]
    assert document.title == "fleet"


def test_a_caption_and_two_tables_on_one_sheet_stay_apart(read):
    rows: list[list[object]] = [
        ["Budget in pounds"],
        ["Line", "2024", "2025"],
        ["Grants", 640000, 612000],
        ["COSTS"],
        ["Fuel", 1200, 1300],
        [],
        ["Fund", "Holder"],
        ["Lantern", "Ada"],
    ]

    assert read(make_xlsx({"B": rows}), "b.xlsx").text == (
        "B\n\nBudget in pounds\nLine: Grants; 2024: 640000; 2025: 612000\nCOSTS\n"
        "Line: Fuel; 2024: 1200; 2025: 1300\n\nFund: Lantern; Holder: Ada"
    )


def test_an_opendocument_sheet_is_read(read):
    document = read(make_ods([["Name", "Post"], ["Owen", "skipper"]]), "crew.ods")

    assert document.text == "Crew\n\nName: Owen; Post: skipper"
    assert document.media_type == "application/vnd.oasis.opendocument.spreadsheet"


def test_an_opendocument_sheet_says_its_title_author_and_dates(read):
    meta = (
        "<dc:title>Crew of 1869</dc:title><meta:initial-creator>Ada</meta:initial-creator>"
        "<meta:creation-date>2024-05-01T09:30:00</meta:creation-date>"
        "<dc:creator>Bram</dc:creator><dc:date>2024-06-02T10:00:00</dc:date>"
        '<meta:user-defined meta:name="title">Other</meta:user-defined>'
    )

    document = read(make_ods([["Name", "Post"], ["Owen", "skipper"]], meta), "crew.ods")

    assert document.title == "Crew of 1869"
    assert document.metadata == {
        "author": "Ada",
        "created": "2024-05-01T09:30:00",
        "modified": "2024-06-02T10:00:00",
    }


def test_a_sheet_without_properties_is_named_after_its_file(read):
    assert read(make_ods([["Owen", "skipper"], ["Ada", "cook"]]), "crew.ods").title == "crew"


def test_a_protected_workbook_is_refused(refuse):
    assert refuse(make_encrypted_office(), "secret.xlsx").code == "password_protected"


def test_a_damaged_workbook_is_refused(refuse):
    whole = make_xlsx({"A": [["Text"]]})

    error = refuse(whole[: len(whole) // 2], "half.xlsx")
    assert error.code == "xlsx_corrupt"
    assert "cannot be opened as an Excel workbook" in error.happened


def test_a_damaged_opendocument_sheet_is_refused_under_its_own_name(refuse):
    data = make_zip({"mimetype": ODS, "content.xml": "<no more"})

    error = refuse(data, "half.ods")
    assert error.code == "xlsx_corrupt"
    assert "cannot be opened as an OpenDocument spreadsheet" in error.happened


def test_a_workbook_that_is_too_long_stops_early(refuse):
    rows = [["word " * 20] * 5] * 200

    assert (
        refuse(make_xlsx({"A": rows}), "long.xlsx", Limits(max_characters=5000)).code == "too_long"
    )


def test_a_workbook_with_empty_sheets_has_no_text(refuse):
    assert refuse(make_xlsx({"A": [], "B": []}), "none.xlsx").code == "no_text"


def test_cells_merged_over_rows_are_in_each_of_them(read):
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer)
    sheet = book.add_worksheet("Crew")
    sheet.write_row(2, 1, ["Place", "Name"])
    sheet.merge_range(3, 1, 4, 1, "Workshop")
    sheet.write_column(3, 2, ["Ada", "Bo"])
    book.close()

    document = read(buffer.getvalue(), "c.xlsx")

    assert document.text == "Crew\n\nPlace: Workshop; Name: Ada\nPlace: Workshop; Name: Bo"


def test_percentages_and_money_have_their_unit(read):
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer)
    sheet = book.add_worksheet("Rates")
    sheet.write_row(1, 1, ["Quarter", "Occupancy", "Fee", "Cost", "Plain"])
    sheet.write(3, 1, "Q1")
    for column, (value, code) in enumerate(
        [
            (0.035, "0%"),
            (3.2, "€#,##0.00"),
            (-48000, "#,##0.00\\ [$kr-414];[Red]-0"),
            (7.5, "0.00"),
        ],
        2,
    ):
        sheet.write_number(3, column, value, book.add_format({"num_format": code}))
    book.close()

    document = read(buffer.getvalue(), "r.xlsx")

    assert document.text.split("\n")[-1] == "Q1; 3.5%; €3.20; -48000.00 kr; 7.5"


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0.0%", 1 / 3, "33.3333333333%"),
        ('_-* #,##0.00\\ "EUR"_-', 5, "5.00 EUR"),
        ("$#,##0", 1234.5, "$1234.5"),
        ("[$£-809]0.00;-0", -1, "-£1.00"),
    ],
)
def test_a_number_keeps_its_digits_beside_its_unit(code, value, shown):
    assert NumberFormat.of(code).show(value) == shown


@pytest.mark.parametrize("code", ["General", "", "0.00", "yyyy-mm-dd", "#,##0;[Red]-#,##0", "@"])
def test_other_formats_add_nothing(code):
    assert NumberFormat.of(code) is None
