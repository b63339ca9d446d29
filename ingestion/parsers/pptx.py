"""Presentations: a slide is a page, its title a heading; then bodies, tables and the notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER
from pptx.exc import PythonPptxError

from ingestion.parsers import refusals
from ingestion.parsers.archive import ZIP_ERRORS, check_archive, describe_openxml, parse_xml
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import ParsedDocument, Source
from ingestion.parsers.formats import FORMATS, PPTX
from ingestion.parsers.tables import Area, spread, write_table

_KIND: Final = refusals.one(FORMATS[PPTX])
_CODE: Final = "pptx_corrupt"
_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM_DATA: Final = "/relationships/diagramData"

# python-pptx ships no types; a shape is whatever its proxy classes make of the XML.
_Shape = Any


def read(source: Source) -> ParsedDocument:
    check_archive(source, kind=_KIND, code=_CODE)
    builder = TextBuilder(source)
    try:
        with source.file.open() as file:
            slides = Presentation(file).slides
        front = _front(slides)
        for slide in slides:
            builder.open_page()
            _write_slide(builder, slide)
    except (
        *ZIP_ERRORS,
        PythonPptxError,
        etree.XMLSyntaxError,
        OSError,
        ValueError,
        AttributeError,
    ) as error:
        raise refusals.corrupt(source.name, kind=_KIND, code=_CODE) from error
    title = describe_openxml(builder, source.file)
    return builder.build(parser="pptx", title=title, front=front, is_laid_out=True)


def _front(slides: Any) -> str:
    """The title of a title slide, if the first is one."""
    title = slides[0].shapes.title if len(slides) else None
    if title is None or title.placeholder_format.type != PP_PLACEHOLDER.CENTER_TITLE:
        return ""
    return str(title.text_frame.text)


def _write_slide(builder: TextBuilder, slide: Any) -> None:
    title = slide.shapes.title
    if title is not None and title.has_text_frame:
        builder.heading(1, title.text_frame.text)
    for shape in _in_reading_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _write_shape(builder, shape)
    _write_diagrams(builder, slide)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame):
        notes = frame.text.strip()
        builder.paragraph(f"Notes: {notes}" if notes else "")


def _in_reading_order(shapes: Iterable[_Shape]) -> Iterator[_Shape]:
    """From top to bottom, then left to right; a group's members stay together."""
    waiting = sorted(shapes, key=_place, reverse=True)
    while waiting:
        shape = waiting.pop()
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            waiting.extend(sorted(shape.shapes, key=_place, reverse=True))
        else:
            yield shape


def _place(shape: _Shape) -> tuple[int, int]:
    return shape.top or 0, shape.left or 0


def _write_shape(builder: TextBuilder, shape: _Shape) -> None:
    if shape.has_text_frame:
        _write_paragraphs(builder, shape)
    elif getattr(shape, "has_table", False):
        rows = [list(row.cells) for row in shape.table.rows]
        texts = ([cell.text for cell in cells] for cells in rows)
        write_table(builder, spread(texts, _merged(rows)))
    elif getattr(shape, "has_chart", False):
        write_table(builder, _chart_rows(shape.chart))


def _write_paragraphs(builder: TextBuilder, shape: _Shape) -> None:
    """Each paragraph of several says something of its own, whether a mark is drawn before it or
    not: they are entries of a list."""
    paragraphs = [one for one in shape.text_frame.paragraphs if one.text.strip()]
    is_list = len(paragraphs) > 1 and not _is_subtitle(shape)
    builder.part()
    for one in paragraphs:
        builder.line("  " * one.level + ("- " if is_list else "") + one.text.strip())
    builder.part()


def _is_subtitle(shape: _Shape) -> bool:
    is_placed = bool(getattr(shape, "is_placeholder", False))
    return is_placed and shape.placeholder_format.type == PP_PLACEHOLDER.SUBTITLE


def _merged(rows: Iterable[Iterable[Any]]) -> Iterator[Area]:
    for top, cells in enumerate(rows):
        for left, cell in enumerate(cells):
            if cell.is_merge_origin:
                yield (top, left), (top + cell.span_height - 1, left + cell.span_width - 1)


def _chart_rows(chart: Any) -> Iterator[list[str]]:
    """What a chart shows, of any kind: python-pptx knows no three-dimensional ones."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield [chart.chart_title.text_frame.text]
    for plot in chart.element.iterfind(f".//{_CHART}plotArea/*[{_CHART}ser]"):
        series = plot.findall(f"{_CHART}ser")
        names = [_points(one.find(f"{_CHART}tx")).get(0, "") for one in series]
        values = [_points(one.find(f"{_CHART}val")) for one in series]
        yield ["Category", *names]
        categories = _points(series[0].find(f"{_CHART}cat"))
        for index in sorted({*categories, *(index for points in values for index in points)}):
            shown = (_number(points.get(index, "")) for points in values)
            yield [categories.get(index, ""), *shown]
        yield []


def _points(element: Any) -> dict[int, str]:
    """Numbered values; of categories on several levels, the innermost."""
    if element is None:
        return {}
    inner = next(element.iter(f"{_CHART}lvl"), element)
    points = {
        int(one.get("idx") or 0): one.findtext(f"{_CHART}v") or ""
        for one in inner.iter(f"{_CHART}pt")
    }
    return points or {0: element.findtext(f"{_CHART}v") or ""}


def _number(value: str) -> str:
    """
    >>> _number("1234567.0"), _number("0.30000000000000004"), _number("")
    ('1234567', '0.3', '')
    """
    try:
        return f"{float(value):.12g}"
    except ValueError:
        return value


def _write_diagrams(builder: TextBuilder, slide: Any) -> None:
    """Write the text of SmartArt, which is in a separate part."""
    for relation in slide.part.rels.values():
        if relation.is_external or not relation.reltype.endswith(_DIAGRAM_DATA):
            continue
        builder.part()
        for paragraph in parse_xml(relation.target_part.blob).iter(f"{_DRAWING}p"):
            builder.line("".join(run.text or "" for run in paragraph.iter(f"{_DRAWING}t")))
        builder.part()
