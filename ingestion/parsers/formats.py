"""The formats that documents may have: one row each, with names, endings, an icon, and how to
recognise them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

TEXT: Final = "text/plain"
MARKDOWN: Final = "text/markdown"
HTML: Final = "text/html"
MAIL: Final = "message/rfc822"
CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"
PDF: Final = "application/pdf"
EPUB: Final = "application/epub+zip"
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
DOCX: Final = _OFFICE + "wordprocessingml.document"
PPTX: Final = _OFFICE + "presentationml.presentation"
XLSX: Final = _OFFICE + "spreadsheetml.sheet"
XLSB: Final = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
XLS: Final = "application/vnd.ms-excel"
ODS: Final = "application/vnd.oasis.opendocument.spreadsheet"


@dataclass(frozen=True, slots=True)
class Format:
    """``module`` in ``ingestion.parsers`` reads such files.

    ``label`` names one of them as within a sentence, and no two formats share it; ``family`` is
    the format in lists. Both are shown to people.
    ``member`` is a file inside the ZIP archive by which it is recognised; where that is
    ``mimetype``, the archive says its own type in it. ``bulk`` tells estimates how much text a
    byte yields: text, html, zip, table, pdf or mail.
    """

    module: str
    label: str
    family: str
    endings: tuple[str, ...]
    icon: str = "file-earmark-text"
    member: str = ""
    bulk: str = "text"


_SHEET: Final = "file-earmark-spreadsheet"
_CODE: Final = "file-earmark-code"

FORMATS: Final[dict[str, Format]] = {
    PDF: Format("pdf", "PDF", "PDF", (".pdf",), "file-earmark-pdf", bulk="pdf"),
    DOCX: Format(
        "docx",
        "Word document",
        "Word",
        (".docx", ".docm"),
        "file-earmark-word",
        "word/document.xml",
        "zip",
    ),
    PPTX: Format(
        "pptx",
        "PowerPoint presentation",
        "PowerPoint",
        (".pptx", ".pptm", ".ppsx"),
        "file-earmark-slides",
        "ppt/presentation.xml",
        "zip",
    ),
    XLSX: Format(
        "spreadsheet",
        "Excel workbook",
        "Excel",
        (".xlsx", ".xlsm"),
        _SHEET,
        "xl/workbook.xml",
        "zip",
    ),
    XLSB: Format(
        "spreadsheet",
        "Excel binary workbook",
        "Excel",
        (".xlsb",),
        _SHEET,
        "xl/workbook.bin",
        "zip",
    ),
    XLS: Format("spreadsheet", "Excel 97–2003 workbook", "Excel", (".xls",), _SHEET),
    ODS: Format(
        "spreadsheet",
        "OpenDocument spreadsheet",
        "OpenDocument spreadsheets",
        (".ods",),
        _SHEET,
        "mimetype",
        "zip",
    ),
    EPUB: Format("epub", "e-book", "EPUB", (".epub",), "book", "mimetype", "zip"),
    HTML: Format("html", "web page", "HTML", (".html", ".htm", ".xhtml"), _CODE, bulk="html"),
    MARKDOWN: Format("markdown", "Markdown file", "Markdown", (".md", ".markdown", ".mdown")),
    TEXT: Format("plain", "text file", "text", (".txt", ".text", ".log")),
    MAIL: Format("mail", "e-mail", "e-mail", (".eml",), "envelope", bulk="mail"),
    CSV: Format("delimited", "CSV table", "CSV", (".csv",), _SHEET, bulk="table"),
    TSV: Format("delimited", "TSV table", "TSV", (".tsv", ".tab"), _SHEET, bulk="table"),
    JSON: Format("json_records", "JSON file", "JSON", (".json",), _CODE),
    JSON_LINES: Format(
        "json_records", "JSON Lines file", "JSON Lines", (".jsonl", ".ndjson"), _CODE
    ),
}
EPUB_CONTAINER: Final = "META-INF/container.xml"
"""The file of an e-book that names all others."""
BY_ENDING: Final = {
    ending: media_type for media_type, one in FORMATS.items() for ending in one.endings
}


def families() -> list[str]:
    """What people call the formats, each once.

    >>> families()[:3]
    ['PDF', 'Word', 'PowerPoint']
    """
    return list(dict.fromkeys(one.family for one in FORMATS.values()))


def format_of(name: str) -> Format | None:
    """The format that a file's ending promises.

    >>> format_of("Minutes.DOCX").label
    'Word document'
    """
    ending = ending_of(name)
    return FORMATS[BY_ENDING[ending]] if ending in BY_ENDING else None


def ending_of(name: str) -> str:
    """
    >>> ending_of("a/b/Report.PDF ")
    '.pdf'
    """
    return PurePosixPath(name.replace("\\", "/").strip().lower()).suffix
