"""Recognises references to a page or a work: *[Op. Cit., p. 112]*, *Ibid.*"""

from __future__ import annotations

from typing import Final

import regex

_AGAIN: Final = r"(?i:(?:op|loc)\.?\s*cit|ibid(?:em)?)\b\.?"
_PAGE: Final = r"(?i:pp?|pg)\b\.?\s?(?:\d+|[ivxlc]+\b)(?:\s?[-–]\s?[\divxlc]+)?f{0,2}\.?"
_BRACKETED: Final = rf"\[[^\[\]]{{0,200}}?\b(?:{_AGAIN}|{_PAGE})\]"
_NAMES: Final = r"(?:(?i:see|cf)\b\.?\s+)?(?:\p{Lu}[\p{L}.'’-]*[,\s]+){0,5}"
_PAGES: Final = rf"(?:[,;\s]+(?:and\s+|&\s+)?(?:{_PAGE}|\d+))*"
_REFERENCE: Final = regex.compile(
    rf"\W*(?:{_BRACKETED}|[(\[]?{_NAMES}{_AGAIN}{_PAGES})[\W]*",
)
_AFTER_SENTENCE: Final = regex.compile(rf"\s+{_BRACKETED}(?=\s|$)")
_ABBREVIATION: Final = regex.compile(rf"{_AGAIN}|Op\.?|[Cc]it\.?")


def is_reference(text: str) -> bool:
    """Whether a text only refers to a page or a work.

    >>> [is_reference(one) for one in ("[Op. Cit., p. 112]", "Ibid., pp. 3-4.", "[Anarchy, p. 34]")]
    [True, True, True]
    >>> is_reference("Byock, Op. Cit., says it was lit."), is_reference("It is on p. 112.")
    (False, False)
    """
    return _REFERENCE.fullmatch(text) is not None


def end_of_reference(text: str, start: int) -> int:
    """Return the end of a reference in brackets right after a sentence's end, else ``start``."""
    found = _AFTER_SENTENCE.match(text, start, start + 300)
    return found.end() if found else start


def is_reference_word(surface: str) -> bool:
    """Whether a name is only an abbreviation of references.

    >>> is_reference_word("Op. Cit"), is_reference_word("Cit"), is_reference_word("Citadel")
    (True, True, False)
    """
    return _ABBREVIATION.fullmatch(surface) is not None
