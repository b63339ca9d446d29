"""Detect a file's type by its content; the name only decides between kinds of text."""

from __future__ import annotations

import json
import mmap
import re
import zipfile
from typing import Final

import puremagic

from ingestion.parsers import refusals
from ingestion.parsers.archive import ZIP_ERRORS
from ingestion.parsers.document import OpenFile
from ingestion.parsers.encoding import decode, wide_encoding
from ingestion.parsers.formats import (
    BY_ENDING,
    CSV,
    EPUB,
    EPUB_CONTAINER,
    FORMATS,
    HTML,
    JSON,
    JSON_LINES,
    MAIL,
    MARKDOWN,
    PDF,
    TEXT,
    TSV,
    XLS,
    ending_of,
    format_of,
)
from kb_project.errors import ParseError

_TEXTUAL: Final = frozenset({TEXT, MARKDOWN, HTML, MAIL, CSV, TSV, JSON, JSON_LINES})
_BY_ENDING: Final = {end: kind for end, kind in BY_ENDING.items() if kind in _TEXTUAL}
_DECLARED: Final = frozenset(kind for kind, one in FORMATS.items() if one.member == "mimetype")
_BY_MEMBER: Final = {one.member: kind for kind, one in FORMATS.items() if "/" in one.member}
_OLD_OFFICE: Final = bytes.fromhex("d0cf11e0a1b11ae1")
_OLD_STREAMS: Final = (
    ("__nameid_version1.0", "an Outlook message (.msg)", "Save it as .eml and upload that."),
    ("WordDocument", "an old Word document (.doc)", "Save it as .docx and upload that."),
    (
        "PowerPoint Document",
        "an old PowerPoint presentation (.ppt)",
        "Save it as .pptx and upload that.",
    ),
)
_HEAD: Final = 64 * 1024
_PDF_WITHIN: Final = 1024
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HTML: Final = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_HTML_TAGS: Final = re.compile(r"</?(?:p|div|h[1-6]|body|table|ul|span|a|br)\b[^<>]*>", re.I)
# Fields of an e-mail, the first of which may be of any name, behind the first line of a mailbox.
_MAIL: Final = re.compile(
    r"\s*(?:From .*\n)?(?:[!-9;-~]{1,80}:.*\n(?:[ \t]+.*\n){0,50}){0,100}?"
    r"(?:from|to|date|subject|received|message-id|mime-version|content-type)[ \t]?:",
    re.IGNORECASE,
)
_MARKDOWN: Final = re.compile(r"(?m)^#{1,6} \S.*\n\n")
_FRONT_MATTER: Final = re.compile(r"---\n(?:.*\n){1,50}?---\n")
_PROBABLE_JSON: Final = 20_000_000


def detect(file: OpenFile, *, name: str) -> str:
    """The MIME type, a key of ``FORMATS``.

    Raises ParseError: ``empty_file``, ``not_text``, ``unsupported_type``, ``password_protected``,
    or a code ending in ``_corrupt`` for a broken container.
    """
    with file.open() as stream:
        head = stream.read(_HEAD)
    if not head:
        raise refusals.empty_file(name)
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_kind(file, name)
    if head.startswith(_OLD_OFFICE):
        return _old_office_kind(file, name)
    if head.startswith(b"{\\rtf"):
        raise refusals.unsupported_type(
            name, looks_like="a rich-text document (.rtf)", advice="Save it as .docx and upload it."
        )
    _require_text(file, head, name)
    return _text_kind(file, head, name)


def _zip_kind(file: OpenFile, name: str) -> str:
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            members = set(archive.namelist())
            mimetype = archive.read("mimetype")[:100] if "mimetype" in members else b""
    except ZIP_ERRORS as error:
        promised = format_of(name)
        if promised is None or not promised.member:
            raise refusals.corrupt(name, kind="a ZIP archive", code="archive_corrupt") from error
        code = f"{ending_of(name)[1:]}_corrupt"
        raise refusals.corrupt(name, kind=refusals.one(promised), code=code) from error
    except RuntimeError as error:
        # zipfile has no type of its own for "needs a password".
        raise refusals.password_protected(name) from error
    declared = mimetype.decode("ascii", errors="replace").strip()
    if declared in _DECLARED:
        return declared
    for member, media_type in _BY_MEMBER.items():
        if member in members:
            return media_type
    # Books packed again by hand lack the declaration, or stand in a folder.
    if any(one.endswith(EPUB_CONTAINER) for one in members):
        return EPUB
    raise _unsupported_zip(name, declared)


def _unsupported_zip(name: str, declared: str) -> ParseError:
    if "opendocument" in declared:
        return refusals.unsupported_type(
            name,
            looks_like="an OpenDocument file",
            advice="Save it as .docx, .pptx or PDF and upload that.",
        )
    return refusals.unsupported_type(
        name, looks_like="a ZIP archive", advice="Unpack it and upload the documents inside."
    )


