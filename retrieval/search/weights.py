"""What each term of a question is worth as evidence, and how much of the question is known here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval.search.assemble import Sentence
from retrieval.search.sought import Sought, is_filler, is_pair

STRADDLES: Final = 0.5


@dataclass(frozen=True)
class Weights:
    """Weights of the question's terms, which sum to one; ``known`` is the share of those that
    any document in the scope holds."""

    by_term: Mapping[str, float]
    known: float

    def of(self, terms: Collection[str]) -> float:
        """The share of the question that these terms cover, from 0 to 1."""
        return sum(weight for term, weight in self.by_term.items() if term in terms)


def weigh(sought: Sought, sentences: Sequence[Sentence], frequencies: Mapping[str, int]) -> Weights:
    """Rarity among the candidate sentences, as in BM25's idf.

    ``frequencies`` are the chunks that hold each term. A term no chunk holds counts in full when
    it belongs to a name; else like the mean of the others, since it may be another word for what
    is there; and as a pair of Chinese characters half of that, since every second pair straddles
    two words.
    """
    wanted = [term for term in sought.terms if not is_filler(term)] or list(sought.terms)
    counts = Counter(term for sentence in sentences for term in sentence.terms)
    highest = _rarity(0, len(sentences))
    weights = {
        term: _rarity(counts[term], len(sentences)) for term in wanted if frequencies.get(term)
    }
    known = sum(weights.values())
    mean = known / len(weights) if weights else highest
    for term in wanted:
        if term not in weights:
            other = STRADDLES * mean if is_pair(term) else mean
            weights[term] = highest if term in sought.names else other
    total = sum(weights.values()) or 1.0
    return Weights({term: weight / total for term, weight in weights.items()}, known / total)


def _rarity(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))
