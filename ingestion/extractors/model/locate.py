"""Find quotes and names of a model's answers in a text.

A quote is looked for verbatim, then with spelling folded, then approximately: models change
quotation marks, dashes and line breaks, drop markup, and correct what looks like a slip. They also
leave out words, with an ellipsis, and begin with words of their own (*The text says:*). The span
found is always the text's own words. A name is found in every place that spells it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from rapidfuzz import fuzz

from kb_project.text.sentences import trim
from kb_project.text.words import fold, is_unspaced

Span = tuple[int, int]

ALIKE: Final = 90.0
"""0 to 100, by edit distance: about one character in ten may differ."""
LONGEST_FUZZY: Final = 600
"""Characters of a quote that is matched approximately: the cost grows with both lengths."""
SHORTEST_FUZZY: Final = 12
"""Shorter quotes resemble something in any text."""

SHORTEST_PART: Final = 8
"""Characters of a part beside an ellipsis: a shorter one is found by chance."""
LONGEST_GAP: Final = 400
"""Characters that an ellipsis may stand for: more are no longer one statement."""

_DIGITS: Final = re.compile(r"\d+")
_ELLIPSIS: Final = re.compile(r"\s*[\[(]?(?:…|\.{3,}|……)[\])]?\s*")
_LEADING: Final = re.compile(
    r"(?:(?:the|this) (?:text|passage|document|article|author|source) (?:says|states|mentions|notes"
    r"|reports|explains)(?: that)?|according to (?:the|this) \w+)(?:\s*[:,]\s*|\s+)"
    r"|(?:quote|原文|文中(?:提到|说))\s*[:：,，]\s*",
    re.IGNORECASE,
)
_QUOTES: Final = frozenset("'\"“”„‟‘’‚‛«»‹›「」『』`´＂＇")
_DASHES: Final = frozenset("-‐‑‒–—―−﹣－")
# Emphasis marks, which models drop, and invisible characters.
_SILENT: Final = frozenset("*_\u00ad\u200b\u200c\u200d\u2060\ufeff")
_EDGES: Final = " '.,;:!?()[]-。，；：！？（）…"


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in its simplest spelling: ``text[i]`` came from ``original[places[i]]``."""

    original: str
    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> Span:
        """The original's span for a stretch of the folded text."""
        return self.places[start], self.places[end - 1] + 1


@lru_cache(maxsize=10_000)
def _plain(character: str) -> str:
    if character in _SILENT:
        return ""
    if character.isspace():
        return " "
    if character in _QUOTES:
        return "'"
    return "-" if character in _DASHES else fold(character)


@cache
def _ascii() -> dict[int, str]:
    return {number: _plain(chr(number)) for number in range(128)}


@lru_cache(maxsize=256)
def folded(text: str) -> Folded:
    """Kept, since a sentence and its names are looked at for each of their relationships.

    >>> folded("The  “Café”\\n*Noir*").text
    "the 'cafe' noir"
    """
    if text.isascii():
        # Most text is: one character maps to one, unless there are runs of white space.
        same = text.translate(_ascii())
        if len(same) == len(text) and "  " not in same and not same.startswith(" "):
            return Folded(text, same, range(len(text)))
    parts: list[str] = []
    places: list[int] = []
    last = " "
    for place, character in enumerate(text):
        plain = _plain(character)
        if not plain or (plain == last == " "):
            continue
        last = plain
        parts.append(plain)
        places += [place] * len(plain)
    return Folded(text, "".join(parts), tuple(places))


def locate(quote: str, text: Folded) -> Span | None:
    """The quote's span in the original text, or None if the text does not say it.

    >>> locate("keeps the 'Light'", folded("Ada keeps the “light”."))
    (4, 21)
    >>> locate("keeps the oil", folded("Ada keeps the light.")) is None
    True
    >>> locate("Ada Lind kept … in the winter", folded("Ada Lind kept the light in the winter."))
    (0, 37)
    """
    quote = quote.strip()
    found = _located(quote, text) or _in_parts(quote, text)
    if found is None and (leading := _LEADING.match(quote)):
        return locate(quote[leading.end() :], text)
    return found


