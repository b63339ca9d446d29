"""Features: what speaks for a statement as the answer to a question, in numbers.

Words and vectors each know half: BM25 and how much of the question is covered (rarity is the
workspace's own), the cosine of the sentence and of the heading it stands under, the rank of its
passage, whether it has the kind of thing asked for, and the names it shares. How much each counts
is fitted (``ranking``), never guessed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from kb_project.text.statements import StatementKind
from kb_project.text.terms import terms
from retrieval.answering.candidates import Candidate
from retrieval.search.sentences import Cosines, Place
from retrieval.search.sought import Kind, Sought, named_kinds

NAMES: Final = (
    "meaning",
    "words",
    "covers",
    "covers_around",
    "rank",
    "has_kind",
    "lacks_kind",
    "names",
    "heading_covers",
    "first",
    "length",
    "leans",
    "asks",
    "entry",
    "row",
)
"""In the order of the columns."""
SCALE: Final = 20.0
"""Cosines of sentences lie close together: differences are counted in twentieths."""
NO_VECTOR: Final = -2.0
USUAL_WORDS: Final = 20.0
HAN_PER_WORD: Final = 1.7
REMEMBERED: Final = 30_000
"""Statements whose terms are kept, as many as stand in a thousand passages."""
K1: Final = 1.2
B: Final = 0.75

_LEANS: Final = regex.compile(
    r"\W{0,3}(?:(?:he|she|it|they|his|her|its|their|this|these|those|both|such)\b|[他她它这其])",
    regex.IGNORECASE,
)
_HAN: Final = regex.compile(r"\p{Han}")

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rarity:
    """What the workspace's words are worth: ``frequencies`` are the chunks that hold each term."""

    frequencies: Mapping[str, int]
    chunks: int

    def of(self, term: str) -> float:
        count = min(self.frequencies.get(term, 0), self.chunks)
        return math.log(1 + (self.chunks - count + 0.5) / (count + 0.5))

    def total(self, terms_: Collection[str]) -> float:
        return sum(map(self.of, terms_))

    def unknown(self, terms_: Collection[str]) -> float:
        """The share of terms, by rarity, that no chunk holds."""
        gone = self.total([term for term in terms_ if not self.frequencies.get(term)])
        return gone / (self.total(terms_) or 1.0)


@dataclass(frozen=True, slots=True)
class Read:
    """A candidate with its index terms, read once."""

    candidate: Candidate
    counts: Counter[str]
    around: frozenset[str]
    heading: frozenset[str]


def read(candidate: Candidate) -> Read:
    heading = candidate.path[-1] if candidate.path else ""
    around = (candidate.hit.title, *candidate.path[-2:], candidate.before)
    return Read(
        candidate,
        _counts(candidate.said),
        frozenset().union(*(_counts(one).keys() for one in around)),
        frozenset(_counts(heading)),
    )


@lru_cache(maxsize=REMEMBERED)
def _counts(text: str) -> Counter[str]:
    return Counter(terms(text))


def by_words(found: Sequence[Read], wanted: Collection[str], rarity: Rarity) -> list[float]:
    """BM25 of each candidate (Robertson; k1 = 1.2, b = 0.75), a heading's words counted once."""
    counts = [one.counts + Counter(dict.fromkeys(one.heading, 1)) for one in found]
    lengths = [max(1, count.total()) for count in counts]
    mean = sum(lengths) / max(1, len(lengths))
    weights = {term: rarity.of(term) for term in wanted}
    return [
        sum(
            weight * count[term] * (K1 + 1) / (count[term] + K1 * (1 - B + B * length / mean))
            for term, weight in weights.items()
            if term in count
        )
        for count, length in zip(counts, lengths, strict=True)
    ]


def matrix(
    found: Sequence[Read],
    sought: Sought,
    rarity: Rarity,
    cosines: Cosines,
    word_scores: Sequence[float],
) -> Matrix:
    """Of shape ``(len(found), len(NAMES))``; a sentence without a vector is no nearer than most."""
    most = max(word_scores, default=0.0) or 1.0
    near = nearness_of(cosines)
    rows = [
        _row(one, sought, rarity, near, score / most)
        for one, score in zip(found, word_scores, strict=True)
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(NAMES))


def nearness_of(cosines: Cosines) -> Callable[[Place], float | None]:
    highest = cosines.highest

    def near(place: Place) -> float | None:
        cosine = cosines.of.get(place)
        return None if cosine is None or highest is None else SCALE * (cosine - highest)

    return near


def _row(
    one: Read,
    sought: Sought,
    rarity: Rarity,
    near: Callable[[Place], float | None],
    words: float,
) -> list[float]:
    candidate = one.candidate
    share = _Share(rarity, sought.terms)
    named = _Share(rarity, sought.names)
    own = one.counts.keys()
    meaning = near(candidate.vector_key)
    asked = sought.kind is not Kind.OPEN
    has_kind = asked and bool(named_kinds(candidate.said, sought.kind) - set(sought.terms))
    return [
        NO_VECTOR if meaning is None else meaning,
        words,
        share.of(own),
        share.of(one.around - own),
        1 / (1 + candidate.rank),
        float(has_kind),
        float(asked and not has_kind),
        named.of(own),
        share.of(one.heading - own),
        1 / (1 + candidate.place),
        math.log(max(length_of(candidate.said), 3.0) / USUAL_WORDS),
        float(_LEANS.match(candidate.said) is not None),
        float(candidate.said.rstrip("\"'”’ ").endswith(("?", "？"))),
        float(candidate.kind is StatementKind.ENTRY),
        float(candidate.kind is StatementKind.ROW),
    ]


class _Share:
    """The share of some terms, by rarity, that others cover."""

    def __init__(self, rarity: Rarity, wanted: Collection[str]) -> None:
        self._weights = {term: rarity.of(term) for term in wanted}
        self._total = sum(self._weights.values())

    def of(self, held: Collection[str]) -> float:
        if not self._total:
            return 0.0
        return sum(w for term, w in self._weights.items() if term in held) / self._total


def length_of(said: str) -> float:
    """In words; Chinese characters count as part of one."""
    han = len(_HAN.findall(said))
    return len(said.split()) + han / HAN_PER_WORD
