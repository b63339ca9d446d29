"""Real files made from nothing: PDF by hand, Office and EPUB as the ZIP archives they are."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

import xlsxwriter
from pptx import Presentation
from pptx.util import Inches

PASSWORD_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
FILE_ID = b"0123456789abcdef"
Line = tuple[float, float, float, str]


# --- PDF ---------------------------------------------------------------------------------------


def text_page(*lines: Line) -> bytes:
    """A page's content: (size, x, y, text) for each line, y upwards from the bottom."""
    shown = [
        f"BT /F1 {size:g} Tf 1 0 0 1 {x:g} {y:g} Tm ({escape(text)}) Tj ET"
        for size, x, y, text in lines
    ]
    return "\n".join(shown).encode("cp1252")


def paragraph(text: Sequence[str], *, top: float, size: float = 12, x: float = 72) -> list[Line]:
    return [(size, x, top - 1.2 * size * number, line) for number, line in enumerate(text)]


def escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def make_pdf(
    pages: Sequence[bytes],
    *,
    title: str = "",
    bookmarks: Sequence[tuple[str, int]] = (),
    rotate: int = 0,
    locked_with: str = "",
) -> bytes:
    """``bookmarks`` are (title, page index); ``locked_with`` is a password (40-bit RC4)."""
    objects: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>",
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        4: f"<< /Title ({escape(title)}) /CreationDate (D:20240314120000Z) >>".encode(),
    }
    key = _file_key(locked_with) if locked_with else b""
    kids = []
    for index, content in enumerate(pages):
        number = 1000 + 2 * index
        data = _rc4(_object_key(key, number), content) if key else content
        objects[number] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(data), data)
        objects[number + 1] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R /Rotate %d"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (number, rotate)
        )
        kids.append(b"%d 0 R" % (number + 1))
    objects[2] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    objects |= _outline(bookmarks)
    trailer = b"/Root 1 0 R /ID [<%s> <%s>]" % (FILE_ID.hex().encode(), FILE_ID.hex().encode())
    if key:
        objects[6] = _encryption(locked_with, key)
        trailer += b" /Encrypt 6 0 R"
    elif title:
        trailer += b" /Info 4 0 R"
    return _assemble(objects, trailer)


def _outline(bookmarks: Sequence[tuple[str, int]]) -> dict[int, bytes]:
    first = 500
    last = first + len(bookmarks) - 1
    objects = {}
    for number, (title, page) in enumerate(bookmarks, start=first):
        after = b" /Next %d 0 R" % (number + 1) if number < last else b""
        objects[number] = (
            f"<< /Title ({escape(title)}) /Parent 5 0 R /Dest [{1001 + 2 * page} 0 R /Fit]".encode()
            + after
            + b" >>"
        )
    ends = b" /First %d 0 R /Last %d 0 R" % (first, last) if bookmarks else b""
    objects[5] = b"<< /Type /Outlines /Count %d%s >>" % (len(bookmarks), ends)
    return objects


def _assemble(objects: Mapping[int, bytes], trailer: bytes) -> bytes:
    out = bytearray(b"%PDF-1.5\n")
    places = {}
    for number in sorted(objects):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, place)
    size = max(objects) + 1
    out += b"trailer << /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)
    return bytes(out)


def _file_key(password: str) -> bytes:
    """PDF 1.7, algorithm 2, for revision 2 of the standard security handler."""
    padded = (password.encode("latin-1") + PASSWORD_PADDING)[:32]
    permissions = (-4).to_bytes(4, "little", signed=True)
    return _md5(padded + _owner_entry(password) + permissions + FILE_ID)[:5]


def _owner_entry(password: str) -> bytes:
    padded = (password.encode("latin-1") + PASSWORD_PADDING)[:32]
    return _rc4(_md5(padded)[:5], padded)


def _encryption(password: str, key: bytes) -> bytes:
    owner, user = _owner_entry(password).hex(), _rc4(key, PASSWORD_PADDING).hex()
    return f"<< /Filter /Standard /V 1 /R 2 /O <{owner}> /U <{user}> /P -4 >>".encode()


def _object_key(key: bytes, number: int) -> bytes:
    return _md5(key + number.to_bytes(3, "little") + b"\x00\x00")[:10]


