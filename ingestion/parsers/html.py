"""HTML: the content of a page with its headings, lists and tables, without menus and footers."""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingestion.parsers.blocks import inline_text, is_silent, write_blocks
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.characters import clean, one_line
from ingestion.parsers.document import ParsedDocument, Source
from ingestion.parsers.encoding import decode
from ingestion.parsers.main_content import main_content

_CHARSET: Final = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_:-]{2,30})", re.I)
_SITE_NAME: Final = re.compile(r"\s+[|·»–—-]+\s+.*")
_DECLARED_WITHIN: Final = 4096
_META: Final = {
    "author": "author",
    "description": "description",
    "keywords": "keywords",
    "og:site_name": "site",
    "article:published_time": "published",
    "date": "published",
}


def read(source: Source) -> ParsedDocument:
    data = source.path.read_bytes()
    charset = _CHARSET.search(data[:_DECLARED_WITHIN])
    decoded = decode(data, declared=charset.group(1).decode("ascii") if charset else "")
    builder = TextBuilder(source)
    if decoded.warning:
        builder.warn(decoded.warning)
    text, builder.removed = clean(decoded.text)
    tree = LexborHTMLParser(text)
    _write_content(tree, builder)
    _describe(tree, builder)
    title = page_title(tree)
    return builder.build(parser="html", title=title, encoding=decoded.encoding)


def _write_content(tree: LexborHTMLParser, builder: TextBuilder) -> None:
    content = main_content(tree)
    if content is None:
        return
    root, left_out = content

    def skip(node: LexborNode) -> bool:
        return node.mem_id in left_out

    write_blocks(root, builder, skip=skip if left_out else is_silent)


def _describe(tree: LexborHTMLParser, builder: TextBuilder) -> None:
    root = tree.css_first("html")
    builder.describe("language", root.attributes.get("lang") if root else "")
    for meta in tree.css("meta[content]"):
        attributes = meta.attributes
        key = (attributes.get("name") or attributes.get("property") or "").lower()
        if key in _META and _META[key] not in builder.metadata:
            builder.describe(_META[key], attributes.get("content"))
    link = tree.css_first("link[rel=canonical]")
    builder.describe("url", link.attributes.get("href") if link else "")


def page_title(tree: LexborHTMLParser) -> str:
    """The page's title, without a site name after a dash or bar if an h1 matches the rest."""
    title = tree.css_first("title")
    shown = one_line(title.text()) if title else ""
    tops = [one_line(inline_text(top)) for top in tree.css("h1")]
    for top in filter(None, tops):
        if _SITE_NAME.fullmatch(shown.removeprefix(top)):
            return top
    return shown or (tops[0] if len(tops) == 1 else "")
