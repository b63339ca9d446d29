"""Errors for files that cannot be read, in sentences for the person who uploaded them.

Each function returns the error to raise. Codes are stable: programs and pages rely on them.
"""

from __future__ import annotations

from typing import Final

from ingestion.parsers.document import one_line
from ingestion.parsers.formats import Format, families
from kb_project.errors import ParseError

KEPT: Final = "The file is stored, but none of it can be searched yet."
SUPPORTED: Final = f"Concordance reads {', '.join(families()[:-1])} and {families()[-1]}."


def quoted(name: str) -> str:
    return f"“{one_line(name, limit=80) or 'This file'}”"


def one(kind: Format) -> str:
    """The label with its article; an abbreviation is read by its letters: "an HTML page"."""
    first = kind.label.split()[0]
    vowels = "AEFHILMNORSX" if first.isupper() else "AEIOUaeiou"
    return f"{'an' if first[0] in vowels else 'a'} {kind.label}"


def _refuse(code: str, happened: str, next_step: str) -> ParseError:
    return ParseError(happened, code=code, kept=KEPT, next_step=next_step)


def _size(count: int) -> str:
    return f"{count / 1024 / 1024:,.0f} MB" if count >= 1024 * 1024 else f"{count:,} bytes"


def empty_file(name: str) -> ParseError:
    return _refuse(
        "empty_file",
        f"{quoted(name)} is empty: it has no content at all.",
        "Check that the original is complete and upload it again.",
    )


def no_text(name: str) -> ParseError:
    return _refuse(
        "no_text",
        f"{quoted(name)} contains no text, only blank space or images.",
        "Upload a version that contains text.",
    )


def too_large(name: str, *, size: int, limit: int) -> ParseError:
    return _refuse(
        "too_large",
        f"{quoted(name)} is {_size(size)}; a document may be at most {_size(limit)}.",
        "Split it into smaller files and upload those.",
    )


def too_long(name: str, *, limit: int) -> ParseError:
    return _refuse(
        "too_long",
        f"{quoted(name)} contains more than {limit:,} characters of text.",
        "Split it into smaller files and upload those.",
    )


def too_many_pages(name: str, *, pages: int, limit: int) -> ParseError:
    return _refuse(
        "too_many_pages",
        f"{quoted(name)} has {pages:,} pages; a document may have at most {limit:,}.",
        "Split it into smaller files and upload those.",
    )


def unsupported_type(name: str, *, looks_like: str, advice: str = "") -> ParseError:
    return _refuse(
        "unsupported_type",
        f"{quoted(name)} is {looks_like}, which cannot be read as a document.",
        advice or SUPPORTED,
    )


def not_text(name: str, *, looks_like: str) -> ParseError:
    return _refuse(
        "not_text",
        f"{quoted(name)} has the name of a text file, but it is {looks_like}.",
        f"Upload the original under its own name. {SUPPORTED}",
    )


def password_protected(name: str, *, code: str = "password_protected") -> ParseError:
    return _refuse(
        code,
        f"{quoted(name)} is protected by a password and cannot be opened.",
        "Save a copy without the password and upload that copy.",
    )


def copy_protected(name: str) -> ParseError:
    return _refuse(
        "copy_protected",
        f"{quoted(name)} is encrypted by its publisher and cannot be opened.",
        "Upload a version of the book without copy protection.",
    )


def corrupt(name: str, *, kind: str, code: str) -> ParseError:
    return _refuse(
        code,
        f"{quoted(name)} is damaged or incomplete and cannot be opened as {kind}.",
        "Open the original in the program that created it, save it again and upload that copy.",
    )


def pdf_no_text(name: str, *, pages: int) -> ParseError:
    plural = "its page is an image" if pages == 1 else f"all {pages:,} pages are images"
    return _refuse(
        "pdf_no_text",
        f"{quoted(name)} contains no text: {plural}, as in a scan.",
        "Run text recognition (OCR) on it and upload the result.",
    )


def zip_bomb(name: str, *, unpacked: int) -> ParseError:
    return _refuse(
        "zip_bomb",
        f"{quoted(name)} was not opened: it would unpack to {_size(unpacked)}, far more than a"
        " document needs.",
        "If it is a real document, save it again without large embedded files and upload that.",
    )


def too_many_parts(name: str, *, parts: int, limit: int) -> ParseError:
    return _refuse(
        "zip_bomb",
        f"{quoted(name)} consists of {parts:,} parts; the limit is {limit:,}.",
        "If it is a real document, split it into smaller files and upload those.",
    )


def unsafe_xml(name: str) -> ParseError:
    return _refuse(
        "unsafe_xml",
        f"{quoted(name)} declares XML entities, which can be used to attack a reader, "
        "and was not opened.",
        "Open the original in the program that created it, save it again and upload that copy.",
    )


def no_such_page(name: str, *, page: int) -> ParseError:
    return ParseError(
        f"{quoted(name)} has no page {page:,}.",
        code="no_such_page",
        kept="The document is stored and unchanged.",
        next_step="Open one of its other pages.",
    )


def file_missing(name: str) -> ParseError:
    return ParseError(
        f"The stored file of {quoted(name)} is missing.",
        code="file_missing",
        kept="What was read from it earlier is kept.",
        next_step="Upload the file again.",
    )


def timed_out(name: str, *, seconds: float) -> ParseError:
    return _refuse(
        "parse_timeout",
        f"Reading {quoted(name)} took longer than {seconds:g} seconds and was stopped.",
        "Split it into smaller files and upload those.",
    )


def out_of_memory(name: str, *, limit: int) -> ParseError:
    return _refuse(
        "parse_memory",
        f"Reading {quoted(name)} needed more than {_size(limit)} of memory and was stopped.",
        "Split it into smaller files, or remove large images, and upload the result.",
    )


def crashed(name: str) -> ParseError:
    return _refuse(
        "parse_crashed",
        f"Reading stopped partway through {quoted(name)}. The file may be damaged.",
        "Open the original in the program that created it, save it again and upload that copy.",
    )
