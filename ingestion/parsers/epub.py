"""E-books: the chapters in reading order; each chapter file is a page."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingestion.parsers import refusals
from ingestion.parsers.archive import ZIP_ERRORS, check_archive, parse_xml
from ingestion.parsers.blocks import write_blocks
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import ParsedDocument, Source, clean
from ingestion.parsers.encoding import decode
from ingestion.parsers.formats import EPUB, EPUB_CONTAINER, FORMATS

_KIND: Final = refusals.one(FORMATS[EPUB])
_CODE: Final = "epub_corrupt"
_ENCRYPTION: Final = "META-INF/encryption.xml"
# Fonts may be scrambled in a book without copy protection; these two algorithms do only that.
_FONT_SCRAMBLING: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_CHAPTER_TYPES: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
# XHTML may close any element in its own tag; by HTML rules "<title/>" is never closed.
_SELF_CLOSED: Final = re.compile(
    r"<((?!area\b|base\b|br\b|col\b|embed\b|hr\b|img\b|input\b|link\b|meta\b|source\b|wbr\b)"
    r"[A-Za-z][\w:-]*)(\s[^<>]*)?/>"
)
_PAGE_MARK_TAGS: Final = ("span", "div", "a", "hr", "p")
_METADATA: Final = {
    "creator": "author",
    "language": "language",
    "publisher": "publisher",
    "date": "published",
    "identifier": "identifier",
    "description": "description",
}


def read(source: Source) -> ParsedDocument:
    check_archive(source, kind=_KIND, code=_CODE)
    builder = TextBuilder(source)
    try:
        with source.file.open() as stream, zipfile.ZipFile(stream) as archive:
            book = _Book(archive)
            if _is_locked(book):
                raise refusals.copy_protected(source.name)
            package_path = _package_path(book)
            package = parse_xml(book.read(package_path))
            title = _describe(package, builder)
            _write_chapters(book, builder, _chapters(package, package_path))
    except (*ZIP_ERRORS, etree.XMLSyntaxError, ValueError) as error:
        raise refusals.corrupt(source.name, kind=_KIND, code=_CODE) from error
    return builder.build(parser="epub", title=title)


class _Book:
    """The files of a book: of the archive, or of the folder in it that was packed with them."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        every = archive.namelist()
        container = next((one for one in every if one.endswith(EPUB_CONTAINER)), EPUB_CONTAINER)
        self._folder = container.removesuffix(EPUB_CONTAINER)
        self.names = frozenset(one.removeprefix(self._folder) for one in every)

    def read(self, name: str) -> bytes:
        return self._archive.read(self._folder + name)


def _is_locked(book: _Book) -> bool:
    if _ENCRYPTION not in book.names:
        return False
    methods = parse_xml(book.read(_ENCRYPTION)).iter("{*}EncryptionMethod")
    return any(method.get("Algorithm") not in _FONT_SCRAMBLING for method in methods)


def _package_path(book: _Book) -> str:
    rootfile = parse_xml(book.read(EPUB_CONTAINER)).find(".//{*}rootfile")
    path = rootfile.get("full-path") if rootfile is not None else None
    if not path:
        raise ValueError("the container names no package")
    return str(path)


def _describe(package: etree._Element, builder: TextBuilder) -> str:
    title = ""
    for element in package.iterfind("{*}metadata//{http://purl.org/dc/elements/1.1/}*"):
        name = etree.QName(element).localname
        if name == "title" and not title:
            title = element.text or ""
        elif name in _METADATA and _METADATA[name] not in builder.metadata:
            builder.describe(_METADATA[name], element.text)
    return title


def _chapters(package: etree._Element, package_path: str) -> Iterator[str]:
    """Names of archive entries in reading order, each once: a book may list places within a file.
    Names are looked up, never opened as paths."""
    folder = posixpath.dirname(package_path)
    known: set[str] = set()
    entries = {entry.get("id"): entry for entry in package.iterfind("{*}manifest/{*}item")}
    for reference in package.iterfind("{*}spine/{*}itemref"):
        entry = entries.get(reference.get("idref"))
        if entry is None or entry.get("media-type") not in _CHAPTER_TYPES:
            continue
        if "nav" not in (entry.get("properties") or "").split():
            href = unquote((entry.get("href") or "").partition("#")[0])
            chapter = posixpath.normpath(posixpath.join(folder, href))
            if chapter not in known:
                known.add(chapter)
                yield chapter


def _write_chapters(book: _Book, builder: TextBuilder, chapters: Iterator[str]) -> None:
    missing = 0
    for chapter in chapters:
        builder.open_page()
        if chapter in book.names:
            _write_chapter(book.read(chapter), builder)
        else:
            missing += 1
    if missing:
        builder.warn(f"{missing:,} of the chapters listed in the book are missing from the file.")


def _write_chapter(data: bytes, builder: TextBuilder) -> None:
    text, removed = clean(decode(data).text)
    builder.removed += removed
    tree = LexborHTMLParser(_SELF_CLOSED.sub(r"<\1\2></\1>", text))
    if tree.body is not None:
        write_blocks(tree.body, builder, skip=_is_page_mark)


def _is_page_mark(node: LexborNode) -> bool:
    """Page numbers of the printed book, which interrupt sentences."""
    if node.tag not in _PAGE_MARK_TAGS:
        return False
    attributes = node.attributes
    return "pagebreak" in f"{attributes.get('epub:type')} {attributes.get('role')}"
