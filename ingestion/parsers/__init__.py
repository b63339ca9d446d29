"""Files to text: one module per format, a registry by MIME type, a sandbox around them.

Nothing here knows Django. ``parse`` works in this process; ``parse_in_sandbox`` (in
``ingestion.parsers.sandbox``) is what the product calls, since documents are not to be trusted.
"""

from __future__ import annotations

from ingestion.parsers.document import Heading, Limits, PageSpan, ParsedDocument
from ingestion.parsers.registry import FORMATS, detect, parse

__all__ = ["FORMATS", "Heading", "Limits", "PageSpan", "ParsedDocument", "detect", "parse"]
