"""Splits a text into words with their offsets, and into index terms for BM25.

Names and index terms share this tokeniser, so that a name found in a document is also found in a
question. ``counted`` puts numbers of things into words.

English words are stemmed (Snowball); identifiers are kept whole and also split, so that
``getWeightCol`` matches both itself and *weight*; Chinese, Japanese, Korean and Thai become
overlapping pairs of characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple, cast

import regex
import Stemmer


def lazy_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the pattern as ``regex.compile`` does, compiled when it is first used.

    For patterns of many alternatives: together, they took a sixth of the start of every process,
    most of which never use them.
    """
    return cast("regex.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyPattern:
    """Keeps what is asked of it, which then costs little more than of the pattern itself."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._compiled = cache(partial(regex.compile, pattern, flags))

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(self._compiled(), name)
        return value


# --- words ----------------------------------------------------------------------------------------
# Scripts written without spaces between words: a run of them counts as one word here.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD: Final = regex.compile(
    rf"""(?V1)
    (?P<run>[{_UNSPACED}]+)
    | [[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+
      (?: ['’ʼ＇][[\p{{L}}]--[{_UNSPACED}]]+    # don't, O'Brien, Scrooge's
        | (?<=\d)[.,](?=\d)\d+                  # 3.5 and 1,000 stay whole
      )*
      (?:\+\+?|\#)?(?![\p{{L}}\p{{N}}])         # C++, C#
    | [[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+
    """,
    regex.VERBOSE,
)
# Letters that Unicode does not decompose into a base letter and an accent.
_LETTERS: Final = str.maketrans(
    {
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
        "ħ": "h", "æ": "ae", "œ": "oe", "ŋ": "n", "ŧ": "t",
    }
)  # fmt: skip
# Only accents of alphabets: Japanese voicing marks and Indic vowel signs carry meaning.
_ACCENTS: Final = regex.compile(r"[\u0300-\u036f]+")


class Word(NamedTuple):
    """A word: ``text[start:end]`` and its folded form."""

    start: int
    end: int
    folded: str


def fold(text: str) -> str:
    """Convert to lower case without accents, with compatibility forms (full width, ligatures)
    normalised.

    >>> fold("Ærø Ｃａｆé ŁÓDŹ")
    'aero cafe lodz'
    """
    if text.isascii():
        return text.lower()
    # Fold again: ℂ and ℃ have case only after normalisation.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", decomposed))
    return unicodedata.normalize("NFC", plain).translate(_LETTERS)


def one_line(text: str) -> str:
    """Return the text on one line, without NUL, which Postgres cannot store.

    >>> one_line(" Ada\\n\\0 keeps  it. ")
    'Ada keeps it.'
    """
    return " ".join(text.replace("\0", "").split())


def words(text: str) -> Iterator[Word]:
    """Yield every word in order; offsets refer to ``text`` as given.

    >>> [word.folded for word in words("O’Brien's C++ in 东京, v3.5")]
    ["o'brien's", 'c++', 'in', '东京', 'v3.5']
    """
    for match in _WORD.finditer(text):
        start, end = match.span()
        folded = fold(match.group()).replace("’", "'").replace("ʼ", "'")
        if folded:  # a lone accent folds to nothing
            yield Word(start, end, folded)


def is_unspaced(word: str) -> bool:
    """Whether the word is a run of a script without spaces (Chinese, Japanese, Thai, …)."""
    return bool(_UNSPACED_RUN.fullmatch(word))


_UNSPACED_RUN: Final = regex.compile(rf"[{_UNSPACED}]+")


def counted(number: int, one: str, many: str = "") -> str:
    """Format a count; ``many`` is the plural if it is not ``one`` with an s.

    >>> counted(1, "fact"), counted(1200, "fact"), counted(2, "entity", "entities")
    ('1 fact', '1,200 facts', '2 entities')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> listed(["Ada", "Bram", "Cora"])
    'Ada, Bram and Cora'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


# --- index terms ----------------------------------------------------------------------------------
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
