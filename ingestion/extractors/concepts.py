"""Concepts: what a text without names is about.

A text on machine learning or on a procedure names no one; its compound nouns ("learning algorithm")
are then what links it to others. Where there are names, compounds are only noise, so they count
only in texts with hardly any names. Decided text by text, so that the reading order never matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ingestion.extractors.found import CONCEPT, FoundMention
from ingestion.extractors.mentions import mention

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

WORDS_PER_NAME: Final = 40
"""A text with more than one name per this many words gets no concepts."""
_MOST_WORDS: Final = 4
# Adjectives that do not turn a noun into a concept, and nouns that are none.
_EMPTY_WORDS: Final = (
    "same other many several such few new old main whole own certain different various general many"
    " first second third last next previous following above below good bad better best great large"
    " small big little long short high low full formal single particular important possible present"
    " closer real true nice hard entire total similar common available able"
)
_EMPTY: Final = frozenset(_EMPTY_WORDS.split())
_NO_CONCEPT: Final = frozenset(
    ["today", "tomorrow", "yesterday", "time", "times", "way", "ways", "thing", "things", "day"]
)


def concepts(text: str, doc: Doc, names: Sequence[FoundMention]) -> list[FoundMention]:
    """Compound nouns of a text with few names, in the order of the text."""
    if len(names) * WORDS_PER_NAME > len(doc):
        return []
    found = (
        mention(text, (span.start_char, span.end_char), CONCEPT, "noun") for span in _compounds(doc)
    )
    return [concept for concept in found if concept]


def _compounds(doc: Doc) -> Iterator[Span]:
    """Runs of nouns, with an optional leading adjective, that end in the noun they describe."""
    start: int | None = None
    for token in doc:
        fits = _fits(token)
        if start is None:
            start = token.i if fits else None
        elif not fits:
            yield from _trimmed(doc, start, token.i)
            start = None
    if start is not None:
        yield from _trimmed(doc, start, len(doc))


def _fits(token: Token) -> bool:
    if token.pos_ not in ("NOUN", "PROPN", "ADJ") or not token.is_alpha or len(token) < 3:
        return False
    return token.lower_ not in _EMPTY and token.lower_ not in _NO_CONCEPT


def _trimmed(doc: Doc, start: int, stop: int) -> Iterator[Span]:
    while stop > start and doc[stop - 1].pos_ == "ADJ":
        stop -= 1
    start = max(start, stop - _MOST_WORDS)
    nouns = sum(token.pos_ != "ADJ" for token in doc[start:stop])
    if nouns > 1 or (nouns and stop - start > 1):
        yield doc[start:stop]
