"""Answer: choose the sentences that together answer a question, or say that none do.

Extractive: every sentence is one of the documents' own. A sentence scores by how much of the
question it covers, itself or by what stands around it; by naming the kind of thing asked for; and
by the rank of its passage. Sentences are then taken greedily for what they add.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from retrieval.search.assemble import Sentence
from retrieval.search.sought import Kind, Sought
from retrieval.search.weights import Weights

MOST: Final = 5
AROUND: Final = 0.6
"""What a term in the title, the headings or the sentence before counts beside one inside …"""
LEANING: Final = 0.8
"""… and what it counts in a sentence that begins with a pronoun."""
NAMES_KIND: Final = 0.3
DEFINES: Final = 0.4
"""For saying who or what a name is, where a question asks for no more than that."""
RANK: Final = 0.2
TOO_LONG: Final = 300
"""Characters; a longer sentence loses up to ``LENGTH`` at three times as many."""
LENGTH: Final = 0.1
LIKE: Final = 0.7
"""Share of the shorter sentence's terms; two that share more say the same."""
ADDS: Final = 0.15
"""Share of the question a further sentence must add …"""
NO_WORSE: Final = 0.4
"""… at no less than this share of the best score; or else it must score nearly as well:"""
AS_GOOD: Final = {True: 0.65, False: 0.8}
"""an open question may have an answer of many parts, one for a name, date or number has few."""
BRIDGE: Final = 0.2
"""For a document named in a sentence chosen before: the next step of the way."""

_BEFORE_NAME: Final = regex.compile(r"[\s*_“\"‘]*(?:(?:the|an?)\s+[*_“\"‘]*)?", regex.IGNORECASE)
# "…, called Gordie, was"; "… (the Great Lens) is"; "…是".
_SAYS_WHAT: Final = regex.compile(
    r"[*_”\"’]*(?:\s*[(（][^()（）\n]{1,60}[)）]|,[^,.!?\n]{1,60},)?\s*(?:\b(?:is|was|are|were)\b|是)",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Scored:
    sentence: Sentence
    score: float
    coverage: float
    names_kind: bool


def score(sentence: Sentence, sought: Sought, weights: Weights, passages: int) -> Scored:
    inherited = weights.of(sentence.around - sentence.terms)
    coverage = weights.of(sentence.terms) + (LEANING if sentence.leans else AROUND) * inherited
    names_kind = sought.kind is not Kind.OPEN and bool(
        sentence.kinds.get(sought.kind, frozenset()) - set(sought.terms)
    )
    length = min(1.0, max(0, len(sentence.quote) - TOO_LONG) / (2 * TOO_LONG))
    total = coverage + NAMES_KIND * names_kind - LENGTH * length
    total += DEFINES * defines(sentence.quote, sought.alone)
    if coverage:
        total += RANK * (1 - sentence.passage / max(1, passages))
    return Scored(sentence, total, coverage, names_kind)


def defines(quote: str, name: str) -> bool:
    """Whether it begins with the name and says what that is.

    >>> defines("Ada Lind, the engineer, was born in Strand.", "Ada Lind")
    True
    >>> defines("Ada Lind remembers the light.", "Ada Lind"), defines("It was lit.", "")
    (False, False)
    """
    start = _BEFORE_NAME.sub("", quote, count=1)
    if not name or not start.lower().startswith(name.lower()):
        return False
    return _SAYS_WHAT.match(start[len(name) :]) is not None


def rank(sentences: Sequence[Sentence], sought: Sought, weights: Weights) -> list[Scored]:
    """The sentences that cover any of the question, best first."""
    passages = 1 + max((sentence.passage for sentence in sentences), default=0)
    scored = (score(sentence, sought, weights, passages) for sentence in sentences)
    return sorted(
        (one for one in scored if one.coverage > 0),
        key=lambda one: (-one.score, one.sentence.passage, one.sentence.start),
    )


def choose(sentences: Sequence[Sentence], sought: Sought, weights: Weights) -> list[Scored]:
    """At most ``MOST`` sentences, the best first; none where no sentence has to do with it."""
    ranked = rank(sentences, sought, weights)
    chosen = ranked[:1]
    while ranked and len(chosen) < MOST:
        following = _next(ranked, chosen, sought, weights)
        if following is None:
            break
        chosen.append(following)
    return chosen


def _next(
    ranked: Sequence[Scored], chosen: Sequence[Scored], sought: Sought, weights: Weights
) -> Scored | None:
    """The candidate that adds most, among those good enough to be said at all."""
    covered = frozenset().union(*(one.sentence.terms for one in chosen))
    best = chosen[0].score
    worth: list[tuple[float, Scored]] = []
    for one in ranked:
        if any(_alike(one.sentence, other.sentence) for other in chosen):
            continue
        adds = weights.of(one.sentence.terms - covered)
        bridge = BRIDGE * _is_next_step(one.sentence, covered, sought)
        total = one.score + bridge
        if (adds + bridge >= ADDS and total >= NO_WORSE * best) or (
            total >= AS_GOOD[sought.kind is Kind.OPEN] * best
        ):
            worth.append((total + adds, one))
    return max(worth, key=lambda pair: pair[0])[1] if worth else None


def _alike(one: Sentence, other: Sentence) -> bool:
    shorter = min(len(one.terms), len(other.terms))
    return len(one.terms & other.terms) > LIKE * shorter


def _is_next_step(sentence: Sentence, covered: frozenset[str], sought: Sought) -> bool:
    """Whether the chosen sentences name what this one's document is about, and not the question."""
    title = sentence.title_terms
    return bool(title) and title <= covered and not title <= set(sought.terms)