def _md5(data: bytes) -> bytes:
    # The PDF standard asks for MD5; nothing is protected by it here.
    return hashlib.md5(data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i, byte in zip(range(256), cycle(key), strict=False):
        j = (j + state[i] + byte) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


# --- ZIP-based formats -------------------------------------------------------------------------


def make_zip(members: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def word_paragraph(text: str, *, style: str = "", entry: tuple[int, int] | None = None) -> str:
    """``entry`` is the numbering and the level of a list's entry."""
    properties = f'<w:pStyle w:val="{style}"/>' if style else ""
    if entry is not None:
        properties += (
            f'<w:numPr><w:ilvl w:val="{entry[1]}"/><w:numId w:val="{entry[0]}"/></w:numPr>'
        )
    properties = f"<w:pPr>{properties}</w:pPr>" if properties else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def word_table(rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(
        "<w:tr>" + "".join(f"<w:tc>{word_paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in rows
    )
    return f"<w:tbl>{cells}</w:tbl>"


def word_numbering(levels: Iterable[tuple[str, str]], *, numberings: int = 1) -> str:
    """A list of levels (format, text); each numbering after the first begins it again."""
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    return (
        f'<w:numbering xmlns:w="{_WORD}"><w:abstractNum w:abstractNumId="7">'
        + "".join(
            f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
            f'<w:lvlText w:val="{text}"/></w:lvl>'
            for depth, (form, text) in enumerate(levels)
        )
        + "</w:abstractNum>"
        + "".join(
            f'<w:num w:numId="{number}"><w:abstractNumId w:val="7"/>{again * (number > 1)}</w:num>'
            for number in range(1, numberings + 1)
        )
        + "</w:numbering>"
    )


def make_docx(
    body: str, *, prolog: str = "", title: str = "", author: str = "", numbering: str = ""
) -> bytes:
    headings = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}">'
        f'<w:name w:val="heading {level}"/></w:style>'
        for level in range(1, 7)
    )
    return make_zip(
        {
            "[Content_Types].xml": (
                '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
                '<Default Extension="xml" ContentType="application/xml"/></Types>'
            ),
            "_rels/.rels": (
                f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
                f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
            ),
            "word/document.xml": (
                f'<?xml version="1.0"?>{prolog}<w:document xmlns:w="{_WORD}">'
                f"<w:body>{body}</w:body></w:document>"
            ),
            "word/styles.xml": (
                f'<w:styles xmlns:w="{_WORD}"><w:style w:type="paragraph" w:styleId="Title">'
                f'<w:name w:val="Title"/></w:style>{headings}</w:styles>'
            ),
            "docProps/core.xml": (
                '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="urn:dc">'
                f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>"
                "</cp:coreProperties>"
            ),
        }
        | ({"word/numbering.xml": numbering} if numbering else {})
    )


def make_epub(
    chapters: Mapping[str, str], *, title: str = "A Book", extra: Mapping[str, str] | None = None
) -> bytes:
    manifest = "".join(
        f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": (
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
        ),
        "OEBPS/content.opf": (
            '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
            "<dc:creator>A. Writer</dc:creator></metadata>"
            f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
        ),
    }
    for name, body in chapters.items():
        members[f"OEBPS/{name}"] = (
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
            f"<head><title/></head><body>{body}</body></html>"
        )
    return make_zip(members | dict(extra or {}))


def make_xlsx(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, "default_date_format": "yyyy-mm-dd"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    book.close()
    return buffer.getvalue()


def make_pptx(slides: Sequence[tuple[str, Sequence[str], str]]) -> bytes:
    """Slides of (title, body lines, notes)."""
    deck = Presentation()
    for title, lines, notes in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        box = slide.shapes.add_textbox(Inches(1), Inches(2), Inches(5), Inches(3))
        box.text_frame.text = "\n".join(lines)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def make_ods(rows: Sequence[Sequence[str]], meta: str = "") -> bytes:
    """``meta`` is what its ``meta.xml`` says of it."""
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p>'
            "</table:table-cell>"
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    oasis = "urn:oasis:names:tc:opendocument:xmlns"
    media_type = "application/vnd.oasis.opendocument.spreadsheet"
    return make_zip(
        {
            "mimetype": media_type,
            "META-INF/manifest.xml": (
                f'<m:manifest xmlns:m="{oasis}:manifest:1.0">'
                f'<m:file-entry m:full-path="/" m:media-type="{media_type}"/></m:manifest>'
            ),
            "content.xml": (
                f'<office:document-content xmlns:office="{oasis}:office:1.0" '
                f'xmlns:table="{oasis}:table:1.0" xmlns:text="{oasis}:text:1.0"><office:body>'
                f'<office:spreadsheet><table:table table:name="Crew">{cells}</table:table>'
                "</office:spreadsheet></office:body></office:document-content>"
            ),
            "meta.xml": (
                f'<office:document-meta xmlns:office="{oasis}:office:1.0" '
                f'xmlns:meta="{oasis}:meta:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
                f"<office:meta>{meta}</office:meta></office:document-meta>"
            ),
        }
    )


def make_encrypted_office() -> bytes:
    """What an Office file with a password is: an old container with a directory of streams."""
    names = ("Root Entry", "EncryptionInfo", "EncryptedPackage")
    directory = b"".join(name.encode("utf-16-le").ljust(128, b"\x00") for name in names)
    return bytes.fromhex("d0cf11e0a1b11ae1").ljust(512, b"\x00") + directory.ljust(1024, b"\x00")
