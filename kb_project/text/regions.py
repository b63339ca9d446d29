"""The stretches of a text that are not prose: headings, code, tables and furniture.

A document's text is stored whole: readers see menus, running heads and licences in place. What the
product itself writes (answers, summaries, topics, names) comes from prose alone, and prose is read
through :func:`prose`, which blanks everything else out and keeps every offset. ``is_code`` and
``is_shell`` tell source code and commands from prose, line by line, without a grammar.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import regex


class RegionKind(StrEnum):
    """The kind of a stretch of text that is not prose."""

    HEADING = "heading"
    CODE = "code"
    TABLE = "table"
    CAPTION = "caption"
    NAVIGATION = "navigation"
    """Menus, breadcrumbs, *previous* and *next*."""
    CONTENTS = "contents"
    """A table of contents, a list of figures, an index."""
    RUNNING = "running"
    """Running heads and feet, page numbers."""
    LEGAL = "legal"
    """Licences and notices that come with a document and are not its subject."""


LABEL: Final = 7
"""The level of a term whose definition follows: a heading until the next blank line."""
FURNITURE: Final = frozenset(
    {RegionKind.NAVIGATION, RegionKind.CONTENTS, RegionKind.RUNNING, RegionKind.LEGAL}
)
"""Parts no reader is looking for."""
_SUBJECT: Final = frozenset(RegionKind) - FURNITURE

_BLANK: Final = regex.compile(r"[^\n]")
# A sentence interrupted by a page end: the text between its halves is already blank.
_INTERRUPTED: Final = regex.compile(r"(?<=[^\s.!?…:;。！？：；\"”’»)][^\S\n]*)\n\s*(?=\p{Ll})")


@dataclass(frozen=True, slots=True)
class Region:
    """A region: ``text[start:end]`` is of this kind; ``level`` is a heading's, from 1."""

    kind: RegionKind
    start: int
    end: int
    level: int = 0

    def moved(self, by: int) -> Region:
        return Region(self.kind, self.start + by, self.end + by, self.level)


def prose(text: str, regions: Iterable[Region], keep: Collection[RegionKind] = ()) -> str:
    """Replace everything that is not prose or of a kind to ``keep`` with spaces.

    The result is as long as ``text``, so offsets are the same in both. Line breaks stay, except
    where furniture interrupts a sentence: the halves are joined by spaces.

    >>> prose("It burned\\n4\\nall night.", [Region(RegionKind.RUNNING, 10, 11)])
    'It burned   all night.'
    """
    parts: list[str] = []
    done = 0
    interrupted = False
    for region in sorted(regions, key=lambda one: (one.start, one.end)):
        if region.kind in keep or region.end <= done:
            continue
        start = max(region.start, done)
        parts += (text[done:start], _BLANK.sub(" ", text[start : region.end]))
        done = region.end
        interrupted = interrupted or region.kind in FURNITURE
    if not parts:
        return text
    blanked = "".join((*parts, text[done:]))
    return _joined(text, blanked) if interrupted else blanked


def is_furniture(text: str, regions: Iterable[Region]) -> bool:
    """Return whether a text is furniture alone, and has something.

    >>> is_furniture("Page 4", [Region(RegionKind.RUNNING, 0, 6)]), is_furniture("Page 4", [])
    (True, False)
    """
    return not prose(text, regions, _SUBJECT).strip() and not text.isspace()


def _joined(text: str, blanked: str) -> str:
    """Replace line breaks between the halves of a sentence with spaces, where something was
    blanked.
    """

    def joint(match: regex.Match[str]) -> str:
        start, end = match.span()
        between = blanked[start:end]
        return " " * (end - start) if text[start:end] != between else between

    joined: str = _INTERRUPTED.sub(joint, blanked)
    return joined


def within(regions: Iterable[Region], start: int, end: int) -> Iterator[Region]:
    """Yield the regions of ``text[start:end]``, with offsets from its beginning."""
    for region in regions:
        first, last = max(region.start, start), min(region.end, end)
        if first < last:
            yield Region(region.kind, first - start, last - start, region.level)


def as_json(regions: Iterable[Region]) -> list[list[Any]]:
    """Return ``[[kind, start, end], …]``; a heading's level comes fourth."""
    return [
        [str(one.kind), one.start, one.end, one.level]
        if one.level
        else [str(one.kind), one.start, one.end]
        for one in regions
    ]


def from_json(rows: Sequence[Sequence[Any]]) -> list[Region]:
    """Parse regions. Raises ValueError for an unknown kind."""
    return [Region(RegionKind(kind), *map(int, span)) for kind, *span in rows]


