"""Titles of works in quotation marks: “Me and Bobby McGee”."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import regex

from ingestion.extractors.found import BARE, CONCEPT, NAME, WORK, FoundMention
from ingestion.extractors.kinds import kind_of
from ingestion.extractors.mentions import mention

_QUOTED: Final = regex.compile(r"[“\"](?P<title>[^“”\"\n]{2,80})[”\"]")
_WORDS: Final = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’]*")
# A part of the document itself: see Section 5.20, “Library package”.
_PART: Final = regex.compile(
    r"(?:chapter|section|appendix|part|see)\s*[\d.A-Z]*\s*[,:]?\s*$", regex.IGNORECASE
)
_NUMBERED: Final = regex.compile(r"\d+(?:\.\d+)*\.?\s")
_CODED: Final = regex.compile(r"[=<>{}|\\_/]|:\s*\d")
_MOST_WORDS: Final = 9
_LITTLE: Final = frozenset(
    ["a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to"]
)


def quoted_titles(text: str, common: Collection[str] = ()) -> Iterator[FoundMention]:
    """Quotations written like titles: every word but the little ones capitalised, no full stop.

    What is quoted of ``common`` words, or of one word, is as often a term.
    """
    for match in _QUOTED.finditer(text):
        title = match.group("title").strip()
        if _is_title(title) and not _PART.search(text[max(0, match.start() - 20) : match.start()]):
            words = [word.lower() for word in _WORDS.findall(title)]
            is_telling = len(words) > 1 and (
                words[-1] not in common or kind_of(title, NAME) != NAME
            )
            kind, source = (WORK, "quote") if is_telling else (CONCEPT, BARE)
            found = mention(text, match.span("title"), kind, source)
            if found:
                yield found


def _is_title(title: str) -> bool:
    words = _WORDS.findall(title)
    if _CODED.search(title) or (title.isupper() and len(words) > 1) or _NUMBERED.match(title):
        return False
    if not 1 <= len(words) <= _MOST_WORDS or title[-1:] in ".,;":
        return False
    if len(words) == 1 and title[-1:] in "!?":
        return False
    return all(word[0].isupper() or word[0].isdigit() or word in _LITTLE for word in words) and (
        not words[0].islower()
    )
