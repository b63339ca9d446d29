"""Plain text: kept as it is, except for words cut at a line's end, tables laid out by spaces, and
lines that were never wrapped, which become paragraphs.

Chapter lines, numbered and underlined lines are headings.
"""

from __future__ import annotations

import re
from typing import Final

import regex

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import ParsedDocument, Source, clean, one_line
from ingestion.parsers.encoding import Decoded, decode
from ingestion.parsers.numbered import numbered_headings
from ingestion.parsers.spaced_tables import parts_of
from ingestion.parsers.tables import write_table
from kb_project.text.regions import RegionKind

_NUMBER: Final = (
    r"(?:\d{1,4}|[ivxlcdm]{1,8}|[a-h]|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|first|last)"
)
_GREATER: Final = re.compile(
    rf"(?:the )?(?:part|book|volume)\s+{_NUMBER}\b(?![ ]+[a-z]).{{0,80}}"
    r"|第[0-9０-９一二三四五六七八九十百千零〇两]+[卷部篇集](?:[\s　:：].{0,40})?",
    re.IGNORECASE,
)
_LESSER: Final = re.compile(
    rf"(?:chapter|stave|section|article|appendix|act|scene|canto)\s+{_NUMBER}\b.{{0,80}}"
    r"|第[0-9０-９一二三四五六七八九十百千零〇两]+[章节節回](?:[\s　:：].{0,40})?",
    re.IGNORECASE,
)
_UNDERLINE: Final = re.compile(r"(={3,}|-{3,}|~{3,}|\^{4,}|\"{4,}|#{4,}|\*{4,}|\+{4,})[ \t]*")
_RULES: Final = re.compile(rf"(?m)^[ \t]*{_UNDERLINE.pattern}$")
# *.. note:: Oil is slippery.* says something, *.. image:: oil.png* and *.. _oil:* do not.
_DIRECTIVES: Final = re.compile(
    r"(?m)^[ \t]*\.\. (?:(?:note|warning|tip|hint|important|caution|danger|attention|seealso)::"
    r"|[\w+.:-]+::[^\n]*|_[^\n]*:[^\n]*|\|[^\n]*)(?:\n[ \t]+:[\w -]+:[^\n]*)*"
)
_LITERALS: Final = re.compile(
    r"(?m)^(?P<indent>[ \t]*)(?:(?!\.\. )\S[^\n]*::|\.\. (?:code|code-block|sourcecode"
    r"|parsed-literal|prompt)::[^\n]*)[ \t]*\n(?:[ \t]+:[\w -]+:[^\n]*\n)*(?:[ \t]*\n)+"
    r"(?P<code>(?P=indent)[ \t]+\S[^\n]*(?:\n(?:[ \t]*\n)*(?P=indent)[ \t]+\S[^\n]*)*)"
)
"""Indented lines below a line that ends with two colons, or below a directive for code."""
_FEWEST_MARKS: Final = 2
"""Directives and literal blocks that make a text reStructuredText."""
_LINE: Final = re.compile(r"[^\n]*\n?")
_BLANK_LINES: Final = re.compile(r"\A(?:[^\S\n]*\n)+")
_LONGEST: Final = 100
_CAPITAL: Final = 9
"""The level of a line in capitals, below all others."""
_IN_CAPITALS: Final = regex.compile(
    r"(?=.{0,20}\p{Lu}{3})[\p{Lu}\p{N} '’&(),.:_/-]{4,60}(?<![,:-])"
)
_EMPHASIS: Final = re.compile(r"(?<!\w)_|_(?!\w)")
_PARAGRAPH: Final = re.compile(r"\s*(\S[^\n]*(?:\n[^\n]*\S[^\n]*){0,3})")
_SHORTEST_PROSE: Final = 60
"""Characters of the paragraph below a line in capitals."""
_TITLE_FIELD: Final = re.compile(r"(?m)^Title:[ \t]*(\S.{0,200})$")
# Of an e-mail, whose fields come first.
_SUBJECT: Final = re.compile(
    r"\s*(?:[A-Z][\w-]{1,30}:.{0,1000}\n(?:[ \t]+\S.{0,1000}\n){0,20}){0,40}?"
    r"Subject:[ \t]*(\S.{0,200})"
)
_FIELDS_WITHIN: Final = 3000

