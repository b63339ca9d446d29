"""Finds the headings that say what a text is about, without their numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kb_project.text.regions import FURNITURE, Region

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


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. ``start`` is its offset in the text; ``depth`` its level, from its number if it
    has one.
    """

    title: str
    start: int
    end: int
    depth: int


def bare(title: str) -> str:
    """Return the heading without number and punctuation.

    >>> bare("Chapter 3. The Root Filesystem"), bare("9.10. Backup"), bare("第二章 灯塔")
    ('The Root Filesystem', 'Backup', '灯塔')
    """
    heading: str = _NUMBER.sub("", title.strip().strip("#*_ "), count=1)
    return heading.strip(" .:：-–—")


def is_telling(title: str) -> bool:
    """Whether a heading says something about the text below it.

    >>> is_telling("The Root Filesystem"), is_telling("Table of Contents"), is_telling("4.7")
    (True, False, False)
    """
    heading = bare(title)
    if title[:1].islower():  # the second line of the previous heading
        return False
    return (
        len(heading) <= LONGEST
        and _LETTERS.search(heading) is not None
        and _ANY.fullmatch(heading) is None
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
