"""Titles of works in quotation marks: “Me and Bobby McGee”."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex

from ingestion.extractors.found import WORK, FoundMention
from ingestion.extractors.mentions import mention

_QUOTED: Final = regex.compile(r"[“\"](?P<title>[^“”\"\n]{2,80})[”\"]")
_WORDS: Final = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’]*")
_MOST_WORDS: Final = 9
_LITTLE: Final = frozenset(
    ["a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to"]
)


def quoted_titles(text: str) -> Iterator[FoundMention]:
    """Quotations written like titles: every word but the little ones capitalised, no full stop."""
    for match in _QUOTED.finditer(text):
        title = match.group("title").strip()
        if _is_title(title):
            found = mention(text, match.span("title"), WORK, "quote")
            if found:
                yield found


def _is_title(title: str) -> bool:
    words = _WORDS.findall(title)
    if not 1 <= len(words) <= _MOST_WORDS or title[-1:] in ".,;":
        return False
    if len(words) == 1 and title[-1:] in "!?":
        return False
    return all(word[0].isupper() or word[0].isdigit() or word in _LITTLE for word in words) and (
        not words[0].islower()
    )