_CODE_LINE: Final = regex.compile(
    r"[{}]\s*$|[(){}=\[\]<>\"'].*;\s*$|^\s*\S+(?:\s\S+){0,2};\s*$"
    r"|^\s*(?:\#include|from\s\S+\simport|@\w|//|/\*|\*/|\}|\)|if\s*\(|for\s*\(|[\w.]+\(.*\)$)"
)
# An entry of a list may end with a semicolon, too, and be short.
_ENTRY: Final = regex.compile(
    r"^\s*(?:[-–—•‣*·]|\(?(?:\d{1,3}|\p{L}|[ivx]{1,5})[.)])\s[^{}=\[\]<>]*;\s*$"
)
# Words that also begin a line of wrapped prose.
_CODE_WORD: Final = regex.compile(
    r"^\s*(?:import|use|def|class|fn|return|let|const|var|pub|public|private)\b"
)
_PROSE_LINE: Final = regex.compile(r"(?:\b\p{Ll}+ ){3}\p{Ll}+\b|\p{L}[.,!?:]\s*$")
_SHELL_LINE: Final = regex.compile(
    r"^\s*(?:\$|%|[\w.-]+@[\w.-]+[:~\w/ -]*[#$])\s+\S"  # a prompt
    r"|^\s*\#\s+(?:[\w./-]+/)?[a-z][\w.-]*\s+[-/<]"  # root's prompt
    r"|^\s*(?:sudo|apt(?:-get)?|cd|git|pip3?|npm|curl|wget|mkdir|chmod|chown)\s"
    r"(?:[^.!?]|\.(?=\S))*[^.!?:,;\s]\s*$"
    # Also ordinary words, which may begin a line of wrapped prose.
    r"|^\s*(?:make\s+[\w./-]+\s*$|tar\s+-?[cxtzjvf]+\s|export\s+\w+=)"
    r"|^\s*(?:\.{0,2}/|~/)?[\w./+-]+(?:\s+-{1,2}[\w-]+(?:[= ]\S+)?){2,}\s*$"  # cmd -a --long x
)
_CODE_SHARE: Final = 0.4
_LINES: Final = 80


def is_code(text: str) -> bool:
    """Whether most lines look like code.

    >>> is_code("int main() {\\n  return 0;\\n}"), is_code("It was; he said.\\nThen it ended.")
    (True, False)
    >>> is_code("* A lens;\\n* A lamp"), is_code("The keeper may\\nreturn at dawn.")
    (False, False)
    """
    lines = [line[:300] for line in text.split("\n", _LINES)[:_LINES] if line.strip()]
    if len(lines) < 2:
        return False
    if lines[0].lstrip().startswith("/*"):
        return True
    return sum(map(_is_code_line, lines)) > _CODE_SHARE * len(lines)


def _is_code_line(line: str) -> bool:
    if _ENTRY.search(line) is not None:
        return False
    is_word = _CODE_WORD.search(line) is not None and _PROSE_LINE.search(line) is None
    return is_word or _CODE_LINE.search(line) is not None


def is_shell(line: str) -> bool:
    """Whether a line is a shell command or program call, with or without a prompt.

    >>> is_shell("$ dpkg -i foo.deb"), is_shell("cd debhello-0.0"), is_shell("Make a copy first.")
    (True, True, False)
    """
    return _SHELL_LINE.search(line[:300]) is not None


# --- headings that say what a text is about -------------------------------------------------------
LONGEST: Final = 80
"""Characters; a longer heading is a sentence or a mistake."""