def _old_office_kind(file: OpenFile, name: str) -> str:
    """Old Office files and encrypted new ones share a container; stream names tell them apart."""
    with mmap.mmap(file.descriptor, 0, access=mmap.ACCESS_READ) as data:

        def holds(stream: str) -> bool:
            return data.find(stream.encode("utf-16-le")) >= 0

        if holds("EncryptedPackage"):
            raise refusals.password_protected(name)
        for stream, looks_like, advice in _OLD_STREAMS:
            if holds(stream):
                raise refusals.unsupported_type(name, looks_like=looks_like, advice=advice)
        if holds("Workbook") or holds("Book"):
            return XLS
    raise refusals.unsupported_type(name, looks_like="an old Office file")


def _require_text(file: OpenFile, head: bytes, name: str) -> None:
    if wide_encoding(head) or not (is_binary(head) or is_binary(_later_sample(file))):
        return
    looks_like = _binary_kind(head)
    if ending_of(name) in _BY_ENDING:
        raise refusals.not_text(name, looks_like=looks_like)
    raise refusals.unsupported_type(name, looks_like=looks_like)


def is_binary(sample: bytes) -> bool:
    """Whether it has more control characters than a damaged text: over 2 %, and more than three.

    A block of NULs at the end is typical of an interrupted copy, and is ignored.
    """
    sample = sample.rstrip(b"\x00")
    controls = len(_CONTROLS.findall(sample))
    return controls > 3 and controls * 50 > len(sample)


def _later_sample(file: OpenFile) -> bytes:
    """Bytes from the middle: some binaries begin with a page of text."""
    if file.size <= 2 * _HEAD:
        return b""
    with file.open() as stream:
        # On a multiple of 4, so that UTF-16 and UTF-32 stay in step.
        stream.seek(file.size // 2 // 4 * 4)
        return stream.read(_HEAD)


def _binary_kind(head: bytes) -> str:
    try:
        best = max(puremagic.magic_string(head), key=lambda match: match.confidence)
    except (puremagic.PureError, ValueError):
        return "a binary file of unknown kind"
    family = best.mime_type.partition("/")[0]
    noun = {"image": "an image", "audio": "a sound recording", "video": "a video"}.get(family)
    sure = best.confidence >= 0.4 and best.extension
    return f"{noun or 'a binary file'} ({best.extension})" if sure else "a binary file"


def _text_kind(file: OpenFile, head: bytes, name: str) -> str:
    text = decode(head).text.replace("\r\n", "\n").lstrip("\ufeff")
    if _HTML.match(text):
        return HTML
    by_name = _BY_ENDING.get(ending_of(name))
    if by_name == MAIL:
        return MAIL if _MAIL.match(text) else TEXT
    if by_name == JSON:
        return JSON_LINES if _is_json_lines(text) else JSON
    if by_name == TEXT and text.lstrip()[:1] in ("{", "["):
        return _json_kind(file, text) or TEXT
    return (
        by_name or _json_kind(file, text) or _nameless_kind(text, has_ending=bool(ending_of(name)))
    )


def _nameless_kind(text: str, *, has_ending: bool) -> str:
    """A file with an unlisted ending, such as source code or a log, is kept as plain text."""
    if has_ending or text.startswith("#!"):
        return TEXT
    if len(_HTML_TAGS.findall(text[:8000])) >= 10:
        return HTML
    if _FRONT_MATTER.match(text) or len(_MARKDOWN.findall(text)) >= 2:
        return MARKDOWN
    return _separated_kind(text) or TEXT


def _json_kind(file: OpenFile, text: str) -> str:
    if text.lstrip()[:1] not in ("{", "["):
        return ""
    if _is_json_lines(text):
        return JSON_LINES
    if file.size > _PROBABLE_JSON:
        return JSON
    return JSON if _is_json(decode(file.read_bytes()).text) else ""


def _is_json_lines(text: str) -> bool:
    """At least two lines, the first two of which are complete records."""
    lines = [line for line in text.split("\n", 50)[:50] if line.strip()]
    return len(lines) >= 2 and all(
        line.strip()[:1] in "{[" and _is_json(line) for line in lines[:2]
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def _separated_kind(text: str) -> str:
    """Three lines or more with the same number of the same separator."""
    lines = [line for line in text.split("\n")[:-1] if line.strip()][:20]
    for separator, kind in (("\t", TSV), (";", CSV), (",", CSV)):
        counts = {line.count(separator) for line in lines}
        if len(lines) >= 3 and len(counts) == 1 and counts.pop() >= (2 if separator == "," else 1):
            return kind
    return ""
