"""Word documents: mammoth turns them into HTML by style, which is then read like a web page."""

from __future__ import annotations

from typing import Final
from xml.parsers.expat import ExpatError

import mammoth
from selectolax.lexbor import LexborHTMLParser

from ingestion.parsers import docx_numbers, refusals
from ingestion.parsers.archive import ZIP_ERRORS, check_archive, describe_openxml
from ingestion.parsers.blocks import LIST_NUMBER, inline_text, write_blocks
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import ParsedDocument, Source
from ingestion.parsers.formats import DOCX, FORMATS

_KIND: Final = refusals.one(FORMATS[DOCX])
_CODE: Final = "docx_corrupt"
_STYLES: Final = f"""
r.{docx_numbers.STYLE} => span.{LIST_NUMBER}
p[style-name='Title'] => h1.title:fresh
p[style-name='caption'] => p.caption:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Quote'] => blockquote > p:fresh
"""


def read(source: Source) -> ParsedDocument:
    check_archive(source, kind=_KIND, code=_CODE)
    builder = TextBuilder(source)
    tree = LexborHTMLParser(_html(source))
    if tree.body is not None:
        write_blocks(tree.body, builder, may_guess=True)
    title = describe_openxml(builder, source.file)
    return builder.build(parser="docx", title=title, front=_front(tree))


def _front(tree: LexborHTMLParser) -> str:
    titled = tree.css_first("h1.title")
    return inline_text(titled) if titled is not None else ""


def _html(source: Source) -> str:
    try:
        with source.file.open() as file:
            # Pictures would be embedded as base64, which is not text.
            result = mammoth.convert_to_html(
                docx_numbers.numbered(file),
                style_map=_STYLES,
                convert_image=mammoth.images.img_element(lambda _: {}),
            )
    except (*ZIP_ERRORS, ExpatError, OSError, ValueError, AttributeError, IndexError) as error:
        # Besides broken XML and ZIP, these are how mammoth fails on missing parts.
        raise refusals.corrupt(source.name, kind=_KIND, code=_CODE) from error
    return str(result.value)