_FRONT: Final = regex.compile(
    r"\s*(?:^[ \t]*[=~*_#-]{3,}[ \t]*\n)?^[ \t]*"
    r"(?P<title>(?!(?i:dear|hi|hello|hey|produced|confidential|draft|page)\b"
    r"|[^\s:]{1,30}:|\d+[.)])"
    r"[\p{Lu}\p{Lo}\p{N}\"'“‘«「《][^\n]{1,98}[^\s.,;:，。；：、])[ \t]*\n"
    r"(?=[ \t]*\n|[ \t]*[=~*_-]{3,}[ \t]*\n|[ \t]*[(\[]"
    r"|[ \t]*(?i:version|revision|edition|by|author|copyright|©|last|updated|date|v?\d)\b)",
    regex.MULTILINE,
)
"""A first line alone, underlined, or above a version, an author or a date."""
_SHORTEST: Final = 600
"""Characters of a text whose first line is its title: a note's is the note."""

_WRAPPED: Final = 100
"""Columns that lines of wrapped text have at most …"""
_UNWRAPPED: Final = 1 / 3
"""… and the share of a text in longer ones from which on it is not wrapped: each line says
something of its own then, as in notes, but for the entries of lists."""
_LINE_END: Final = re.compile(r"(?<=\S)[ \t]*\n(?=[ \t]{0,3}[^\s\-*+•>|#~=_](?!.{0,3}[.)][ \t]))")

_LONGEST_WORD: Final = 60
_CUT: Final = regex.compile(
    r"(?<=\p{Ll})-(?P<break>\r?\n[ \t]*)(?P<after>\p{Ll}{1,60})(?!\p{L})(?P<tail>[^\s-]{0,10})"
    r"(?P<space>[ \t]+(?=\S)|(?=\s)|\Z)"
)
_BEFORE: Final = regex.compile(r"(?<!\p{L})\p{L}+$")
_WORD: Final = regex.compile(r"\p{L}+(?:-\p{L}+)*")


def read(source: Source) -> ParsedDocument:
    return read_text(source, decode(source.file.read_bytes()))


def read_text(source: Source, decoded: Decoded, warning: str = "") -> ParsedDocument:
    builder = TextBuilder(source)
    builder.warn(decoded.warning)
    builder.warn(warning)
    text, builder.removed = clean(decoded.text)
    final = write_parts(builder, rejoined(text))
    _note_marks(builder, final)
    for level, title, start in all_headings(final):
        builder.mark_heading(level, title, start)
    field = _TITLE_FIELD.search(final, 0, _FIELDS_WITHIN) or _SUBJECT.match(final)
    title = field.group(1).strip() if field else _front_title(builder)
    return builder.build(parser="plain", title=title, encoding=decoded.encoding)


def _note_marks(builder: TextBuilder, text: str) -> None:
    """Rules say nothing, nor do the directives of reStructuredText; its literal blocks are code."""
    for rule in _RULES.finditer(text):
        builder.note(RegionKind.NAVIGATION, *rule.span())
    directives, literals = list(_DIRECTIVES.finditer(text)), list(_LITERALS.finditer(text))
    if len(directives) + len(literals) >= _FEWEST_MARKS:
        for directive in directives:
            builder.note(RegionKind.NAVIGATION, *directive.span())
        for literal in literals:
            builder.note(RegionKind.CODE, *literal.span("code"))


def _front_title(builder: TextBuilder) -> str:
    """Return the title that a text begins with, which is no sentence of it; none as a rule."""
    text = builder.text
    found = _FRONT.match(text, 0, _FIELDS_WITHIN) if len(text) >= _SHORTEST else None
    if found is None or _LESSER.fullmatch(found["title"]) or _GREATER.fullmatch(found["title"]):
        return ""
    start, end = found.span("title")
    builder.note(RegionKind.HEADING, start, end, 1)
    return text[start:end]


def write_parts(builder: TextBuilder, text: str) -> str:
    """Write a text and the tables in it; return what was written."""
    before = builder.length
    is_wrapped = _is_wrapped(text)
    for part in parts_of(text):
        if isinstance(part, str):
            lines = part if is_wrapped else _LINE_END.sub("\n\n", part)
            builder.verbatim(_BLANK_LINES.sub("", lines))
        else:
            write_table(builder, part)
    return builder.since(before).lstrip("\n")


