"""Turn files into text: one module per format, found by MIME type, and a sandbox to run them in.

Nothing here depends on Django models. ``parse`` works in this process; the product calls the
sandboxed version (``ingestion.parsers.sandbox``), since documents are not to be trusted.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

from ingestion.parsers import refusals
from ingestion.parsers.detection import detect
from ingestion.parsers.document import Limits, OpenFile, ParsedDocument, Source
from ingestion.parsers.formats import FORMATS


class Parser(Protocol):
    """What a format's module provides."""

    def read(self, source: Source) -> ParsedDocument:
        """Read the file as text. Raises ParseError if it cannot."""
        ...


def parse(path: Path, *, name: str, limits: Limits) -> ParsedDocument:
    """Read a file in this process; the sandbox enforces limits of time and memory.

    ``name`` is a label and never used as a path. Raises ParseError.
    """
    with OpenFile.at(path) as file:
        return parse_open(file, name=name, limits=limits)


def parse_open(file: OpenFile, *, name: str, limits: Limits) -> ParsedDocument:
    """Read a file that is open already, as ``parse`` does."""
    if file.size > limits.max_bytes:
        raise refusals.too_large(name, size=file.size, limit=limits.max_bytes)
    media_type = detect(file, name=name)
    return parser_of(media_type).read(Source(file, name, media_type, limits))


def parser_of(media_type: str) -> Parser:
    """The module of a format, imported on first use."""
    module: Parser = importlib.import_module(f"{__name__}.{FORMATS[media_type].module}")
    return module
