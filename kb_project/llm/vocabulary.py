"""Common English words, and those that a text has more often than English does.

A name of nothing but common words is a label or a term, whatever a recogniser says.

*Primary Key* and *Page Down* are no people, *Shares* is no place. A document's own lower-case words
say so only if it is long. The vocabulary that tokens are counted with numbers its tokens by how
often they stood in texts of the web: a common word is one of them, and comes well before its
capitalised form, if that is one, too.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

import regex

from kb_project.llm.tokens import number_of
from kb_project.text.words import terms

BEFORE: Final = 0.6
"""Of 8,100 words of encyclopaedia articles that are mostly in lower case, 78 % are common by this,
and of 2,000 that are mostly capitalised, 3 %: *Index*, *Max*."""
FAR_BEFORE: Final = 0.4
"""The same for words that may be given names: *Bill* and *Mark* are more often than *Shares*."""
RARE: Final = 70_000
"""Rarer tokens are often beginnings of words: *tern* is that of *ternary*."""
REMEMBERED: Final = 50_000
USUAL: Final = 1_500
"""More frequent words, such as *use* and *number*, say nothing of a text."""
FEWEST: Final = 4
"""Times that a text has each of its key words."""
AS_NOUN: Final = 0.15
"""The least share of a key word's places that only a noun takes, by the words around it."""
ZIPF: Final = 12
"""A word's frequency in English is about one in its rank times this, for 100,000 words."""

_TOKEN: Final = regex.compile(r"[\w./\\<>@='’-]*\w|[.,;:)?!]")
_WORD: Final = regex.compile(r"\p{Latin}{3,}")
_BEFORE: Final = frozenset(
    "the a an this that these those each every any no other some many all your its his her their"
    " our my of in for with by from on into between".split()
)
_AFTER: Final = frozenset(
    ". , ; : ) ? ! of in is are was were to and or for with on at by from as can will may must"
    " should has have be that which who when if into than".split()
)
"""What stands before a noun, perhaps with a word in between, and what stands after it."""
_NO_NOUN: Final = regex.compile(r"\p{L}{4,}ed$|\p{L}+sel(?:f|ves)$|(?:again|must|own)$")


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


def key_words(text: str, most: int) -> list[str]:
    """Return the nouns that set an English text apart, the most telling first.

    Each counts as often as it stands there, times the logarithm of how much more often that is
    than in English (a word's part of the Kullback-Leibler divergence of the two). Names are left
    out.

    >>> said = "The rotator turns. A rotator is slow. Use this rotator, or another rotator."
    >>> key_words(said, 3)
    ['rotator']
    """
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    nouns, capitals, number = Counter[str](), Counter[str](), 0
    tokens = ["", "", *_TOKEN.findall(text), ""]
    for place, token in enumerate(tokens[2:-1], start=2):
        if not _WORD.fullmatch(token):
            continue
        number += 1
        before = {one.lower() for one in tokens[place - 2 : place]}
        is_noun = tokens[place + 1].lower() in _AFTER and not _BEFORE.isdisjoint(before)
        for term in terms(token):
            forms[term][token.lower()] += 1
            nouns[term] += is_noun
            capitals[term] += token[0].isupper()
    worth: dict[str, float] = {}
    for term, spelt in forms.items():
        often, [(word, _)] = spelt.total(), spelt.most_common(1)
        rank = min(filter(None, (number_of(f" {one}") for one in spelt)), default=RARE)
        is_name = capitals[term] * 2 > often and not is_common(word)
        is_noun = nouns[term] >= AS_NOUN * often and not _NO_NOUN.match(word)
        if often >= FEWEST and rank > USUAL and is_noun and not is_name:
            worth[word] = often * math.log(often / number * rank * ZIPF)
    return sorted(worth, key=lambda word: -worth[word])[:most]
