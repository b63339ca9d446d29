"""Find what is legal in a document's text and not its subject: notices, and whole licences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import regex

from ingestion.parsers.document import Heading
from kb_project.text.regions import Region, RegionKind

MOST_LEGAL: Final = 0.3
"""Share of a text above which licences are its subject."""
LONGEST_NOTICE: Final = 20_000
"""Characters of a paragraph that may be a notice."""
SPEAKS_OF_ITSELF: Final = 5
"""Times that a licence's whole text says *this License*; a chapter about it seldom does."""

_BLANK_LINES: Final = regex.compile(r"\n\s*\n")
_GUTENBERG: Final = regex.compile(
    r"^[^\S\n]*\*{2,3}\s*(?P<which>start|end) of (?:the|this) project gutenberg[^\n]*",
    regex.I | regex.M,
)
# Notices are often wrapped by hand: any white space matches a space.
_LEGAL: Final = regex.compile(
    r"""
      \bpermission\ (?:is|to\ \w+|has\ been)\ (?:hereby\ )?granted\b
    | \bpermission\ to\ use,\ copy,\ modify\b
    | \bredistributions?\ and\ use\ in\ source\b | \bredistributions\ (?:of|in)\ (?:source|binary)\b
    | \bwithout\ (?:even\ the\ implied\ )?warrant(?:y|ies)\b | \bimplied\ warrant(?:y|ies)\b
    | \bprovided\ (?:["“]as\ is["”]|["“]AS-IS["”])
    | \bthis\ (?:\w+\ ){0,3}
      (?:e-?book|document|book|work|program|software|file|package|text|article|page|manual|guide)
      \s(?:may\ be|is|are|can\ be)\ (?:\w+\ ){0,2}
      (?:redistributed|distributed\ under|licen[sc]ed|free\ software|for\ the\ use\ of\ anyone
        |copyrighted)
    | ^\W*(?:portions\ )?(?:copyright\b|©|\(c\)\ ?\d{4})
    | \bcopyright\ (?:©|\(c\))\ \d{4}
    | \ball\ rights\ reserved\b | \bno\ part\ of\ this\ (?:publication|book)\ may\ be\b
    | \ball\ trademarks\ and\ copyrights\b
    | \byou\ may\ (?:copy\ it,\ give\ it\ away|redistribute\ (?:it|this|and/or))
    | \bthis\ permission\ notice\b
    | \byou\ should\ have\ received\ a\ copy\ of\ the\s[^.]{0,60}licen[sc]e\b
    | \bgnu\ (?:general|free|lesser)\ (?:\w+\ )?(?:public|documentation)\ license,?
      \ (?:as\ published|version\ \d)
    | \bproject\ gutenberg(?:-tm|™|\(tm\))?
      \ (?:licen[sc]e|literary\ archive|electronic\ works?|ebooks?\b)
    | \blimited\ right\ of\ replacement\ or\ refund\b
    | 版权所有|版權所有|未经许可|未經許可|保留所有权利
    """.replace("\\ ", r"\s+"),
    regex.VERBOSE | regex.IGNORECASE | regex.MULTILINE,
)
_ITSELF: Final = regex.compile(r"\bthis\s+licen[sc]e\b", regex.IGNORECASE)
_NAME: Final = regex.compile(
    r"\bgnu (?:\w+ )*licen[sc]e\b|\bcreative commons\b"
    r"|\b(?:apache|mit|bsd|mozilla public|eclipse public|artistic) licen[sc]e\b",
    regex.IGNORECASE,
)


def notices(text: str) -> list[Region]:
    """Permission notices, disclaimers, copyright lines, and Project Gutenberg's own passages."""
    found: list[Region] = []
    first, last = 0, len(text)
    for mark in _GUTENBERG.finditer(text):
        if mark["which"].lower() == "start" and not found:
            first = mark.end()
            found.append(Region(RegionKind.LEGAL, 0, first))
        elif mark["which"].lower() == "end":
            last = mark.start()
            found.append(Region(RegionKind.LEGAL, last, len(text)))
            break
    legal = [
        Region(RegionKind.LEGAL, start, end)
        for start, end in paragraphs(text, first, last)
        if end - start <= LONGEST_NOTICE and _LEGAL.search(text, start, end)
    ]
    return found + _unless_most(legal, last - first)


def licences(text: str, headings: Sequence[Heading]) -> list[Region]:
    """What stands below the name of a licence, if that is its text."""
    found = []
    for place, one in enumerate(headings):
        if _NAME.search(one.title):
            later = (other.start for other in headings[place + 1 :] if other.level <= one.level)
            start, end = one.start + len(one.title), next(later, len(text))
            if len(_ITSELF.findall(text, start, end)) >= SPEAKS_OF_ITSELF:
                found.append(Region(RegionKind.LEGAL, start, end))
    return _unless_most(found, len(text))


def _unless_most(found: list[Region], length: int) -> list[Region]:
    return found if sum(one.end - one.start for one in found) <= MOST_LEGAL * length else []


def paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches between blank lines."""
    for match in _BLANK_LINES.finditer(text, start, end):
        if start < match.start():
            yield start, match.start()
        start = match.end()
    if start < end:
        yield start, end
