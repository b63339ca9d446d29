"""Parse bracketed text as labels of passages and records, in any of the usual forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex

GENERAL: Final = "G"
FOREIGN: Final = "?"
"""A reference in a scheme other than the one the model was given."""
MOST_IN_RANGE: Final = 20

_ITEM: Final = (
    r"(?:(?:passages?|sources?|chunks?|records?|段落|来源)\s*)?[#^]?"
    r"(?:(?P<general>g)(?![\p{L}\p{N}])"
    r"|(?P<letter>[efctsg])?\s?(?P<first>\p{Nd}{1,9})"
    r"(?:\s*[-–—]\s*[efcts]?(?P<last>\p{Nd}{1,9}))?)"
    r"(?:†[^,;\]】]*)?"
)
_BETWEEN: Final = r"(?:\s*(?:[,;、，；/&+|]|\band\b|\bund\b|\bet\b|和)\s*|\s+)"
_PLAIN_ITEM: Final = regex.sub(r"\?P<\w+>", "?:", _ITEM)
_LIST: Final = regex.compile(
    rf"\s*{_PLAIN_ITEM}(?:{_BETWEEN}{_PLAIN_ITEM})*(?:\s*,?\s*(?:\+\s*more|etc\.?|…))?\s*",
    regex.IGNORECASE,
)
_ONE: Final = regex.compile(_ITEM, regex.IGNORECASE)
_SETS: Final = {
    "report": "T",
    "entit": "E",
    "relation": "F",
    "claim": "C",
    "summar": "S",
    "source": "",
    "passage": "",
    "text unit": "",
}
_SET: Final = regex.compile(r"([\p{L} ]{3,30}?)\s*\(([^()]{0,160})\)", regex.IGNORECASE)
_SET_LIST: Final = regex.compile(
    r"\s*(?:data\s*:\s*)?(?:[\p{L} ]{3,30}\([\p{Nd}\s,;+a-z]{0,160}\)\s*[,;.]?\s*)+",
    regex.IGNORECASE,
)
_NUMBER: Final = regex.compile(r"\p{Nd}{1,9}")
_FOREIGN: Final = regex.compile(
    r"\s*(?:(?:doc(?:ument)?|ref(?:erence)?|citation|source|footnote|note|fn|r)\s*[#:]?\s*(?:needed|\p{Nd}{1,9})?"
    r"|data\s*:.*|[0-9a-f]{8}(?:[0-9a-f-]{0,28}))\s*",
    regex.IGNORECASE,
)
_WRAPPING: Final = str.maketrans("", "", "[]【】［］\\")


def labels_in(bracket: str) -> list[str] | None:
    """Return the labels between brackets, or None if this is not a reference.

    >>> labels_in("1, E2-3"), labels_in("Data: Reports (1, +more); Entities (5)"), labels_in("sic")
    (['1', 'E2', 'E3'], ['T1', 'E5'], None)
    """
    content = bracket.translate(_WRAPPING)
    if _LIST.fullmatch(content):
        return list(_items(content))
    if _SET_LIST.fullmatch(content):
        return list(_of_sets(content))
    return [FOREIGN] if _FOREIGN.fullmatch(content) else None


def kind_of(label: str) -> str:
    """Return the letter of a label, '' for a passage's."""
    return label[0] if label[0].isalpha() or label == FOREIGN else ""


def _items(content: str) -> Iterator[str]:
    for item in _ONE.finditer(content):
        if item["general"]:
            yield GENERAL
            continue
        letter, first = (item["letter"] or "").upper(), _whole(item["first"])
        last = _whole(item["last"]) if item["last"] else first
        numbers = range(first, last + 1) if first <= last < first + MOST_IN_RANGE else (first, last)
        yield from (f"{letter}{number}" for number in numbers)


def _of_sets(content: str) -> Iterator[str]:
    for name, numbers in _SET.findall(content):
        wanted = name.strip().lower()
        letter = next((found for begins, found in _SETS.items() if wanted.startswith(begins)), None)
        for number in _NUMBER.findall(numbers):
            yield FOREIGN if letter is None else f"{letter}{_whole(number)}"


def _whole(digits: str) -> int:
    """Return 0, which no label has, for digits of a newer Unicode than Python's: the pattern knows
    them."""
    return int(digits) if digits.isdecimal() else 0
