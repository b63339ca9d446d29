"""One key for all spellings of a name.

Two mentions whose keys are equal are one entity unless something else tells them apart. The key
drops what writers vary without meaning anything by it: accents, case, punctuation, a leading
article, a trailing possessive, spaces between initials. It keeps digits, ``+`` and ``#``, since
GPT-3.5 is not GPT-35 and C# is not C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kb_project.text.words import Word, words

LONGEST_NAME: Final = 12
"""Words in the longest run that is looked up as a name."""

# Not "a": without its full stop it cannot be told from the initial in "A. Milne".
_ARTICLE: Final = "the"


def normalise_name(name: str) -> str:
    """The key of a name; empty when the name holds no letter and no digit.

    >>> normalise_name("The Café of J. R. R. Tolkien’s")
    'cafe of jrr tolkien'
    >>> normalise_name("查尔斯·狄更斯")
    '查尔斯狄更斯'
    """
    return name_key(word.folded for word in words(name))


def name_key(folded_words: Iterable[str]) -> str:
    """The key of a run of folded words, as :func:`kb_project.text.words.words` yields them."""
    plain = [word.replace(",", "") if word[0].isdigit() else word for word in folded_words]
    if not plain:
        return ""
    plain[-1] = _without_possessive(plain[-1])
    parts = _join_initials([word.replace("'", "") for word in plain])
    if len(parts) > 1 and parts[0] == _ARTICLE:
        parts = parts[1:]
    return _join(parts)


def name_runs(
    text_words: Sequence[Word], longest: int = LONGEST_NAME
) -> Iterator[tuple[int, int, str]]:
    """Runs of up to ``longest`` words as ``(first, last + 1, key)``, longest first per start."""
    count = len(text_words)
    for first in range(count):
        for stop in range(min(count, first + longest), first, -1):
            key = name_key(word.folded for word in text_words[first:stop])
            if key:
                yield first, stop, key


def _without_possessive(word: str) -> str:
    if word.endswith("'s"):
        return word[:-2]
    return word.removesuffix("'")


def _join_initials(parts: list[str]) -> list[str]:
    """``j r r tolkien`` becomes ``jrr tolkien``, ``u s army`` becomes ``us army``."""
    joined: list[str] = []
    initials: list[str] = []
    for part in [*parts, ""]:
        if len(part) == 1 and part.isascii() and part.isalpha():
            initials.append(part)
            continue
        if initials:
            joined.append("".join(initials))
            initials = []
        if part:
            joined.append(part)
    return joined


def _join(parts: list[str]) -> str:
    """A space between words, none between two runs of an unspaced script."""
    key = parts[0]
    for part in parts[1:]:
        glue = "" if _is_han_like(key[-1]) and _is_han_like(part[0]) else " "
        key += glue + part
    return key


def _is_han_like(character: str) -> bool:
    return "\u3040" <= character <= "\u30ff" or "\u3400" <= character <= "\u9fff"
