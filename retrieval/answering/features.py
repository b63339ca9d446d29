"""The features of candidates: evidence that a statement answers a question, in numbers.

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

from kb_project.text.regions import bare
from kb_project.text.sentences import begins_with_pronoun
from kb_project.text.statements import StatementKind
from kb_project.text.values import SPELT_OTHERWISE
from kb_project.text.words import terms
from retrieval.answering.candidates import Candidate, length_of
from retrieval.search.answer_kinds import UNNAMED, counts, named_kinds
from retrieval.search.query_features import QuestionFeatures
from retrieval.search.sentences import Cosines

NAMES: Final = (
    "meaning",
    "words",
    "covers",
    "covers_around",
    "rank",
    "has_kind",
    "lacks_kind",
    "counts",
    "names",
    "heading_covers",
    "first",
    "length",
    "pronoun",
    "asks",
    "entry",
    "row",
)
"""In the order of the columns."""
SCALE: Final = 20.0
"""Cosines of sentences are close together: differences are counted in twentieths."""
NO_VECTOR: Final = -2.0
USUAL_WORDS: Final = 20.0
TEXTS_CACHED: Final = 30_000
"""Statements whose terms are cached: about as many as a thousand passages have."""
K1: Final = 1.2
B: Final = 0.75

_JOINED: Final = regex.compile(
    r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!,?\d)|(?<![\w-])\p{L}+-\p{L}+(?![\w-])"
)
_JOINTS: Final = regex.compile("[,-]")
"""The columns' names in a row: *name: Ada Lind; role: keeper*. The key of *funders.Ada Lind: 5* is
no such name."""

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

    def beyond(self, known: Collection[str]) -> Weighed:
        """Return the terms that are not known, or all if they are all known."""
        left = {term: weight for term, weight in self.weights.items() if term not in known}
        return Weighed(left, sum(left.values())) if left else self


@dataclass(frozen=True, slots=True)
class Rarity:
    """Term rarity in the workspace; ``frequencies`` count the chunks that contain each term.

    A number that no chunk has in words is as rare as in figures, and the other way round.
    """

    frequencies: Mapping[str, int]
    chunks: int

    def of(self, term: str) -> float:
        count = min(self._chunks_with(term), self.chunks)
        return math.log(1 + (self.chunks - count + 0.5) / (count + 0.5))

    def weighed(self, terms_: Collection[str]) -> Weighed:
        weights = {term: self.of(term) for term in terms_}
        return Weighed(weights, sum(weights.values()))

    def unknown(self, terms_: Collection[str]) -> float:
        """Return the share of the terms, weighted by rarity, that no chunk contains."""
        gone = [term for term in terms_ if not self._chunks_with(term)]
        return self.weighed(terms_).share(gone)

    def _chunks_with(self, term: str) -> int:
        other = SPELT_OTHERWISE.get(term, "")
        return self.frequencies.get(term) or self.frequencies.get(other, 0)


@dataclass(frozen=True, slots=True)
class Indexed:
    """A candidate with its index terms, computed once."""

    candidate: Candidate
    counts: Counter[str]
    around: frozenset[str]
    heading: frozenset[str]


def indexed(candidate: Candidate) -> Indexed:
    heading = candidate.path[-1] if candidate.path else ""
    if len(candidate.path) == 1 and bare(heading) == bare(candidate.hit.title):
        # The document's own name says as little of what stands right below it as of all else.
        heading = ""
    around = (candidate.hit.title, *candidate.path[-2:], candidate.before)
    return Indexed(
        candidate,
        _counts(candidate.said),
        frozenset().union(*(_counts(one).keys() for one in around)),
        frozenset(_counts(heading)),
    )


@lru_cache(maxsize=TEXTS_CACHED)
def _counts(text: str) -> Counter[str]:
    """How often a text has each term; small numbers count in words and in figures, large ones also
    without their commas, compounds without their hyphens."""
    joined = _JOINED.findall(text) if "," in text or "-" in text else ()
    found = Counter(terms(" ".join((text, *(_JOINTS.sub("", one).lower() for one in joined)))))
    spelt = {other: found[term] for term, other in SPELT_OTHERWISE.items() if term in found}
    return found + Counter(spelt)


def bm25(found: Sequence[Indexed], wanted: Collection[str], rarity: Rarity) -> list[float]:
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
    found: Sequence[Indexed],
    sought: QuestionFeatures,
    rarity: Rarity,
    cosines: Cosines,
    word_scores: Sequence[float],
) -> Matrix:
    """Build the matrix, of shape ``(len(found), len(NAMES))``; without a vector, meaning is
    ``NO_VECTOR``."""
    most = max(word_scores, default=0.0) or 1.0
    wanted, named = rarity.weighed(sought.terms), rarity.weighed(sought.names)
    rows = []
    for one, score in zip(found, word_scores, strict=True):
        cosine, meaning = cosines.of.get(one.candidate.vector_key), NO_VECTOR
        if cosine is not None and cosines.highest is not None:
            meaning = SCALE * (cosine - cosines.highest)
        rows.append([meaning, score / most, *_row(one, sought, wanted, named)])
    return np.array(rows, np.float64).reshape(len(rows), len(NAMES))


def _row(one: Indexed, sought: QuestionFeatures, wanted: Weighed, named: Weighed) -> list[float]:
    """Return the columns after those for meaning and words."""
    candidate = one.candidate
    own = one.counts.keys()
    asked = sought.kind not in UNNAMED
    has_kind = asked and bool(named_kinds(candidate.values, sought.kind) - set(sought.terms))
    return [
        wanted.share(own),
        wanted.share(one.around - own),
        1 / (1 + candidate.rank),
        float(has_kind),
        float(asked and not has_kind),
        float(counts(candidate.said, sought.counted)),
        named.share(own),
        wanted.share(one.heading - own),
        1 / (1 + candidate.place),
        math.log(max(length_of(candidate.said), 3.0) / USUAL_WORDS),
        float(begins_with_pronoun(candidate.said)),
        float(candidate.asks),
        float(candidate.kind is StatementKind.ENTRY),
        float(candidate.kind is StatementKind.ROW),
    ]
