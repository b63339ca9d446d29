"""Read a file with the module of its format, imported on first use."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Final, Protocol

from ingestion.parsers import detection, refusals
from ingestion.parsers.document import Limits, ParsedDocument, Source
from ingestion.parsers.formats import FORMATS


class Reader(Protocol):
    """What a format module provides."""

    def read(self, source: Source) -> ParsedDocument:
        """Read the file as text. Raises ParseError if it cannot."""
        ...


_PACKAGE: Final = "ingestion.parsers"


def detect(path: Path, *, name: str) -> str:
    """The file's MIME type, a key of ``FORMATS``. Raises ParseError for anything else."""
    return detection.detect(path, name=name)


def parse(path: Path, *, name: str, limits: Limits) -> ParsedDocument:
    """Read a file in this process; the sandbox enforces limits of time and memory.

    ``name`` is a label and never used as a path. Raises ParseError.
    """
    size = path.stat().st_size
    if size > limits.max_bytes:
        raise refusals.too_large(name, size=size, limit=limits.max_bytes)
    media_type = detect(path, name=name)
    return reader_for(media_type).read(Source(path, name, media_type, limits))


def reader_for(media_type: str) -> Reader:
    module: Reader = importlib.import_module(f"{_PACKAGE}.{FORMATS[media_type].module}")
    return module


def preload() -> None:
    """Import every reader now, so that processes forked from this one start reading at once."""
    for media_type in FORMATS:
        reader_for(media_type)
