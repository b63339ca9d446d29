"""Finds a passage of one text in another version of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ingestion.changes.text_changes import paragraphs

LEAST_SHARED: Final = 0.5
"""Share of the words of two paragraphs; below it the passage counts as gone rather than changed."""
LONGEST_QUOTE: Final = 20_000
_WORD: Final = re.compile(r"\w+")

Span = tuple[int, int]


def nearest(earlier: str, span: Span, later: str) -> Span | None:
    """Find where ``later`` says what ``earlier`` says in ``span``; None if it no longer does.

    The same words, at the place nearest to the old one; else the paragraph that shares most words
    with the one around the span.

    >>> nearest("Ada rows.\\nBo sells oil.", (10, 22), "It blew.\\nBo sells much oil.")
    (9, 27)
    """
    start, end = span
    quote = earlier[start:end]
    if not quote.strip() or len(quote) > LONGEST_QUOTE:
        return None
    # The same relative position in the other text.
    expected = start * len(later) // max(len(earlier), 1)
    places = list(_places(later, quote))
    if places:
        found = min(places, key=lambda place: abs(place - expected))
        return found, found + len(quote)
    return _most_alike(_around(earlier, start), later, expected)


def _places(text: str, quote: str) -> Iterator[int]:
    found = text.find(quote)
    while found >= 0:
        yield found
        found = text.find(quote, found + 1)


def _around(text: str, offset: int) -> str:
    begin = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", max(offset, begin))
    return text[begin : len(text) if end < 0 else end]


def _most_alike(paragraph: str, text: str, expected: int) -> Span | None:
    words = _words(paragraph)
    if not words:
        return None
    best: tuple[float, int, Span] | None = None
    for one in paragraphs(text):
        others = _words(one.text)
        shared = len(words & others) / len(words | others) if others else 0.0
        span = (one.start, one.start + len(one.text))
        rated = (shared, -abs(span[0] - expected), span)
        if shared >= LEAST_SHARED and (best is None or rated > best):
            best = rated
    return best[2] if best else None


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
