"""Finds sentence boundaries by rules, in one pass.

Good enough for quoting and for choosing answers, in any language that ends sentences with ``. ! ?
…`` or their Chinese and Japanese forms. A blank line, a heading, a list item, a table row and a
line of code end a sentence too; a plain line break does not, since much plain text is wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex

LONGEST_SENTENCE: Final = 1_500
"""Characters. Longer stretches without a full stop (tables, data, one 5 MB line) are cut."""

Span = tuple[int, int]

_CLOSING: Final = "\"'”’»)\\]」』）】》"
_BOUNDARY: Final = regex.compile(
    rf"""
      (?P<wide>[。！？；｡]+|…{{2,}})[{_CLOSING}。！？]*
    | (?P<mark>[.!?…]+)[{_CLOSING}]*(?=\s|$)
    | (?P<blank>\n[^\S\n]*\n)
    | (?<=[;{{}}|])[^\S\n]*(?P<code>\n)
    | (?P<line>\n)(?=[^\S\n]*(?:[-*•‣–]\s|\d{{1,3}}[.)]\s|[#|>]|```|//|/\*))
    """,
    regex.VERBOSE,
)


def _listed(listing: str) -> frozenset[str]:
    return frozenset(listing.split())


# These never end a sentence.
_TITLES: Final = _listed(
    "mr mrs ms mm mme mlle dr prof st ste mt ft rev hon sen rep gov gen col capt lt sgt maj "
    "cmdr adm pres messrs fr vs viz cf fig figs eq eqs sec ch vol pp ed eds e.g i.e eg ie ca "
    "approx resp bzw z.b d.h"
)
# These end a sentence only before a word that usually begins one.
_SHORTENED: Final = _listed(
    "inc ltd co corp llc bros dept univ assn est jr sr esq etc al a.m p.m a.d b.c ph.d m.d "
    "b.a m.a jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave "
    "blvd rd u.s u.k u.n e.u u.s.a d.c"
)
# Abbreviations only before a number: "No. 5", but "The answer is no."
_BEFORE_NUMBER: Final = frozenset({"no", "nos", "nr", "art", "p", "par", "op", "n"})
_STARTERS: Final = _listed(
    "The A An He She It They We You I In On At By For From This That These Those There His "
    "Her Its Their But And However After Before When While As If Since Although Later Then "
    "Both One"
)
_LAST_WORD: Final = regex.compile(r"[\p{L}\p{M}.]{1,12}$")
_NEXT_WORD: Final = regex.compile(r"\s*[\"'“‘«(\[]*([\p{L}\p{N}]+)?")


def sentence_spans(text: str) -> list[Span]:
    """Return spans without surrounding whitespace, in order, none overlapping or empty.

    >>> text = "Dr. Who left at 3.15 p.m. on Monday. “Why?” asked J. Smith. 他走了。为什么？"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Who left at 3.15 p.m. on Monday.', '“Why?” asked J. Smith.', '他走了。', '为什么？']
    """
    spans: list[Span] = []
    start = 0
    for end in _ends(text):
        spans.extend(_pieces(text, start, end))
        start = end
    return spans


def _ends(text: str) -> Iterator[int]:
    for match in _BOUNDARY.finditer(text):
        if match.lastgroup != "mark" or _really_ends(text, match):
            yield match.end()
    yield len(text)


def _really_ends(text: str, match: regex.Match[str]) -> bool:
    """Whether this ``.``, ``!`` or ``?`` ends a sentence, not an abbreviation."""
    following = _NEXT_WORD.match(text, match.end(), match.end() + 40)
    word = (following.group(1) or "") if following else ""
    if word[:1].islower():
        return False
    if match.group("mark") != ".":
        return True
    before = _LAST_WORD.search(text, max(0, match.start() - 14), match.start())
    return before is None or _may_end(before.group(), word)


def _may_end(before: str, word: str) -> bool:
    """Whether a sentence may end after ``before.`` when ``word`` follows."""
    lowered = before.lower()
    if lowered in _TITLES:
        return False
    if lowered in _BEFORE_NUMBER and word[:1].isdigit():
        return False
    is_initial = len(before) == 1 and before.isupper()
    if lowered in _SHORTENED or is_initial or "." in before.rstrip("."):
        return not word or word in _STARTERS
    return True


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the span trimmed of whitespace, cut if it is too long to quote."""
    while end - start > LONGEST_SENTENCE:
        cut = _cut(text, start)
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, end)


def _cut(text: str, start: int) -> int:
    """Return a cut after the last line break in the second half of the longest piece, else the last
    space, else mid-word.
    """
    stop, half = start + LONGEST_SENTENCE, start + LONGEST_SENTENCE // 2
    for separator in ("\n", " "):
        found = text.rfind(separator, half, stop)
        if found != -1:
            return found + 1
    return stop


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
