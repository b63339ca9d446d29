"""Locate an answer's sentence in a passage: its quoted words, else the sentences most like it.
Offsets are those of the document's text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex

from kb_project.text.scripts import HAN
from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms
from retrieval.search.hits import Hit

Span = tuple[int, int]

SHORTEST_QUOTE: Final = 12
"""Characters, without spaces, of the shortest quotation to look for; half as many in Han script."""
ADDS: Final = 0.25
"""Share of the sentence that a second sentence of the passage must add to be cited as well."""
MOSTLY: Final = 0.6
MOST_SPANS: Final = 3
LOWEST: Final = 0.1
"""Share of the sentence below which terms do not show where it comes from."""

_QUOTED: Final = regex.compile(
    r"\"([^\"\n]{4,400})\"|“([^”\n]{4,400})”|„([^“”\n]{4,400})[“”]|«([^»\n]{4,400})»"
    r"|「([^」\n]{3,400})」|『([^』\n]{3,400})』|‘([^’\n]{12,400})’"
)
_TOKEN: Final = regex.compile(r"\p{Han}|[\p{L}\p{M}]+|\p{N}+")


@dataclass(frozen=True, slots=True)
class Located:
    """Where a sentence was found. ``share``, from 0 to 1, is how much of it the spans hold;
    ``is_quote`` if it is mostly the passage's own words."""

    spans: tuple[Span, ...]
    share: float
    is_quote: bool = False


def locate(sentence: str, hit: Hit, likeness: Callable[[str], float] | None = None) -> Located:
    """Locate a sentence: never the whole passage if a sentence of it will do, and never nothing.

    ``likeness`` compares a passage's sentence with this one if they share no words.
    """
    sentence = " ".join(sentence.split())
    quotes = [span for words in quoted(sentence) if (span := find(words, hit.text))]
    if quotes:
        is_all = sum(end - start for start, end in quotes) >= MOSTLY * len(sentence)
        return _placed(hit, Located(tuple(sorted(set(quotes))[:MOST_SPANS]), 1.0, is_all))
    whole = find(sentence, hit.text)
    if whole:
        start, end = around(hit.text, whole)
        # Part of a sentence may state what the whole of it denies.
        is_all = whole[1] - whole[0] >= MOSTLY * (end - start)
        return _placed(hit, Located(((start, end),), 1.0, is_all))
    return _placed(hit, _most_alike(sentence, hit.text, likeness))


def quoted(sentence: str) -> list[str]:
    """
    >>> quoted('He wrote "the light was mine alone" and left.')
    ['the light was mine alone']
    """
    found = (next(part for part in match.groups() if part) for match in _QUOTED.finditer(sentence))
    return [words for words in found if _is_long(words)]


def find(words: str, text: str) -> Span | None:
    """Find the words in sequence, ignoring spaces, case and punctuation between them."""
    wanted = [token.group().casefold() for token in _TOKEN.finditer(words)]
    if not wanted or not _is_long(words):
        return None
    tokens, places = _tokens(text)
    size = len(wanted)
    for index in range(len(tokens) - size + 1):
        if tokens[index] == wanted[0] and tokens[index : index + size] == wanted:
            end = places[index + size - 1][1]
            ends_sentence = text[end : end + 1] in tuple(".!?。！？")
            return places[index][0], end + 1 if ends_sentence else end
    return None


def weights_of(sentence: str, among: Sequence[Collection[str]]) -> dict[str, float]:
    """Weigh the sentence's terms: rarer ones more, numbers twice; the weights sum to one."""
    counts = Counter(term for one in among for term in set(one))
    total = len(among)
    rarity = {
        term: math.log(1 + (total - counts[term] + 0.5) / (counts[term] + 0.5)) + 0.1
        for term in dict.fromkeys(terms(sentence))
    }
    weighed = {term: value * (2 if term.isdigit() else 1) for term, value in rarity.items()}
    whole = sum(weighed.values())
    return {term: value / whole for term, value in weighed.items()} if whole else {}


def share(weights: Mapping[str, float], found: Collection[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in found)


def units(text: str) -> list[tuple[Span, frozenset[str]]]:
    """Return the passage's sentences with their terms."""
    return list(_units(text))


@lru_cache(maxsize=256)
def _units(text: str) -> tuple[tuple[Span, frozenset[str]], ...]:
    return tuple(
        ((start, end), frozenset(terms(text[start:end]))) for start, end in sentence_spans(text)
    )


@lru_cache(maxsize=64)
def _tokens(text: str) -> tuple[list[str], list[Span]]:
    matches = list(_TOKEN.finditer(text))
    return [match.group().casefold() for match in matches], [match.span() for match in matches]


def _most_alike(sentence: str, text: str, likeness: Callable[[str], float] | None) -> Located:
    found = units(text)
    if not found:
        return Located(((0, len(text)),), 0.0)
    weights = weights_of(sentence, [own for _, own in found])
    chosen: list[Span] = []
    covered: frozenset[str] = frozenset()
    while len(chosen) < MOST_SPANS:
        adds, span, own = max(
            ((share(weights, own - covered), span, own) for span, own in found),
            key=lambda one: (one[0], -one[1][0]),
        )
        if chosen and adds < ADDS:
            break
        if not chosen and adds < LOWEST and likeness:
            return Located(
                (max((one for one, _ in found), key=lambda s: likeness(text[slice(*s)])),), 0.0
            )
        chosen.append(span)
        covered |= own
    return Located(tuple(sorted(set(chosen))), share(weights, covered))


def around(text: str, span: Span) -> Span:
    """Widen the span to whole sentences of the passage."""
    touched = [own for own, _ in units(text) if own[0] < span[1] and span[0] < own[1]]
    return (touched[0][0], touched[-1][1]) if touched else span


def _placed(hit: Hit, found: Located) -> Located:
    spans = tuple((hit.start + start, hit.start + end) for start, end in found.spans)
    return Located(spans, found.share, found.is_quote)


def _is_long(words: str) -> bool:
    length = len("".join(words.split()))
    return length >= (SHORTEST_QUOTE // 2 if HAN.search(words) else SHORTEST_QUOTE)
