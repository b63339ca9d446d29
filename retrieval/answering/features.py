"""Features: evidence that a statement answers a question, in numbers.

Words and vectors each know half: BM25 and how much of the question is covered (rarity is the
workspace's own), the cosine of the sentence and of its heading, the rank of its passage, whether it
has the kind of thing asked for, and the names it shares. Their weights are fitted (``ranking``),
never guessed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from kb_project.text.scripts import HAN
from kb_project.text.statements import StatementKind
from kb_project.text.terms import terms
from retrieval.answering.candidates import Candidate
from retrieval.search.query_features import Kind, Sought, named_kinds
from retrieval.search.sentences import Cosines

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
"""Cosines of sentences are close together: differences are counted in twentieths."""
NO_VECTOR: Final = -2.0
USUAL_WORDS: Final = 20.0
HAN_PER_WORD: Final = 1.7
REMEMBERED: Final = 30_000
"""Statements whose terms are cached: about as many as a thousand passages have."""
K1: Final = 1.2
B: Final = 0.75

_LEANS: Final = regex.compile(
    r"\W{0,3}(?:(?:he|she|it|they|his|her|its|their|this|these|those|both|such)\b|[他她它这其])",
    regex.IGNORECASE,
)

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weighed:
    """Terms with their weights."""

    weights: Mapping[str, float]
    total: float

    def share(self, held: Collection[str]) -> float:
        """Return the share of the total weight that the held terms have, from 0 to 1."""
        if not self.total:
            return 0.0
        return sum(weight for term, weight in self.weights.items() if term in held) / self.total


@dataclass(frozen=True, slots=True)
class Rarity:
    """Term rarity in the workspace; ``frequencies`` count the chunks that contain each term."""

    frequencies: Mapping[str, int]
    chunks: int

    def of(self, term: str) -> float:
        count = min(self.frequencies.get(term, 0), self.chunks)
        return math.log(1 + (self.chunks - count + 0.5) / (count + 0.5))

    def weighed(self, terms_: Collection[str]) -> Weighed:
        weights = {term: self.of(term) for term in terms_}
        return Weighed(weights, sum(weights.values()))

    def unknown(self, terms_: Collection[str]) -> float:
        """Return the share of the terms, weighted by rarity, that no chunk contains."""
        gone = [term for term in terms_ if not self.frequencies.get(term)]
        return self.weighed(terms_).share(gone)


@dataclass(frozen=True, slots=True)
class Read:
    """A candidate with its index terms, computed once."""

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
    """Score candidates by BM25 (Robertson; k1 = 1.2, b = 0.75), counting a heading's words once."""
    counts = [one.counts + Counter(dict.fromkeys(one.heading, 1)) for one in found]
    lengths = [max(1, count.total()) for count in counts]
    mean = sum(lengths) / max(1, len(lengths))
    weighed = rarity.weighed(wanted)
    return [
        sum(
            weight * count[term] * (K1 + 1) / (count[term] + K1 * (1 - B + B * length / mean))
            for term, weight in weighed.weights.items()
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
    """Build the matrix, of shape ``(len(found), len(NAMES))``; without a vector, meaning is
    ``NO_VECTOR``."""
    most = max(word_scores, default=0.0) or 1.0
    wanted, named = rarity.weighed(sought.terms), rarity.weighed(sought.names)
    rows = [
        [_meaning(one, cosines), score / most, *_row(one, sought, wanted, named)]
        for one, score in zip(found, word_scores, strict=True)
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(NAMES))


def _meaning(one: Read, cosines: Cosines) -> float:
    cosine, highest = cosines.of.get(one.candidate.vector_key), cosines.highest
    return NO_VECTOR if cosine is None or highest is None else SCALE * (cosine - highest)


def _row(one: Read, sought: Sought, wanted: Weighed, named: Weighed) -> list[float]:
    """Return the columns after those for meaning and words."""
    candidate = one.candidate
    own = one.counts.keys()
    asked = sought.kind is not Kind.OPEN
    has_kind = asked and bool(named_kinds(candidate.said, sought.kind) - set(sought.terms))
    return [
        wanted.share(own),
        wanted.share(one.around - own),
        1 / (1 + candidate.rank),
        float(has_kind),
        float(asked and not has_kind),
        named.share(own),
        wanted.share(one.heading - own),
        1 / (1 + candidate.place),
        math.log(max(length_of(candidate.said), 3.0) / USUAL_WORDS),
        float(_LEANS.match(candidate.said) is not None),
        float(candidate.said.rstrip("\"'”’ ").endswith(("?", "？"))),
        float(candidate.kind is StatementKind.ENTRY),
        float(candidate.kind is StatementKind.ROW),
    ]


def length_of(said: str) -> float:
    """Return the length in words; a Chinese character counts as part of a word."""
    han = len(HAN.findall(said))
    return len(said.split()) + han / HAN_PER_WORD
