"""CSV and TSV: one line of text per row, with named columns (see ``tables``)."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ingestion.parsers.builder import TextBuilder, title_from_name
from ingestion.parsers.document import ParsedDocument, Source, clean
from ingestion.parsers.encoding import decode
from ingestion.parsers.formats import TSV
from ingestion.parsers.tables import write_table

_DELIMITERS: Final = (",", ";", "\t", "|")
_SAMPLE_CHARACTERS: Final = 64 * 1024
_SAMPLE_ROWS: Final = 50
_SEPARATOR_LINE: Final = re.compile(r"\Asep=(.)\n", re.IGNORECASE)
# An unclosed quote swallows the rest of the file into one cell.
_SWALLOWED_LINES: Final = 100


def read(source: Source) -> ParsedDocument:
    decoded = decode(source.file.read_bytes())
    builder = TextBuilder(source)
    builder.warn(decoded.warning)
    text, builder.removed = clean(decoded.text)
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    delimiter, text = _delimiter(text, source.media_type)
    quoting = csv.QUOTE_MINIMAL
    if _never_closes(text, delimiter):
        quoting = csv.QUOTE_NONE
        builder.warn("A quotation mark is never closed, so quotation marks were read as text.")
    write_table(builder, _rows(text, delimiter, quoting))
    return builder.build(
        parser="delimited", title=title_from_name(source.name), encoding=decoded.encoding
    )


def _rows(text: str, delimiter: str, quoting: int = csv.QUOTE_MINIMAL) -> Iterator[list[str]]:
    # newline="" passes line ends inside quotes to the csv module unchanged.
    lines = io.StringIO(text, newline="")
    return csv.reader(
        lines,
        delimiter=delimiter,
        quoting=quoting,  # type: ignore[arg-type]  # the stub wants literals; any constant is right
    )


def _delimiter(text: str, media_type: str) -> tuple[str, str]:
    if line := _SEPARATOR_LINE.match(text):
        return line.group(1), text[line.end() :]
    sample = text[:_SAMPLE_CHARACTERS]
    if media_type == TSV and "\t" in sample:
        return "\t", text
    return max(_DELIMITERS, key=lambda delimiter: _evenness(sample, delimiter)), text


def _evenness(sample: str, delimiter: str) -> tuple[float, int]:
    """The share of the sample's rows with the commonest width of two or more, then that width."""
    widths = Counter(len(row) for row in islice(_rows(sample, delimiter), _SAMPLE_ROWS) if row)
    wide = [(count, width) for width, count in widths.items() if width > 1]
    count, width = max(wide, default=(0, 0))
    return count / max(1, widths.total()), width


def _never_closes(text: str, delimiter: str) -> bool:
    if text.count('"') % 2 == 0:
        return False
    cells = (cell for row in _rows(text, delimiter) for cell in row)
    return any(cell.count("\n") > _SWALLOWED_LINES for cell in cells)
