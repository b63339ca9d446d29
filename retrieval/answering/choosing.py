"""Choose: from ranked statements to an answer, or to one of the two outcomes without one.

The best statement comes first, followed by a second if the best is not clear. A question in two
parts gets the best statement for each; a question for a list gets the entries of the list or table
that fits. If the documents probably do not answer the question, there is no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import regex

from kb_project.text.terms import terms
from retrieval.answering.candidates import Candidate, groups_of
from retrieval.answering.gathering import Gathered
from retrieval.answering.marking import Span, marked
from retrieval.answering.ranking import Ranked, Ranking
from retrieval.models import Outcome

ANSWERED: Final = 0.45
"""The lowest probability at which an answer is given …"""
UNSURE: Final = 0.15
"""… and at which the closest passages are shown instead."""
SURE: Final = 0.85
"""The share of the probability at which no second statement is needed …"""
WORTH: Final = 0.03
"""… and the lowest share at which one is added. With these, half of all answers have at most 35
words; a third and a fourth statement were right for 2 % of the questions, and too much for 10 %."""
LIKE: Final = 0.7
"""Share of the shorter statement's terms; two statements that share more say the same."""
MOST_ENTRIES: Final = 20
MOST_NEAREST: Final = 3
FITS: Final = 0.4
"""Minimum fit for a list to be the one asked for: the share of the question's terms, by rarity, in
its lead-in and heading, plus its entries' share of the probability."""

_ASKS_FOR_LIST: Final = regex.compile(
    r"^\W*(?:please )?(?:list|enumerate|name (?:the|all|every|some))\b"
    r"|\b(?:what|which) (?:are|were) (?:the|all|some)\b"
    r"|\b(?:what|which) (?:[\w'’-]+ ){0,3}?[\w'’-]{2,}(?<![sui])s (?:do|does|did|are|were|have|had"
    r"|can|could|should|must|may|might|will|would|come|make|exist|belong|to|of)\b"
    r"|哪些|哪几|列出|列举",
    regex.IGNORECASE,
)
_NEXT_PART: Final = regex.compile(
    r",? (?:and|but) (?=(?:who|what|when|where|which|whose|why|how)\b)|[，,；;](?=.{0,8}"
    r"(?:谁|什么|哪|多少|几|怎|何))",
    regex.IGNORECASE,
)
_ASKS: Final = regex.compile(
    r"\b(?:who|what|when|where|which|whose|why|how)\b|谁|什么|哪|多少|几|怎|何|吗", regex.IGNORECASE
)

_NAME_WITHIN: Final = regex.compile(
    r"(?<=[\p{L}\d,]\s)[\p{Lu}\d][\p{L}\d.'’-]*(?:\s[\p{Lu}\d][\p{L}\d.'’-]*)*"
)
_THING: Final = regex.compile(r"\b(?:it|they|them)\b", regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A chosen statement; ``marked`` are offsets in its text of the words that answer."""

    candidate: Candidate
    marked: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome: ``chosen`` in reading order, ``nearest`` best first; ``is_list`` if the chosen
    are the entries of a list or the rows of a table."""

    outcome: Outcome
    chosen: Sequence[Chosen]
    nearest: Sequence[Ranked]
    probability: float
    is_list: bool = False


def parts_of(question: str) -> tuple[str, ...]:
    """Split a question into its parts, each with its own question word and subject.

    >>> parts_of("When did Hamm come out and how many packages did it have?")
    ('When did Hamm come out', 'how many packages did Hamm have?')
    >>> parts_of("What is bread and butter?")
    ('What is bread and butter?',)
    """
    pieces = [one.strip() for one in _NEXT_PART.split(question, maxsplit=1)]
    if len(pieces) == 1 or not all(_ASKS.search(one) for one in pieces):
        return (question,)
    first, second = pieces
    named = set(_NAME_WITHIN.findall(first))
    # With two names, it is unclear which one is meant.
    if len(named) == 1:
        second = _THING.sub(named.pop(), second)
    return first, second


def asks_for_list(question: str) -> bool:
    """
    >>> asks_for_list("Which keepers were there?"), asks_for_list("Which keeper was first?")
    (True, False)
    """
    return _ASKS_FOR_LIST.search(question) is not None


def choose(gathered: Gathered, ranking: Ranking) -> Choice:
    ranked = ranking.ranked
    outcome = outcome_of(ranking.probability) if ranked else Outcome.NOTHING
    if outcome is Outcome.NOTHING:
        return Choice(outcome, (), (), ranking.probability)
    # A fitting list answers better than the probability of its best entry suggests.
    if entries := _entries(gathered, ranked):
        chosen = [Chosen(one) for one in entries]
        return Choice(Outcome.ANSWERED, chosen, (), ranking.probability, is_list=True)
    if outcome is Outcome.UNSURE:
        return Choice(outcome, (), nearest_of(ranked), ranking.probability)
    sought = gathered.sought
    chosen = [Chosen(one, marked(one.said, sought)) for one in _best(ranked)]
    return Choice(outcome, chosen, (), ranking.probability)


def together(choices: Sequence[Choice]) -> Choice:
    """Combine a question's parts: one statement for each answered part; if no part is answered, the
    likeliest part's choice."""
    likeliest = max(choices, key=lambda one: one.probability)
    if len(choices) == 1 or likeliest.outcome is not Outcome.ANSWERED:
        return likeliest
    chosen = {
        one.candidate.key: one
        for choice in choices
        if choice.outcome is Outcome.ANSWERED
        for one in (choice.chosen if choice.is_list else choice.chosen[:1])
    }
    return replace(likeliest, chosen=list(chosen.values()))


def outcome_of(probability: float) -> Outcome:
    if probability >= ANSWERED:
        return Outcome.ANSWERED
    return Outcome.UNSURE if probability >= UNSURE else Outcome.NOTHING


def nearest_of(ranked: Sequence[Ranked]) -> Sequence[Ranked]:
    """Return the best statement of each of the first few passages."""
    best: dict[UUID, Ranked] = {}
    for one in ranked:
        best.setdefault(one.candidate.hit.chunk_id, one)
    return list(best.values())[:MOST_NEAREST]


def _entries(gathered: Gathered, ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return the entries of the list or table that fits a question for a list, if one does."""
    if not asks_for_list(gathered.sought.text):
        return []
    lists = groups_of(gathered.candidates)
    shares = {one.candidate.key: one.share for one in ranked}
    fits = {
        group: _fit(gathered, entries) + sum(shares.get(one.key, 0.0) for one in entries)
        for group, entries in lists.items()
        if len(entries) > 1
    }
    best = max(fits, key=lambda group: fits[group], default=None)
    return lists[best][:MOST_ENTRIES] if best is not None and fits[best] >= FITS else []


def _fit(gathered: Gathered, entries: Sequence[Candidate]) -> float:
    """Return how much of the question the list's lead-in and heading cover."""
    first = entries[0]
    lead = set(terms(" ".join((first.before, *first.path[-1:]))))
    return gathered.rarity.weighed(gathered.sought.terms).share(lead)


def _best(ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return the best statement, and a second if the first is not clearly best."""
    first = ranked[0]
    if first.share < SURE:
        for one in ranked[1:3]:
            if one.share >= WORTH and not alike(first.candidate, one.candidate):
                return [first.candidate, one.candidate]
    return [first.candidate]


def alike(one: Candidate, other: Candidate) -> bool:
    own, others = set(terms(one.said)), set(terms(other.said))
    return len(own & others) > LIKE * min(len(own), len(others))
