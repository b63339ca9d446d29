"""What each term of a question is worth as evidence, and how much of the question is known here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from retrieval.search.assemble import Sentence
from retrieval.search.sought import Sought, is_filler


@dataclass(frozen=True)
class Weights:
    """Weights of the question's terms, which sum to one; ``known`` is the share of those that
    any document in the scope holds."""

    by_term: Mapping[str, float]
    known: float

    def of(self, terms: Collection[str]) -> float:
        """The share of the question that these terms cover, from 0 to 1."""
        return sum(weight for term, weight in self.by_term.items() if term in terms)

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(self.by_term)


def weigh(sought: Sought, sentences: Sequence[Sentence], frequencies: Mapping[str, int]) -> Weights:
    """Rarity among the candidate sentences, as in BM25's idf.

    ``frequencies`` are the chunks that hold each term. A term no chunk holds counts in full when
    it belongs to a name, and else like the mean of the others: it may be another word for what
    is there.
    """
    counts = Counter(term for sentence in sentences for term in sentence.terms)
    known = {
        term: _rarity(counts[term], len(sentences))
        for term in sought.terms
        if frequencies.get(term)
    }
    missing = [term for term in sought.terms if not frequencies.get(term) and not is_filler(term)]
    highest = _rarity(0, len(sentences))
    mean = sum(known.values()) / len(known) if known else highest
    weights = known | {term: highest if term in sought.names else mean for term in missing}
    total = sum(weights.values()) or 1.0
    return Weights(
        {term: weight / total for term, weight in weights.items()}, sum(known.values()) / total
    )


def _rarity(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))
