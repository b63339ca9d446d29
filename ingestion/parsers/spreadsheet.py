"""Spreadsheets (XLSX, XLSB, XLS, ODS): a sheet is a page and a heading; rows name their columns."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from ingestion.parsers import refusals
from ingestion.parsers.archive import check_archive, describe_opendocument, describe_openxml
from ingestion.parsers.builder import TextBuilder, title_from_name
from ingestion.parsers.document import ParsedDocument, Source
from ingestion.parsers.formats import FORMATS, ODS, XLS
from ingestion.parsers.number_formats import NumberFormat, NumberFormats
from ingestion.parsers.tables import Row, spread, write_table

_CODE: Final = "xlsx_corrupt"
_MIDNIGHT: Final = datetime.time()

_Value: TypeAlias = (
    int
    | float
    | str
    | bool
    | datetime.time
    | datetime.date
    | datetime.datetime
    | datetime.timedelta
)


def read(source: Source) -> ParsedDocument:
    kind = refusals.one(FORMATS[source.media_type])
    if source.media_type != XLS:
        check_archive(source, kind=kind, code=_CODE)
    builder = TextBuilder(source)
    try:
        _write_sheets(builder, source)
    except PasswordError as error:
        raise refusals.password_protected(source.name) from error
    except (CalamineError, OSError, ValueError) as error:
        raise refusals.corrupt(source.name, kind=kind, code=_CODE) from error
    title = _describe(builder, source) or title_from_name(source.name)
    return builder.build(parser="spreadsheet", title=title)


def _describe(builder: TextBuilder, source: Source) -> str:
    if source.media_type == XLS:
        # Its properties are in a format of their own, and calamine does not read them.
        return ""
    describe = describe_opendocument if source.media_type == ODS else describe_openxml
    return describe(builder, source.file)


def _write_sheets(builder: TextBuilder, source: Source) -> None:
    formats = NumberFormats(source.file)
    with source.file.open() as file, CalamineWorkbook.from_filelike(file) as workbook:
        for index, sheet in enumerate(workbook.sheets_metadata):
            # "Very hidden" sheets are made by add-ins for their own use; no menu shows them.
            is_shown = sheet.visible != SheetVisibleEnum.VeryHidden
            if sheet.typ == SheetTypeEnum.WorkSheet and is_shown:
                builder.open_page()
                rows = workbook.get_sheet_by_index(index)
                if rows.start is not None:
                    builder.heading(1, sheet.name)
                    write_table(builder, _rows(rows, formats.rows(sheet.name)))


def _rows(sheet: CalamineSheet, formats: Iterator[Mapping[int, NumberFormat]]) -> Iterator[Row]:
    # calamine leaves out the columns before the first cell, and not the rows.
    left = sheet.start[1] if sheet.start else 0
    merged = (
        ((top, first - left), (bottom, last - left))
        for (top, first), (bottom, last) in sheet.merged_cell_ranges or ()
    )
    rows = (
        [_shown(value, units.get(left + at)) for at, value in enumerate(row)]
        for row, units in zip(sheet.iter_rows(), formats, strict=False)
    )
    return spread(rows, merged)


def _shown(value: _Value, unit: NumberFormat | None = None) -> str:
    """A cell as a reader would write it down.

    >>> _shown(3.0), _shown(datetime.datetime(2024, 5, 1)), _shown(True)
    ('3', '2024-05-01', 'TRUE')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if unit is not None and isinstance(value, int | float) and math.isfinite(value):
        return unit.show(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
    if isinstance(value, datetime.datetime):
        return str(value.date()) if value.time() == _MIDNIGHT else value.isoformat(" ", "seconds")
    return str(value)