def _in_parts(quote: str, text: Folded) -> Span | None:
    """The stretch from the first to the last of the parts that an ellipsis separates, all found in
    their order.
    """
    parts = [part for part in _ELLIPSIS.split(quote) if part]
    if len(parts) < 2 or min(map(len, parts)) < SHORTEST_PART:
        return None
    start, end = -1, 0
    for part in parts:
        found = _located(part, folded(text.original[end:]))
        if found is None or (start >= 0 and found[0] > LONGEST_GAP):
            return None
        start = start if start >= 0 else found[0]
        end += found[1]
    return start, end


def _located(quote: str, text: Folded) -> Span | None:
    if not any(character.isalnum() for character in quote):
        return None
    exact = text.original.find(quote)
    if exact >= 0:
        return exact, exact + len(quote)
    wanted = folded(quote).text.strip()
    for spelling in (wanted, wanted.strip(_EDGES)):
        place = text.text.find(spelling) if spelling else -1
        if place >= 0:
            return text.span(place, place + len(spelling))
    return _nearly(wanted.strip(_EDGES), text)


def _nearly(wanted: str, text: Folded) -> Span | None:
    """The stretch most like the quote, unless it differs in a number, which changes the meaning."""
    if not SHORTEST_FUZZY <= len(wanted) <= min(LONGEST_FUZZY, len(text.text)):
        return None
    found = _aligned(wanted, text, ALIKE)
    if found is None:
        return None
    start, end = found
    if _DIGITS.findall(wanted) != _DIGITS.findall(text.text[start:end]):
        return None
    return text.span(start, end)


def part_like(name: str, text: Folded, *, least: float) -> Span | None:
    """The stretch of a short text that is most like a name, in whole words."""
    wanted = folded(name).text.strip()
    if not wanted or len(wanted) > len(text.text):
        return None
    found = _aligned(wanted, text, least)
    return text.span(*found) if found else None


def _aligned(wanted: str, text: Folded, least: float) -> Span | None:
    """The most similar stretch of the folded text, in whole words."""
    found = fuzz.partial_ratio_alignment(wanted, text.text, score_cutoff=least)
    if found is None or found.dest_end <= found.dest_start:
        return None
    return whole_words(text.text, found.dest_start, found.dest_end)


def whole_words(text: str, start: int, end: int) -> Span:
    """Widen a stretch to whole words, without space at its ends.

    >>> whole_words("the lamp burns", 5, 8)
    (4, 8)
    """
    start, end = trim(text, start, end)
    while start and not is_border(text, start):
        start -= 1
    while end < len(text) and not is_border(text, end):
        end += 1
    return start, end


def is_border(text: str, place: int) -> bool:
    """Whether no word continues across ``place``; true anywhere in scripts without spaces."""
    if not 0 < place < len(text):
        return True
    before, after = text[place - 1], text[place]
    if not (before.isalnum() and after.isalnum()):
        return True
    return is_unspaced(before) or is_unspaced(after)


def occurrences(names: Iterable[str], text: Folded) -> dict[str, list[Span]]:
    """Spans in the original text of each name; the longest names first, none overlapping.

    Case and accents do not matter, except that a single capitalised word is not the common word
    spelt like it: for "May", "may" counts only if no "May" is found.
    """
    taken = bytearray(len(text.text))
    found: dict[str, list[Span]] = {}
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        places = _with_its_capitals(name, list(_places(name, text)), text)
        free = [(start, end) for start, end in places if not any(taken[start:end])]
        for start, end in free:
            taken[start:end] = b"\1" * (end - start)
        found[name] = [text.span(start, end) for start, end in free]
    return found


def occurs(name: str, text: Folded) -> bool:
    return next(_places(name, text), None) is not None


def _places(name: str, text: Folded) -> Iterator[Span]:
    """Stretches of the folded text that spell out the name as whole words."""
    wanted = folded(name).text.strip()
    place = text.text.find(wanted) if wanted else -1
    while place >= 0:
        end = place + len(wanted)
        if is_border(text.text, place) and is_border(text.text, end):
            yield place, end
        place = text.text.find(wanted, end)


def _with_its_capitals(name: str, places: list[Span], text: Folded) -> list[Span]:
    if " " in name or name == name.lower():
        return places
    is_acronym = len(name) > 1 and name.isupper()
    surfaces = ((place, text.original[slice(*text.span(*place))]) for place in places)
    same = [p for p, s in surfaces if (s == name if is_acronym else s[:1].isupper())]
    return same or places
