"""Read ZIP-based documents (Office, EPUB) safely: checks before opening, XML, Office metadata."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from lxml import etree

from ingestion.parsers import refusals
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import MIB, Limits, OpenFile, Source

# Besides zipfile's own: UnicodeDecodeError comes from an entry's name, OSError and LZMAError from
# entries packed with bzip2 and LZMA.
ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    NotImplementedError,
    KeyError,
    UnicodeDecodeError,
)
_ENCRYPTED_FLAG: Final = 0x1
# Below this size even a very high ratio is harmless; small repetitive sheets reach 300.
_RATIO_MATTERS_FROM: Final = 32 * MIB
_XML_ENDINGS: Final = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm", ".vml")
_ENTITY: Final = "<!ENTITY"
_ENTITY_MARKS: Final = tuple(_ENTITY.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be"))
_BLOCK: Final = MIB
# What the files with a document's own properties call them; the title is named alike in both.
_OPENXML_FIELDS: Final = {
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "language": "language",
    "created": "created",
    "modified": "modified",
}
_OPENDOCUMENT_FIELDS: Final = {
    "initial-creator": "author",
    "subject": "subject",
    "description": "description",
    "language": "language",
    "creation-date": "created",
    "date": "modified",
}


def check_archive(source: Source, *, kind: str, code: str) -> None:
    """Raise ParseError for a file that is damaged, encrypted, a bomb, or has entities in its XML.

    ``zipfile`` never unpacks more than an entry's declared size, so declared sizes can be relied
    on.
    """
    try:
        with source.file.open() as stream, zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            _check_sizes(source.name, entries, source.limits)
            documents = (one for one in entries if one.filename.lower().endswith(_XML_ENDINGS))
            if any(_declares_entities(archive, one) for one in documents):
                raise refusals.unsafe_xml(source.name)
    except ZIP_ERRORS as error:
        raise refusals.corrupt(source.name, kind=kind, code=code) from error


def _check_sizes(name: str, entries: list[zipfile.ZipInfo], limits: Limits) -> None:
    if len(entries) > limits.max_archive_entries:
        raise refusals.too_many_parts(name, parts=len(entries), limit=limits.max_archive_entries)
    if any(entry.flag_bits & _ENCRYPTED_FLAG for entry in entries):
        raise refusals.password_protected(name)
    unpacked = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    steep = unpacked > packed * limits.max_archive_ratio and unpacked > _RATIO_MATTERS_FROM
    if unpacked > limits.max_archive_bytes or steep:
        raise refusals.zip_bomb(name, unpacked=unpacked)


def _declares_entities(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    return any(mark in window for window in _windows(archive, entry) for mark in _ENTITY_MARKS)


def _windows(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The entry in blocks that overlap by the length of the longest mark."""
    overlap = max(map(len, _ENTITY_MARKS))
    tail = b""
    with archive.open(entry) as stream:
        while block := stream.read(_BLOCK):
            yield tail + block
            tail = block[-overlap:]


def parse_xml(data: bytes) -> etree._Element:
    """Parse untrusted XML: no DTD, no entities, no network. Raises ``etree.XMLSyntaxError``."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(data, parser)


def describe_openxml(builder: TextBuilder, file: OpenFile) -> str:
    """Add the file's own properties to the metadata; return its title, or ""."""
    return _describe(builder, file, "docProps/core.xml", _OPENXML_FIELDS)


def describe_opendocument(builder: TextBuilder, file: OpenFile) -> str:
    """Add the file's own properties to the metadata; return its title, or ""."""
    return _describe(builder, file, "meta.xml", _OPENDOCUMENT_FIELDS)


def _describe(builder: TextBuilder, file: OpenFile, member: str, fields: Mapping[str, str]) -> str:
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            root = parse_xml(archive.read(member))
    except (*ZIP_ERRORS, etree.XMLSyntaxError):
        # Properties are optional; the document is worth reading without them.
        return ""
    title = ""
    for element in root.iter(etree.Element):
        name = etree.QName(element).localname
        if name == "title":
            title = element.text or ""
        elif name in fields:
            builder.describe(fields[name], element.text)
    return title
