"""The colour behind words of a PDF page, where a filled area is drawn below them."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_float, c_int, c_uint
from typing import Final, TypeAlias

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

Colour: TypeAlias = tuple[int, ...]
Area: TypeAlias = tuple[tuple[float, float, float, float], Colour]

_MOST_OBJECTS: Final = 5_000
"""Of a page; one with more is a drawing."""
_WHITE: Final = (255, 255, 255)


def areas_of(page: PdfTextPage) -> list[Area]:
    """(left, bottom, right, top) of the page's filled areas with their colours, lowest first."""
    count = pdfium.FPDFPage_CountObjects(page.page)
    return list(_areas(page, count)) if count <= _MOST_OBJECTS else []


def _areas(page: PdfTextPage, count: int) -> Iterator[Area]:
    for number in range(count):
        shape = pdfium.FPDFPage_GetObject(page.page, number)
        fill, stroke = c_int(), c_int()
        if (
            pdfium.FPDFPageObj_GetType(shape) != pdfium.FPDF_PAGEOBJ_PATH
            or not pdfium.FPDFPath_GetDrawMode(shape, fill, stroke)
            or fill.value == pdfium.FPDF_FILLMODE_NONE
        ):
            continue
        edges = [c_float() for _ in range(4)]
        red, green, blue, opacity = (c_uint() for _ in range(4))
        pdfium.FPDFPageObj_GetBounds(shape, *edges)
        pdfium.FPDFPageObj_GetFillColor(shape, red, green, blue, opacity)
        left, bottom, right, top = (edge.value for edge in edges)
        yield (left, bottom, right, top), (red.value, green.value, blue.value)


def colour_at(areas: list[Area], x: float, y: float) -> Colour:
    """The colour of the highest area around a point."""
    for (left, bottom, right, top), colour in reversed(areas):
        if left <= x <= right and bottom <= y <= top:
            return colour
    return _WHITE
