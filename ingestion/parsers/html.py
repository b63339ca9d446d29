"""HTML: the content of a page with its headings, lists and tables, without menus and footers.

A page that marks its content (``main``, one ``article``) is trusted. Otherwise the parts that
declare themselves navigation, and the blocks that are nearly all links, are left out. If that would
leave less than a third of the page, the whole page is kept: losing content is worse than keeping a
menu.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingestion.parsers.blocks import inline_text, is_silent, walk, write_blocks
from ingestion.parsers.builder import TextBuilder, title_from_name
from ingestion.parsers.document import ParsedDocument, Source, clean, one_line
from ingestion.parsers.encoding import decode

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

_CHROME_TAGS: Final = frozenset(("nav", "footer"))
_CHROME_ROLES: Final = frozenset(
    ("navigation", "banner", "contentinfo", "search", "dialog", "alertdialog")
)
_CHROME_NAMES: Final = re.compile(
    r"(?:^|[\s_-])(?:(?:top|side|sub|main|bottom)?nav(?:igation)?(?:header|footer|bar|links|menu)?"
    r"|menu|breadcrumbs?|cookies?|consent|footer|toolbar|share|social|newsletter|advert|ads|skip|toc)(?:$|[\s_-])",
    re.IGNORECASE,
)
# Layout tables of DocBook pages, for one. "Navigation lights" may be what a page is about.
_CHROME_SUMMARY: Final = re.compile(
    r"\s*(?:page |site )?navigation(?: (?:header|footer|bar|links|menu|table))?\s*", re.IGNORECASE
)
# Parts beside the text: a menu on one page, an explanatory box on another.
_BESIDE_NAMES: Final = re.compile(
    r"(?:^|[\s_-])(?:sidebar|aside|related|widget)(?:$|[\s_-])", re.IGNORECASE
)
_BESIDE_LINKED: Final = 0.4
"""Share of links above which a part beside the text is a menu."""
_NAMED_TAGS: Final = frozenset(("div", "section", "ul", "ol", "p", "header"))
_LIST_TAGS: Final = frozenset(("div", "section", "ul", "ol", "table", "p"))
_MARKED: Final = ("main, [role=main]", "article")
_LINKS_FROM: Final = 5
_LINK_SHARE: Final = 0.8
_CHROME_SHARE: Final = 0.25
_MAIN_SHARE: Final = 0.4
_KEPT_SHARE: Final = 1 / 3


def read(source: Source) -> ParsedDocument:
    builder = TextBuilder(source)
    tree, encoding = read_tree(source.file.read_bytes(), builder)
    root, left_out = main_content(tree)
    if root is not None:
        skip = (lambda node: node.mem_id in left_out) if left_out else is_silent
        write_blocks(root, builder, skip=skip)
    _describe(tree, builder)
    return builder.build(parser="html", title=page_title(tree, source.name), encoding=encoding)


def read_tree(
    data: bytes, builder: TextBuilder, *, declared: str = ""
) -> tuple[LexborHTMLParser, str]:
    """The page as a tree, and its encoding, unless that is ``declared`` elsewhere."""
    charset = _CHARSET.search(data[:_DECLARED_WITHIN])
    if charset and not declared:
        declared = charset.group(1).decode("ascii")
    decoded = decode(data, declared=declared)
    builder.warn(decoded.warning)
    text, removed = clean(decoded.text)
    builder.removed += removed
    return LexborHTMLParser(text), decoded.encoding


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


def page_title(tree: LexborHTMLParser, name: str) -> str:
    """The page's title, without a site name after a dash or bar if an h1 matches the rest; an h1
    instead of the file's name or of a path such as *Page < Part < Site*."""
    title = tree.css_first("title")
    shown = one_line(title.text()) if title else ""
    tops = [one_line(inline_text(top)) for top in tree.css("h1")]
    for top in filter(None, tops):
        if _SITE_NAME.fullmatch(shown.removeprefix(top)):
            return top
    is_name = shown.casefold() == title_from_name(name).casefold()
    if not shown or is_name or " < " in shown:
        return tops[0] if len(tops) == 1 else shown.partition(" < ")[0]
    return shown


@dataclass(slots=True)
class _Block:
    """Counts for one open element: characters, characters in links, links, headings."""

    node: LexborNode
    text: int = 0
    linked: int = 0
    links: int = 0
    titles: int = 0
    left_out: int = 0
    chrome: list[int] = field(default_factory=list)


def main_content(tree: LexborHTMLParser) -> tuple[LexborNode | None, frozenset[int]]:
    """The node to read, None without a body, and the ``mem_id`` of each subtree to leave out."""
    body = tree.body
    if body is None:
        return None, frozenset()
    outer = _measure(body)
    for found in map(tree.css, _MARKED):
        if len(found) == 1:
            if _measure(found[0]).text >= _MAIN_SHARE * (outer.text - outer.left_out):
                return found[0], frozenset()
            break
    is_little = outer.text - outer.left_out < _KEPT_SHARE * outer.text
    return body, frozenset() if is_little else frozenset(outer.chrome)


def _measure(root: LexborNode) -> _Block:
    """Measure in one pass; each element adds its counts to its parent when it closes."""
    stack = [_Block(root)]
    total = len("".join((root.text() or "").split()))
    for node, entering in walk(root, skip=is_silent):
        if node.is_text_node:
            stack[-1].text += len("".join((node.text_content or "").split()))
        elif entering:
            stack.append(_Block(node))
        else:
            block = stack.pop()
            _close(block, stack[-1], total)
    return stack[0]


def _close(block: _Block, parent: _Block, total: int) -> None:
    if block.node.tag == "a" and block.node.attributes.get("href"):
        block.linked, block.links = block.text, 1
    if block.node.tag in ("h1", "h2"):
        block.titles += 1
    if block.text and _is_chrome(block, total):
        block.left_out = block.text
        block.chrome = [block.node.mem_id]
    parent.text += block.text
    parent.linked += block.linked
    parent.links += block.links
    parent.titles += block.titles
    parent.left_out += block.left_out
    parent.chrome.extend(block.chrome)


def _is_chrome(block: _Block, total: int) -> bool:
    tag = block.node.tag or ""
    attributes = block.node.attributes
    if tag in _CHROME_TAGS or (attributes.get("role") or "") in _CHROME_ROLES:
        return True
    if block.titles:
        return False
    if tag == "table" and _CHROME_SUMMARY.fullmatch(attributes.get("summary") or ""):
        return True
    if tag == "header":
        return block.linked * 2 > block.text
    named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    is_beside = (
        tag == "aside"
        or attributes.get("role") == "complementary"
        or (tag in _NAMED_TAGS and _BESIDE_NAMES.search(named) is not None)
    )
    if is_beside:
        return block.linked > _BESIDE_LINKED * block.text
    if tag in _NAMED_TAGS and block.text < _CHROME_SHARE * total and _CHROME_NAMES.search(named):
        return True
    return (
        tag in _LIST_TAGS and block.links >= _LINKS_FROM and block.linked > _LINK_SHARE * block.text
    )
