"""Turn files into text: one module per format, a registry by MIME type, and a sandbox.

Nothing here depends on Django models. ``parse`` works in this process; the product calls the
sandboxed version (``ingestion.parsers.sandbox``), since documents are not to be trusted.
"""

from __future__ import annotations

from ingestion.parsers.document import Heading, Limits, PageSpan, ParsedDocument
from ingestion.parsers.formats import FORMATS
from ingestion.parsers.registry import detect, parse

__all__ = ["FORMATS", "Heading", "Limits", "PageSpan", "ParsedDocument", "detect", "parse"]
