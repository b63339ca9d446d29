"""Splits a text into words with their offsets, folded for comparison.

Names and index terms share this tokeniser, so that a name found in a document is also found in a
question. ``counted`` puts numbers of things into words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

import regex

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
