"""Percentages and money in Excel workbooks: a cell that shows *85%* has 0.85 in the file."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Final, Self

from lxml import etree

from ingestion.parsers.archive import ZIP_ERRORS, parse_xml
from ingestion.parsers.document import OpenFile

_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BUILT_IN: Final = {"9": "0%", "10": "0.00%"}
"""Those of money are left out: which money they show depends on the computer."""
_MONEY: Final = re.compile(r"[$¢£¥€₣₤₩₪₫₱₴₹₺₽₿]|\b[A-Z]{3}\b|\b(?:kr|zł|Kč|Ft|lei)\b")
_CODE: Final = re.compile(
    r"(?P<before>[^#0?.,%]*)[#0?,]+(?:\.(?P<decimals>[#0?]+))?(?P<percent>\s*%)?(?P<after>[^#0?%]*)"
)
# What is written as it is, then what is not written: colours and conditions, spaces, fillers.
_WRITTEN: Final = re.compile(r'\[\$([^\]-]*)[^\]]*\]|"([^"]*)"|\\(.)')
_UNWRITTEN: Final = re.compile(r"\[[^\]]*\]|[_*].")
_CELL: Final = re.compile(r"([A-Z]{1,3})[0-9]+")


@dataclass(frozen=True, slots=True)
class NumberFormat:
    before: str
    after: str
    decimals: int
    is_percent: bool

    @classmethod
    def of(cls, code: str) -> Self | None:
        """A format that adds a unit to its number; None for any other."""
        positive = _UNWRITTEN.sub("", _WRITTEN.sub(_letters, code.partition(";")[0])).strip()
        found = _CODE.fullmatch(positive)
        if found is None:
            return None
        before, after, percent = found["before"], found["after"], found["percent"]
        if not percent and not _MONEY.search(f"{before} {after}"):
            return None
        return cls(before, f"{percent or ''}{after}", len(found["decimals"] or ""), bool(percent))

    def show(self, value: float) -> str:
        """
        >>> NumberFormat.of("0%").show(0.035), NumberFormat.of('#,##0.00 "€";[Red]-0').show(-3.2)
        ('3.5%', '-3.20 €')
        """
        size = abs(value) * 100 if self.is_percent else abs(value)
        digits = f"{size:.12g}"
        money = f"{size:.{self.decimals}f}"
        if not self.is_percent and float(money) == float(digits):
            digits = money
        return f"{'-' if value < 0 else ''}{self.before}{digits}{self.after}"


class NumberFormats:
    """The cells of a workbook whose numbers have a unit."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._paths: dict[str, str] = {}
        with (
            suppress(*ZIP_ERRORS, etree.XMLSyntaxError),
            file.open() as stream,
            zipfile.ZipFile(stream) as archive,
        ):
            self._styles = dict(_styles(parse_xml(archive.read("xl/styles.xml"))))
            self._paths = dict(_sheets(archive)) if self._styles else {}

    def rows(self, sheet: str) -> Iterator[dict[int, NumberFormat]]:
        """For each row from the first, the formats of its columns."""
        if path := self._paths.get(sheet):
            # What calamine reads is worth reading without units.
            with (
                suppress(*ZIP_ERRORS, etree.XMLSyntaxError),
                self._file.open() as stream,
                zipfile.ZipFile(stream) as archive,
            ):
                yield from self._rows(archive, path)
        yield from repeat({})

    def _rows(self, archive: zipfile.ZipFile, path: str) -> Iterator[dict[int, NumberFormat]]:
        done = 0
        with archive.open(path) as part:
            for _, row in etree.iterparse(
                part, tag="{*}row", resolve_entities=False, no_network=True, load_dtd=False
            ):
                number = row.get("r") or ""
                first = int(number) - 1 if number.isdecimal() else done
                yield from repeat({}, first - done)
                yield {
                    _column(cell.get("r") or ""): self._styles[style]
                    for cell in row
                    if (style := cell.get("s") or "") in self._styles
                }
                done = first + 1
                row.clear()
                while row.getprevious() is not None:
                    del row.getparent()[0]


def _letters(found: re.Match[str]) -> str:
    return "".join(filter(None, found.groups()))


def _styles(root: etree._Element) -> Iterator[tuple[str, NumberFormat]]:
    codes = _BUILT_IN | {
        one.get("numFmtId") or "": one.get("formatCode") or ""
        for one in root.iterfind("{*}numFmts/{*}numFmt")
    }
    for number, one in enumerate(root.iterfind("{*}cellXfs/{*}xf")):
        if found := NumberFormat.of(codes.get(one.get("numFmtId") or "", "")):
            yield str(number), found


def _sheets(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    targets = {
        one.get("Id"): one.get("Target") or ""
        for one in parse_xml(archive.read("xl/_rels/workbook.xml.rels"))
    }
    members = set(archive.namelist())
    for sheet in parse_xml(archive.read("xl/workbook.xml")).iterfind("{*}sheets/{*}sheet"):
        path = posixpath.normpath(posixpath.join("/xl", targets.get(sheet.get(_ID), ""))).strip("/")
        if path in members:
            yield sheet.get("name") or "", path


def _column(reference: str) -> int:
    """
    >>> _column("A1"), _column("AB7")
    (0, 27)
    """
    found = _CELL.fullmatch(reference)
    column = 0
    for letter in found.group(1) if found else "":
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1
