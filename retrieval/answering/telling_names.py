"""Which names a question can be made of by template, so that it reads as one a person would ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import regex

LEAST: Final = 3
"""Letters of a name; fewer are somebody's initials, except where a letter is a word."""
LIKE: Final = 4
"""Letters that two words begin with if one is short for the other, as Gordie is for Gordon."""
_HAN: Final = regex.compile(r"\p{Han}")
_LETTERS: Final = regex.compile(r"\p{L}")
_WORD: Final = regex.compile(r"\w+")


def telling(names: Iterable[str]) -> set[str]:
    """Those of the names that tell by themselves what is meant.

    Neither initials, nor what is left of a longer name: beside "Merrow Sound Trust" nobody asks
    about "Trust".

    >>> sorted(telling(["Merrow Sound Trust", "Trust", "MO", "Ada", "杭州"]))
    ['Ada', 'Merrow Sound Trust', '杭州']
    """
    known = set(names)
    return {
        name
        for name in known
        if (_HAN.search(name) or len(_LETTERS.findall(name)) >= LEAST)
        and not any(_is_rest_of(name, other) for other in known)
    }


def are_alike(one: str, other: str) -> bool:
    """Whether two names are probably of one thing, so that how they are linked is no question.

    >>> are_alike("Gordon Rennie", "Gordie"), are_alike("Great Lens", "Skarrow Light")
    (True, False)
    """
    shorter, longer = sorted((one.lower(), other.lower()), key=len)
    if shorter in longer:
        return True
    words, others = _WORD.findall(shorter), _WORD.findall(longer)
    return len(words) == 1 and any(
        len(word) > LIKE and word[:LIKE] == words[0][:LIKE] for word in others
    )


def _is_rest_of(name: str, other: str) -> bool:
    """Whether it is the last words of a longer name."""
    return name != other and other.lower().endswith(" " + name.lower())
