"""URLs inside a document, and the nouns for its format and its pages."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.text import capfirst

from ingestion.parsers.formats import FORMATS
from workspaces.models import Workspace

# The noun for a page, for formats that do not call it a page.
PAGE_NOUNS: Final = {"pptx": "slide", "spreadsheet": "sheet", "epub": "chapter"}


def page_noun(parser: str) -> str:
    return PAGE_NOUNS.get(parser, "page")


def format_label(media_type: str) -> str:
    """Name the format, for pages; an unknown one by its MIME type.

    >>> format_label("text/html"), format_label("text/x-toy")
    ('Web page', 'text/x-toy')
    """
    return capfirst(FORMATS[media_type].label) if media_type in FORMATS else media_type


def reader_url(workspace: Workspace, document_id: object, **query: object) -> str:
    """Return the reader's URL; query parameters that are None or '' are left out."""
    address = reverse("ingestion:document_detail", args=[workspace.slug, document_id])
    given = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{address}?{urlencode(given)}" if given else address
