"""Common English words: a name of nothing else is a label or a term, whatever a recogniser says.

*Primary Key* and *Page Down* are no people, *Shares* is no place. A document's own lower-case words
say so only if it is long. The vocabulary that tokens are counted with numbers its tokens by how
often they stood in texts of the web: a common word is one of them, and comes well before its
capitalised form, if that is one, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from kb_project.llm.tokens import number_of

BEFORE: Final = 0.6
"""Of 8,100 words of encyclopaedia articles that are mostly in lower case, 78 % are common by this,
and of 2,000 that are mostly capitalised, 3 %: *Index*, *Max*."""
FAR_BEFORE: Final = 0.4
"""The same for words that may be given names: *Bill* and *Mark* are more often than *Shares*."""
RARE: Final = 70_000
"""Rarer tokens are often beginnings of words: *tern* is that of *ternary*."""
REMEMBERED: Final = 50_000


def are_common(words: Iterable[str], common: Collection[str] = ()) -> bool:
    """Whether all words, in lower case, are ``common`` in the text or in English.

    >>> are_common(["primary", "key"]), are_common(["peter", "key"]), are_common([])
    (True, False, False)
    """
    words = list(words)
    return bool(words) and all(word in common or is_common(word) for word in words)


@lru_cache(maxsize=REMEMBERED)
def is_common(word: str, before: float = BEFORE) -> bool:
    number, as_name = number_of(f" {word}"), number_of(f" {word.capitalize()}")
    if number is None:
        return False
    return number < RARE if as_name is None else number < before * as_name
