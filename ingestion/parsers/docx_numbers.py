"""Write the numbers that Word counts into the paragraphs that they belong to.

A clause *2.1* or *(b)* has no number in the file, only a list and a level that say how it is
counted, and mammoth keeps nothing of these but whether there are numbers.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

import regex
from lxml import etree

from ingestion.parsers.archive import parse_xml
from ingestion.parsers.list_numbers import list_number

STYLE: Final = "ConcordanceListNumber"
"""The style of the runs that numbers are written as."""
_DOCUMENT: Final = "word/document.xml"
_NUMBERING: Final = "word/numbering.xml"
_STYLES: Final = "word/styles.xml"
_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_CHOICE: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"
_PLACE: Final = regex.compile(r"%([1-9])")


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    start: int
    style: str
    is_legal: bool


@dataclass(slots=True)
class _List:
    """Levels of a list, and the numbers reached; several numberings may go on with one list."""

    levels: dict[int, _Level]
    counts: dict[int, int] = field(default_factory=dict)

    def next(self, depth: int) -> str:
        level = self.levels[depth]
        self.counts = {at: count for at, count in self.counts.items() if at <= depth}
        self.counts[depth] = self.counts.get(depth, level.start - 1) + 1
        shown: str = _PLACE.sub(lambda at: self._shown(int(at[1]) - 1, level), level.text)
        return shown.strip()

    def _shown(self, depth: int, within: _Level) -> str:
        level = self.levels.get(depth, within)
        return list_number(
            self.counts.get(depth, level.start), "" if within.is_legal else level.form
        )


class _Numbers:
    """The numberings of a document, as its paragraphs come."""

    def __init__(self, numbering: etree._Element, styles: etree._Element | None) -> None:
        self._lists = {
            _value(one, "abstractNumId"): _List(dict(_levels(one)))
            for one in numbering.iterfind(f"{_W}abstractNum")
        }
        self._numberings = {_value(one, "numId"): one for one in numbering.iterfind(f"{_W}num")}
        self._styles = (
            {}
            if styles is None
            else {_value(one, "styleId"): one for one in styles.iterfind(f"{_W}style")}
        )

    def number(self, properties: etree._Element) -> str:
        """The number of the next paragraph, or nothing."""
        style = _below(properties, "pStyle")
        numbering, depth = self._of_style(style)
        own = properties.find(f"{_W}numPr")
        if own is not None:
            numbering = _below(own, "numId") or numbering
            depth = _below(own, "ilvl") or depth
        element = self._numberings.get(numbering)
        found = self._lists.get(_below(element, "abstractNumId")) if element is not None else None
        if found is None:
            return ""
        at = int(depth) if depth.isdecimal() else _depth_of(found, style)
        if at not in found.levels or found.levels[at].form in ("bullet", "none"):
            return ""
        self._begin(found, element)
        return found.next(at)

    def _of_style(self, style: str) -> tuple[str, str]:
        """Numbering and level that a style gives, or one that it is based on."""
        for _ in range(10):
            if (element := self._styles.get(style)) is None:
                break
            if (own := element.find(f"{_W}pPr/{_W}numPr")) is not None:
                return _below(own, "numId"), _below(own, "ilvl")
            style = _below(element, "basedOn")
        return "", ""

    def _begin(self, found: _List, numbering: etree._Element) -> None:
        """Begin again where a numbering is used for the first time that says so."""
        for override in numbering.findall(f"{_W}lvlOverride"):
            depth, start = _value(override, "ilvl"), _below(override, "startOverride")
            if depth.isdecimal() and start.isdecimal():
                found.counts[int(depth)] = int(start) - 1
            numbering.remove(override)


def numbered(file: BinaryIO) -> BinaryIO:
    """The same document with its numbers as text; without any, or broken, the file itself."""
    with zipfile.ZipFile(file) as archive:
        try:
            document = _with_numbers(archive)
        except etree.XMLSyntaxError:
            document = None
        if document is None:
            return file
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as copy:
            for name in archive.namelist():
                if name.endswith((".xml", ".rels")) and name != _DOCUMENT:
                    copy.writestr(name, archive.read(name))
            copy.writestr(_DOCUMENT, document)
    return written


def _with_numbers(archive: zipfile.ZipFile) -> bytes | None:
    names = archive.namelist()
    if _DOCUMENT not in names or _NUMBERING not in names:
        return None
    styles = parse_xml(archive.read(_STYLES)) if _STYLES in names else None
    numbers = _Numbers(parse_xml(archive.read(_NUMBERING)), styles)
    document = parse_xml(archive.read(_DOCUMENT))
    count = sum(_write(paragraph, numbers) for paragraph in _paragraphs(document))
    return etree.tostring(document) if count else None


def _paragraphs(document: etree._Element) -> Iterator[etree._Element]:
    """The paragraphs that are read; of alternatives, these are the last."""
    for paragraph in document.iter(f"{_W}p"):
        if next(paragraph.iterancestors(_CHOICE), None) is None:
            yield paragraph


def _write(paragraph: etree._Element, numbers: _Numbers) -> bool:
    properties = paragraph.find(f"{_W}pPr")
    number = "" if properties is None else numbers.number(properties)
    if not number or next(paragraph.iter(f"{_W}t"), None) is None:
        return False
    run = etree.Element(f"{_W}r")
    etree.SubElement(etree.SubElement(run, f"{_W}rPr"), f"{_W}rStyle").set(f"{_W}val", STYLE)
    etree.SubElement(run, f"{_W}t").text = f"{number} "
    paragraph.insert(paragraph.index(properties) + 1, run)
    return True


def _levels(element: etree._Element) -> Iterator[tuple[int, _Level]]:
    for level in element.iterfind(f"{_W}lvl"):
        depth, start = _value(level, "ilvl"), _below(level, "start")
        if depth.isdecimal():
            yield (
                int(depth),
                _Level(
                    form=_below(level, "numFmt"),
                    text=_below(level, "lvlText"),
                    start=int(start) if start.isdecimal() else 1,
                    style=_below(level, "pStyle"),
                    is_legal=level.find(f"{_W}isLgl") is not None,
                ),
            )


def _depth_of(found: _List, style: str) -> int:
    return next((at for at, level in found.levels.items() if style and level.style == style), 0)


def _value(element: etree._Element, name: str) -> str:
    return str(element.get(f"{_W}{name}") or "")


def _below(element: etree._Element, name: str) -> str:
    child = element.find(f"{_W}{name}")
    return "" if child is None else _value(child, "val")
