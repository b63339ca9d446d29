"""One key for all spellings of a name.

Two mentions with equal keys are one entity unless something else distinguishes them. The key drops
meaningless variation: accents, case, punctuation, a leading article, a trailing possessive, spaces
between initials. It keeps digits, ``+`` and ``#``, since GPT-3.5 is not GPT-35 and C# is not C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from kb_project.text.words import Word, words

LONGEST_NAME: Final = 12
"""Words in the longest run that is looked up as a name."""

# Not "a": without its full stop it looks like the initial in "A. Milne".
_ARTICLE: Final = "the"


@lru_cache(maxsize=20_000)
def normalise_name(name: str) -> str:
    """Return the key of a name; empty if the name has no letter and no digit.

    >>> normalise_name("The Café of J. R. R. Tolkien’s")
    'cafe of jrr tolkien'
    >>> normalise_name("查尔斯·狄更斯")
    '查尔斯狄更斯'
    """
    return name_key([word.folded for word in words(name)])


def name_key(folded: Sequence[str]) -> str:
    """Return the key of a run of folded words, as :func:`kb_project.text.words.words`
    yields them.
    """
    if not folded:
        return ""
    return _key([_plain(word) for word in folded[:-1]], _plain(_without_possessive(folded[-1])))


def name_runs(
    text_words: Sequence[Word], longest: int = LONGEST_NAME, starts: Iterable[int] | None = None
) -> Iterator[tuple[int, int, str]]:
    """Yield runs of up to ``longest`` words as ``(first, last + 1, key)``, longest first per start.

    ``starts`` are the words that runs may begin with; by default, all.
    """
    plain = [_plain(word.folded) for word in text_words]
    last = [_plain(_without_possessive(word.folded)) for word in text_words]
    count = len(text_words)
    for first in range(count) if starts is None else starts:
        for stop in range(min(count, first + longest), first, -1):
            key = _key(plain[first : stop - 1], last[stop - 1])
            if key:
                yield first, stop, key


def _key(before: list[str], last: str) -> str:
    parts = [*before, last] if last else before
    if any(len(part) == 1 for part in parts):
        parts = _join_initials(parts)
    if len(parts) > 1 and parts[0] == _ARTICLE:
        parts = parts[1:]
    key = " ".join(parts)
    return key if key.isascii() or len(parts) == 1 else _join_unspaced(parts)


def _plain(word: str) -> str:
    if "'" in word:
        word = word.replace("'", "")
    return word.replace(",", "") if "," in word else word


def _without_possessive(word: str) -> str:
    if word.endswith("'s"):
        return word[:-2]
    return word.removesuffix("'")


def _join_initials(parts: list[str]) -> list[str]:
    """Join initials: ``j r r tolkien`` becomes ``jrr tolkien``, ``u s army`` becomes
    ``us army``.
    """
    joined: list[str] = []
    initials = ""
    for part in parts:
        if len(part) == 1 and part.isascii() and part.isalpha():
            initials += part
            continue
        if initials:
            joined.append(initials)
            initials = ""
        joined.append(part)
    return [*joined, initials] if initials else joined


def _join_unspaced(parts: list[str]) -> str:
    """Join words with spaces, but not two runs of an unspaced script."""
    key = parts[0]
    for part in parts[1:]:
        glue = "" if _is_han_like(key[-1]) and _is_han_like(part[0]) else " "
        key += glue + part
    return key


def _is_han_like(character: str) -> bool:
    return "\u3040" <= character <= "\u30ff" or "\u3400" <= character <= "\u9fff"
