"""Index terms of a text for BM25, the same for documents and questions.

English words are stemmed (Snowball); identifiers are kept whole and also split, so that
``getWeightCol`` matches both itself and *weight*; Chinese, Japanese, Korean and Thai become
overlapping pairs of characters.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import regex
import Stemmer

from kb_project.text.words import fold, is_unspaced

LONGEST_TERM: Final = 64
"""Characters; a longer word is data (base64, a hash), not language, and is skipped."""

# Scripts whose runs are split into pairs; Hangul too, where words are long.
_PAIRED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}ー々\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_PIECE: Final = regex.compile(
    rf"(?V1)[{_PAIRED}]+"
    rf"|[[\p{{L}}\p{{M}}\p{{N}}_]--[{_PAIRED}]]+(?:['’][[\p{{L}}\p{{M}}]--[{_PAIRED}]]+)*"
)
# Most texts contain only characters for which the standard library's faster patterns are
# equivalent.
_PLAIN: Final = re.compile(r"[\x00-\u02ff\u2000-\u206f]*")
_PLAIN_PIECE: Final = re.compile(r"\w+(?:['’][^\W\d_²³¹¼½¾]+)*")
_HANGUL: Final = regex.compile(r"\p{Hangul}+")
_PARTS: Final = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{N}+")
_CONTRACTED: Final = regex.compile(r"(?:n['’]t|['’](?:s|t|ll|re|ve|d|m))$", regex.IGNORECASE)
_APOSTROPHE: Final = regex.compile("['’]")
_STOP_WORDS: Final = (
    "a an and are as at be been but by can could did do does for from had has have he her him "
    "his how i if in into is it its me my no nor not of on or our she so such than that the "
    "their them then there these they this those to too was we were what when where which who "
    "whom whose why will with would you your"
)
_STOP: Final = frozenset(_STOP_WORDS.split())


class _Stemmers(threading.local):
    """Stemmers for each thread: Snowball's are not thread-safe."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", maxCacheSize=20_000)


_stemmers = _Stemmers()


def terms(text: str) -> list[str]:
    """Return terms in text order, with repetitions: count them for term frequencies.

    >>> terms("The CafeWriter's stopped 42 parseHTTPHeader")
    ['cafewrit', 'cafe', 'writer', 'stop', '42', 'parsehttphead', 'pars', 'http', 'header']
    >>> terms("机器学习")
    ['机器', '器学', '学习']
    """
    pieces = (_PLAIN_PIECE if _PLAIN.fullmatch(text) else _PIECE).findall(text)
    found: list[str] = []
    for piece in pieces:
        found += _known_terms_of(piece) if len(piece) <= LONGEST_TERM else _terms_of(piece)
    return found


@lru_cache(maxsize=20_000)
def _known_terms_of(piece: str) -> tuple[str, ...]:
    """Return the cached terms of a word: the frequent words of a text stay in the cache."""
    if piece.isascii() and piece.islower() and piece.isalpha():
        return () if piece in _STOP else (_stemmers.english.stemWord(piece),)
    return tuple(_terms_of(piece))


def _terms_of(piece: str) -> Iterator[str]:
    if is_unspaced(piece) or _HANGUL.fullmatch(piece):
        yield from _pairs(fold(piece))
    elif len(piece) <= LONGEST_TERM:
        for word in _APOSTROPHE.split(_CONTRACTED.sub("", piece)):
            yield from _word_terms(word)


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for index in range(len(run) - 1):
        yield run[index : index + 2]


def _word_terms(word: str) -> Iterator[str]:
    """Yield the word itself and, for an identifier, its parts."""
    parts = _PARTS.findall(word)
    whole = fold(word.strip("_"))
    if not whole or (len(parts) < 2 and whole in _STOP):
        return
    stem = _stemmers.english.stemWord
    yield stem(whole)
    if len(parts) > 1:
        lowered = (fold(part) for part in parts)
        # A single letter says nothing.
        kept = (part for part in lowered if len(part) > 1 or part.isdigit())
        yield from (stem(part) for part in kept if part not in _STOP)