_NUMBER: Final = regex.compile(
    r"^(?:(?P<part>chapter|part|section|appendix|annex|book)\s+)?"
    r"(?P<number>(?-i:[A-Z]\.)?\d+(?:\.\d+)*|(?-i:[IVXL]+)(?=[.:)])|(?-i:[A-Z])(?=[.:)]))[.:)]*"
    r"(?:\s*[-–—]\s*|\s+|$)"
    r"|^第[\d一二三四五六七八九十百]+[章节回部篇][\s:：、.]*|^[一二三四五六七八九十]+[、.．]\s*",
    regex.IGNORECASE,
)
# Headings that any document may have, whatever its subject.
_ANY: Final = regex.compile(
    r"(?:table of )?contents|list of (?:figures|tables|examples|illustrations)|index|glossary"
    r"|bibliography|references|notes?|tips?|cautions?|warnings?|important|examples?|rationale"
    r"|copyright.*|.*\blicen[cs]es?\b.*|legal.*|colophon|dedication|foreword|preface|prologue"
    r"|epilogue|abstract|summary|introduction|overview|conclusions?|appendi(?:x|ces)|annex(?:es)?"
    r"|acknowledge?ments?|credits|about (?:the|this) .*|further reading|see also|external links"
    r"|revision history|change ?log|general|misc(?:ellaneous)?|other|others|purpose|contact"
    r"|chapter|part|section|page|title|untitled|home|menu|navigation"
    r"|\p{L}+ (?:the )?(?:\d+|[ivxl]+|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|first|second|third|fourth|fifth|sixth|last)"
    r"|目录|目次|索引|参考文献|参考资料|附录|前言|序言?|后记|致谢|引言|导言|简介|概述|摘要|总结|结论|结语|注释|外部链接|版权.*",
    regex.IGNORECASE,
)
# Headings about the document itself and its authors.
_FRONT: Final = regex.compile(
    r"(?:table of )?contents|list of .*|index|copyright.*|.*\blicen[cs]es?\b.*|legal.*|colophon"
    r"|dedication|acknowledge?ments|credits|bibliography|references|further reading|see also"
    r"|external links|revision history|change ?log|contact|about the authors?"
    r"|目录|目次|索引|参考文献|参考资料|致谢|外部链接|版权.*",
    regex.IGNORECASE,
)
_LETTERS: Final = regex.compile(r"\p{L}{3,}|\p{Han}{2,}")
_ROMAN: Final = regex.compile(r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})[.:,)]*")
# "Prop. IV. Theor. III.", "DEFIN. I."
_COUNTED: Final = regex.compile(r"(?:\p{Lu}\p{L}{1,6}\. (?:[IVXLC]+|\d+)\b[. ]*)+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. ``start`` is its offset in the text; ``depth`` its level, from its number if it
    has one.
    """

    title: str
    start: int
    end: int
    depth: int


_SMALL: Final = frozenset(
    "a an and as at but by for from in into nor of on or the to via with".split()
)


def bare(title: str) -> str:
    """Return the heading without number and punctuation.

    >>> bare("Chapter 3. The Root Filesystem"), bare("9.10. Backup"), bare("第二章 灯塔")
    ('The Root Filesystem', 'Backup', '灯塔')
    """
    heading: str = _NUMBER.sub("", title.strip().strip("#*_ "), count=1)
    return heading.strip(" .:：-–—")


def unshouted(title: str) -> str:
    """Return a title of several words in title case if it is all in capitals.

    >>> [unshouted(one) for one in ("MARLEY'S GHOST", "END OF THE LINE", "The FHS", "FHS")]
    ["Marley's Ghost", 'End of the Line', 'The FHS', 'FHS']
    >>> unshouted("WORLD WAR II")
    'World War II'
    """
    letters = [one for one in title if one.isalpha()]
    first, *words = title.split() or [""]
    if not words or not all(map(str.isupper, letters)):
        return title
    rest = (one.lower() if one.lower() in _SMALL else _in_title(one) for one in words)
    return " ".join([_in_title(first), *rest])


def _in_title(word: str) -> str:
    return word if _ROMAN.fullmatch(word) else word.capitalize()


def is_telling(title: str) -> bool:
    """Whether a heading says something about the text below it.

    >>> is_telling("The Root Filesystem"), is_telling("Table of Contents"), is_telling("4.7")
    (True, False, False)
    >>> is_telling("Prop. IV. Theor. III."), is_telling("The Reign of Henry IV.")
    (False, True)
    """
    heading = bare(title)
    if title[:1].islower():  # the second line of the previous heading
        return False
    return (
        len(heading) <= LONGEST
        and _LETTERS.search(heading) is not None
        and _ANY.fullmatch(heading) is None
        and _COUNTED.fullmatch(heading) is None
    )


def is_front(title: str) -> bool:
    """Whether the text below is about the document's making, not its subject.

    >>> is_front("Acknowledgements"), is_front("Preface")
    (True, False)
    """
    return _FRONT.fullmatch(bare(title)) is not None


def outline(
    rows: Sequence[tuple[int, str, int]], length: int, regions: Sequence[Region] = ()
) -> list[Heading]:
    """Return the headings of a text of that length, each up to the next of its depth or above.

    ``rows`` are ``[level, title, start]``, as in a document's version; headings in a menu, a table
    of contents or a licence are left out.
    """
    furniture = sorted((one.start, one.end) for one in regions if one.kind in FURNITURE)

    def is_furniture(start: int) -> bool:
        before = bisect_right(furniture, (start, length))
        return before > 0 and start < furniture[before - 1][1]

    read = [
        (title, start, _depth(level, title))
        for level, title, start in rows
        if not is_furniture(start)
    ]
    found: list[Heading] = []
    for number, (title, start, depth) in enumerate(read):
        ends = (after for _, after, other in read[number + 1 :] if other <= depth)
        found.append(Heading(title, start, next(ends, length), depth))
    return found


def main(headings: Sequence[Heading], most: int) -> list[Heading]:
    """Return the longest parts of the highest level that has more than one, in order.

    A repeated heading (*Note*, *Purpose*) says nothing.
    """
    often = Counter(bare(one.title).casefold() for one in headings)
    telling = [
        one for one in headings if is_telling(one.title) and often[bare(one.title).casefold()] == 1
    ]
    depths = Counter(one.depth for one in telling)
    at = next((depth for depth in sorted(depths) if depths[depth] > 1), None)
    chosen = telling if at is None else [one for one in telling if one.depth == at]
    longest = sorted(chosen, key=lambda one: one.start - one.end)[:most]
    return sorted(longest, key=lambda one: one.start)


def _depth(level: int, title: str) -> int:
    """A number shows the depth better than typography: *2.1.* is below *Chapter 2.*"""
    found = _NUMBER.match(title.strip())
    if found and found["number"] and "." in found["number"]:
        return max(level, str(found["number"]).count(".") + 1)
    return level
