"""Metadata of Office Open XML files (``docProps/core.xml``)."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from lxml import etree

from ingestion.parsers.archive import ZIP_ERRORS
from ingestion.parsers.builder import TextBuilder

_CORE: Final = "docProps/core.xml"
_FIELDS: Final = {
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "language": "language",
    "created": "created",
    "modified": "modified",
}


def parse_xml(data: bytes) -> etree._Element:
    """Parse untrusted XML: no DTD, no entities, no network. Raises ``etree.XMLSyntaxError``."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(data, parser)


def describe_office(builder: TextBuilder, path: Path) -> str:
    """Add the file's own properties to the metadata; return its title, or ""."""
    try:
        with zipfile.ZipFile(path) as archive:
            root = parse_xml(archive.read(_CORE))
    except (*ZIP_ERRORS, etree.XMLSyntaxError):
        # Properties are optional; the document is worth reading without them.
        return ""
    title = ""
    for element in root.iterchildren(tag=etree.Element):
        name = etree.QName(element).localname
        if name == "title":
            title = element.text or ""
        elif name in _FIELDS:
            builder.describe(_FIELDS[name], element.text)
    return title
