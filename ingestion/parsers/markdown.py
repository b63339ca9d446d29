"""Markdown: the source is the text; headings come from block structure, front matter is removed."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import Final

from markdown_it import MarkdownIt

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import ParsedDocument, Source, clean, one_line
from ingestion.parsers.encoding import decode
from kb_project.text.regions import RegionKind

# Blocks only: finding headings needs no inline rules, which are what takes quadratic time on long
# lines.
_BLOCKS: Final = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])

_REGIONS: Final = {
    "fence": RegionKind.CODE,
    "code_block": RegionKind.CODE,
    "html_block": RegionKind.CODE,
    "table_open": RegionKind.TABLE,
}
_FRONT_MATTER: Final = re.compile(
    r"\A---[ \t]*\n((?:(?!---|\.\.\.).*\n){1,200})(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
_FIELD: Final = re.compile(r"([A-Za-z][\w -]{0,40}):[ \t]*(\S.*)?")
_LIST_ENTRY: Final = re.compile(r"[ \t]*-[ \t]+(\S.*)")
_TARGET: Final = r"(?:\([^()\n]*\)|\[[^\[\]\n]*\])"
_LINK: Final = re.compile(rf"!?\[([^\[\]]*)\]{_TARGET}")
_BADGE: Final = re.compile(rf"\[!\[([^\[\]\n]*)\]{_TARGET}\]{_TARGET}")
_PICTURE: Final = re.compile(rf"(?m)^[ \t]*!\[[^\[\]\n]*\]{_TARGET}[ \t]*$")
_MARKS: Final = re.compile(r"(?<!\\)(?:\*+|`+|~~|(?<!\w)_+|_+(?!\w))|<[^<>]+>")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")


def read(source: Source) -> ParsedDocument:
    decoded = decode(source.file.read_bytes())
    builder = TextBuilder(source)
    builder.warn(decoded.warning)
    text, builder.removed = clean(decoded.text)
    fields, body = split_front_matter(text)
    title = fields.pop("title", "")
    for key, value in fields.items():
        builder.describe(key, value)
    builder.verbatim(body if body.strip() else text)
    for level, heading, start in find_headings(builder.text):
        builder.mark_heading(level, heading, start)
    starts = _line_starts(builder.text)
    for token in _BLOCKS.parse(builder.text):
        if token.map and (kind := _REGIONS.get(token.type)):
            builder.note(kind, starts[token.map[0]], min(starts[token.map[1]] - 1, builder.length))
    for pattern in (_BADGE, _PICTURE):
        for seen in pattern.finditer(builder.text):
            builder.note(RegionKind.NAVIGATION, *seen.span())
    return builder.build(parser="markdown", title=title, encoding=decoded.encoding)


def find_headings(text: str) -> list[tuple[int, str, int]]:
    """(level, title without marks, start of its line) for every ATX and Setext heading."""
    starts = _line_starts(text)
    tokens = _BLOCKS.parse(text)
    found: list[tuple[int, str, int]] = []
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.map is None:
            continue
        if title := plain_title(inline.content):
            found.append((int(token.tag[1:]), title, starts[token.map[0]]))
    return found


def _line_starts(text: str) -> list[int]:
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))


def plain_title(source: str) -> str:
    """A heading without its marks, and without badges unless it is one.

    >>> plain_title("The **big** [plan](x.md) for `main_loop`")
    'The big plan for main_loop'
    >>> plain_title("Beam [![Build](b.svg)](ci)"), plain_title("[![Beam](logo.svg)](/)")
    ('Beam', 'Beam')
    """
    said = _BADGE.sub("", source).strip() or _BADGE.sub(r"\1", source)
    plain = _ESCAPE.sub(r"\1", _MARKS.sub("", _LINK.sub(r"\1", said)))
    return one_line(plain, limit=10_000)


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """The simple fields of a YAML header, and the text after it.

    Only ``key: value`` and lists of plain values are understood. A YAML parser would be one more
    thing for a hostile file to attack, and metadata needs no more.
    """
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    fields: dict[str, list[str]] = {}
    key = ""
    for line in match.group(1).splitlines():
        if field := _FIELD.fullmatch(line.rstrip()):
            key = field.group(1).strip().lower()
            fields[key] = [_plain_value(field.group(2))] if field.group(2) else []
        elif key and (entry := _LIST_ENTRY.fullmatch(line.rstrip())):
            fields[key].append(_plain_value(entry.group(1)))
    if not fields:
        return {}, text
    values = {key: ", ".join(filter(None, entries)) for key, entries in fields.items()}
    return {key: value for key, value in values.items() if value}, text[match.end() :].lstrip("\n")


def _plain_value(value: str) -> str:
    value = value.strip()
    if value[:1] == "[" and value[-1:] == "]":
        return ", ".join(part.strip().strip("\"'") for part in value[1:-1].split(","))
    return value.strip("\"'")
