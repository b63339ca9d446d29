"""The formats of documents on pages: their icons, and the list of all."""

from __future__ import annotations

from django import template

from ingestion.parsers.formats import FORMATS, families

register = template.Library()


@register.filter
def format_icon(media_type: str) -> str:
    found = FORMATS.get(media_type)
    return found.icon if found else "file-earmark-text"


@register.simple_tag
def format_list() -> str:
    return ", ".join(families())
