"""What every Office Open XML file says about itself (``docProps/core.xml``)."""

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
    """XML of unknown origin: no DTD, no entities, no network. Raises ``etree.XMLSyntaxError``."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(data, parser)


def describe_office(builder: TextBuilder, path: Path) -> str:
    """Put the file's own properties into the metadata; returns its title, or ""."""
    try:
        with zipfile.ZipFile(path) as archive:
            root = parse_xml(archive.read(_CORE))
    except (*ZIP_ERRORS, etree.XMLSyntaxError):
        # Properties are optional, and a document is worth reading without them.
        return ""
    title = ""
    for element in root.iterchildren(tag=etree.Element):
        name = etree.QName(element).localname
        if name == "title":
            title = element.text or ""
        elif name in _FIELDS:
            builder.describe(_FIELDS[name], element.text)
    return title