def _is_wrapped(text: str) -> bool:
    long = sum(len(line) for line in text.splitlines() if len(line) > _WRAPPED and " " in line)
    return long <= _UNWRAPPED * len(text)


def all_headings(text: str) -> list[tuple[int, str, int]]:
    """The chapter lines, underlined and numbered lines of a text, in order."""
    found = find_headings(text)
    numbered = numbered_headings(text)
    # Sections are below chapters, whose number is in words.
    is_below = not any(level == 1 for level, _, _ in numbered) and any(
        _LESSER.fullmatch(title) for _, title, _ in found
    )
    at = {start: (level, title, start) for level, title, start in found}
    at |= {start: (level + is_below, title, start) for level, title, start in numbered}
    return [at[start] for start in sorted(at)]


def find_headings(text: str) -> list[tuple[int, str, int]]:
    """(level, title, start) of each heading line: one with blank lines or the edge around it.

    >>> find_headings("Chapter 1\\n\\nIt began.\\n\\nNotes\\n=====\\n\\nMore.")
    [(2, 'Chapter 1', 0), (1, 'Notes', 22)]
    >>> find_headings(f"PART I.\\n\\nRAYS\\n\\n{'The least light is called a ray. ' * 2}")
    [(1, 'PART I.', 0), (2, 'RAYS', 9)]
    """
    found: list[tuple[int, str, int]] = []
    above, before, line, start = "", "", "", 0
    for match in _LINE.finditer(text):
        after = match.group().strip()
        # With the same line above as below, as titles have.
        is_framed = not above and before == after and _UNDERLINE.fullmatch(before)
        if (is_framed or not before) and (level := _level(line, after)):
            found.append((level, _title(line), start))
        elif not (before or after) and _is_capital(line, text, match.end()):
            found.append((_CAPITAL, _title(line), start))
        above, before, line = before, line, after
        start = match.start() + len(match.group()) - len(match.group().lstrip())
    least = 3 if any(level == 2 for level, _, _ in found) else 2
    return [(min(level, least), title, start) for level, title, start in found]


def _title(line: str) -> str:
    return _EMPHASIS.sub("", one_line(line))


def _level(line: str, after: str) -> int:
    if not line or len(line) > _LONGEST:
        return 0
    if _UNDERLINE.fullmatch(after) and len(line) <= len(after) <= len(line) + 3:
        return 1 if after[0] == "=" else 2
    own = _EMPHASIS.sub("", line)
    if after or own[-1:] in ("," if own.isupper() else ".,;。，；"):
        return 0
    if _GREATER.fullmatch(own):
        return 1
    return 2 if _LESSER.fullmatch(own) else 0


def _is_capital(line: str, text: str, end: int) -> bool:
    """Whether a line in capitals is followed by prose: lines of a title page are not."""
    if not _IN_CAPITALS.fullmatch(_EMPHASIS.sub("", line)):
        return False
    following = _PARAGRAPH.match(text, end)
    below = following[1] if following else ""
    return len(below) >= _SHORTEST_PROSE and not below.isupper()


def rejoined(text: str) -> str:
    """Return the text with words whole that are hyphenated at a line's end, as in PDF files.

    The end of the word moves up; everything else stays where it is. Only a text that has the whole
    word elsewhere, and not with a hyphen, tells that the hyphen is none of the word's own.

    >>> rejoined("A vegetarian ate. Veg-\\n  etarian monsters\\n  eat, too.")
    'A vegetarian ate. Vegetarian\\n  monsters\\n  eat, too.'
    """
    if not _CUT.search(text):
        return text
    known = {match.group().casefold() for match in _WORD.finditer(text)}

    def whole(match: regex.Match[str]) -> str:
        at = match.start()
        before = _BEFORE.search(text, max(0, at - _LONGEST_WORD), at)
        first, after = before.group().casefold() if before else "", match["after"]
        if not first or f"{first}{after}" not in known or f"{first}-{after}" in known:
            return str(match.group())
        return f"{after}{match['tail']}{match['break'] if match['space'] else ''}"

    joined: str = _CUT.sub(whole, text)
    return joined
