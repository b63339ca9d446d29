"""A summary made of existing sentences: those most like everything else.

The classical centroid method (Radev and others 2004) without vectors: a term counts by how many of
the texts have it, a sentence by its terms, less for those already covered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log1p, sqrt
from typing import Final

from ingestion.stages.tree.items import EXTRACTIVE, Item, Sentence, Summary
from kb_project.llm.tokens import count_tokens
from kb_project.text.quotable import is_ended, leans
from kb_project.text.terms import terms

MOST_TOKENS: Final = 120
LONGEST_QUOTE: Final = 400
FEWEST_TERMS: Final = 4
# Factors for a term that is repeated, for a sentence that leans on the one before, and for one
# without an end.
REPEATED: Final = 0.2
LEANING: Final = 0.6
UNENDED: Final = 0.4


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: int
    sentence: Sentence
    terms: frozenset[str]
    cost: float


def summarise(items: Sequence[Item]) -> Summary:
    """Sentences of the items, in order, about ``MOST_TOKENS`` in total; at least one.

    List entries if there are no sentences; "…" if there is no prose at all.
    """
    quotes = [item.sentences() for item in items]
    has_sentences = any(not one.is_entry for found in quotes for one in found)
    said = [
        [shortened(one) for one in found if not (has_sentences and one.is_entry)]
        for found in quotes
    ]
    weights = term_weights([sentence.text for sentence in sentences] for sentences in said)
    candidates = [
        _Candidate(place, sentence, frozenset(terms(sentence.text)), cost(sentence.text))
        for place, sentence in enumerate(sentence for sentences in said for sentence in sentences)
    ]
    chosen = tuple(one.sentence for one in sorted(_chosen(candidates, weights), key=_place))
    text = " ".join(sentence.text for sentence in chosen) or "…"
    sources = chosen if all(sentence.chunk for sentence in chosen) else ()
    return Summary(text, count_tokens(text), EXTRACTIVE, sources)


def term_weights(texts: Iterable[Iterable[str]]) -> dict[str, float]:
    """Each term's weight: how many items have it, and slightly how often they do."""
    spread: Counter[str] = Counter()
    often: Counter[str] = Counter()
    for sentences in texts:
        found = Counter(term for sentence in sentences for term in terms(sentence))
        spread.update(found.keys())
        often.update(found)
    return {term: number * log1p(often[term]) for term, number in spread.items()}


def cost(text: str) -> float:
    """Rough number of tokens, at a hundredth of the cost of counting them."""
    return len(text.encode()) / 4


def shortened(sentence: Sentence) -> Sentence:
    """Cut a sentence that is too long to quote, if possible at a space, together with its span.

    Only if the quote is on one line in the document: otherwise offsets would be guesses.
    """
    if len(sentence.text) <= LONGEST_QUOTE:
        return sentence
    space = sentence.text.rfind(" ", LONGEST_QUOTE // 2, LONGEST_QUOTE)
    cut = space if space > 0 else LONGEST_QUOTE
    if sentence.end - sentence.start != len(sentence.text):
        return sentence
    return replace(sentence, text=sentence.text[:cut], end=sentence.start + cut)


def _chosen(candidates: Sequence[_Candidate], weights: Mapping[str, float]) -> list[_Candidate]:
    """Choose greedily what adds most for its length, until the summary is long enough."""
    left, budget = list(candidates), float(MOST_TOKENS)
    chosen: list[_Candidate] = []
    covered: set[str] = set()
    while left:
        best = max(left, key=lambda one: (_gain(one, weights, covered), -one.place))
        chosen.append(best)
        covered |= best.terms
        budget -= best.cost
        left = [one for one in left if one is not best and one.cost <= budget]
        left = [one for one in left if one.terms - covered]
    return chosen


def _gain(one: _Candidate, weights: Mapping[str, float], covered: set[str]) -> float:
    """Divided by the root of the length, so that neither the shortest nor the longest wins."""
    worth = sum(weights[term] * (REPEATED if term in covered else 1.0) for term in one.terms)
    shape = (LEANING if leans(one.sentence.text) else 1.0) * (
        1.0 if is_ended(one.sentence.text) else UNENDED
    )
    return shape * worth / sqrt(max(FEWEST_TERMS, len(one.terms)) * max(1.0, one.cost / 40))


def _place(one: _Candidate) -> int:
    return one.place
