"""Answer with a list: the entries of the list or table that fits a question for one, or a statement
with the list that it introduces.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import regex

from kb_project.text.statements import StatementKind, is_ended
from kb_project.text.values import SPELT_OTHERWISE
from kb_project.text.words import terms
from retrieval.answering.features import Candidate, groups_of, length_of
from retrieval.answering.ranking import Gathered, Ranked
from retrieval.search.answer_kinds import Kind, spans_of_kind

MOST_ENTRIES: Final = 20
MOST_WORDS: Final = 250
"""Words of a list up to which its entries are shown as an answer."""
FITS: Final = 0.4
"""Minimum fit of a list: the share of the question's terms, by rarity, in its lead-in and heading,
plus its entries' share of the probability."""

WHOLE: Final = 0.99
"""Share of the question's terms from which on a heading has all that it asks about."""
AMONG: Final = 3
"""Best statements among which one is looked for that lists things itself: *boats: A, B, and C*."""

MOST_WHOLE: Final = 10
"""Sentences up to which steps are given whole; of longer ones, the first sentence of each."""
SOON: Final = 3
"""Statements after which the steps of what a statement is about begin at the latest."""

_IN_A_ROW: Final = regex.compile(
    r": (?:[^\s,;:.][^,;:.]{0,40}, ){2,}(?:and|or)\b|：(?:[^、，。；：]{1,12}、){2,}"
)
_ASKS_HOW: Final = regex.compile(r"\W*how (?:is|are|do|does|did|was|were)\b", regex.IGNORECASE)
_ASKS_FOR_LIST: Final = regex.compile(
    r"^\W*(?:please )?(?:list|enumerate|name (?:the|all|every|some))\b"
    r"|\b(?:what|which) (?:are|were) (?:the|all|some)\b"
    r"|^\W*what (?:may|can|must|shall) (?!i\b|we\b|you\b|one\b).{2,60} do\W*$"
    r"|\b(?:what|which) (?:[\w'’-]+ ){0,3}?[\w'’-]{2,}(?<![sui])s (?:do|does|did|are|were|have|had"
    r"|can|could|should|must|may|might|will|would|come|make|exist|belong|to|of)\b"
    r"|哪些|哪几|列出|列举",
    regex.IGNORECASE,
)


def asks_for_list(question: str) -> bool:
    """
    >>> asks_for_list("Which keepers were there?"), asks_for_list("Which keeper was first?")
    (True, False)
    """
    return _ASKS_FOR_LIST.search(question) is not None


@dataclass(frozen=True, slots=True)
class Headed:
    """The parts of a section as entries; ``fit`` is how well its heading fits the question."""

    entries: Sequence[Candidate]
    fit: float


def fitting(
    gathered: Gathered, ranked: Sequence[Ranked], headed: Headed | None = None
) -> Sequence[Candidate]:
    """Return the entries of the list or table, or the parts of a section, that fit a question for a
    list, if any do."""
    if not asks_for_list(gathered.sought.text):
        return []
    wanted = gathered.rarity.weighed(gathered.sought.terms)
    shares = {one.candidate.key: one.share for one in ranked}

    def fit(entries: Sequence[Candidate]) -> float:
        first = entries[0]
        # A sentence that is none of the list's stands before many lists.
        is_lead = not is_ended(first.before) or _counts(first.before, entries)
        lead = terms(" ".join((first.before if is_lead else "", *first.path[-1:])))
        return wanted.share(lead) + sum(shares.get(one.key, 0.0) for one in entries)

    lists = [one for one in _short_lists(gathered).values() if len(one) > 1]
    best = max(lists, key=fit, default=[])
    most = fit(best) if best else 0.0
    for one in ranked[:AMONG]:
        said = one.candidate.said
        if _IN_A_ROW.search(said) and wanted.share(terms(said)) >= max(FITS, most):
            return [one.candidate]
    if headed and headed.fit >= most:
        return headed.entries
    return _asked_for(best, gathered.sought.terms) if most >= FITS else []


def _counts(before: str, entries: Sequence[Candidate]) -> bool:
    """*The Trust has five departments.* before a list of five."""
    number = str(sum(one.kind is StatementKind.ENTRY for one in entries))
    return not {number, SPELT_OTHERWISE.get(number)}.isdisjoint(terms(before))


def around(gathered: Gathered, ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return the list, the rows or the steps that the best statement answers with, if any."""
    return (
        _introduced(gathered, ranked) or _rows_named(gathered, ranked) or _steps(gathered, ranked)
    )


def _rows_named(gathered: Gathered, ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return all rows of the best row's table if the question asks for nothing but what its columns
    are called: *Who paid for the lens: Lantern Fund; Amount: £110,000*."""
    best = ranked[0].candidate
    wanted = gathered.rarity.weighed(gathered.sought.terms)
    if best.group is None or wanted.share(terms(best.labels)) < WHOLE:
        return []
    rows = _short_lists(gathered).get(best.group, [])
    same = [one for one in rows if one.labels == best.labels]
    return _asked_for(same, gathered.sought.terms) if len(same) > 1 else []


def _introduced(gathered: Gathered, ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return the best statement with the list that it introduces, if it introduces one."""
    first = ranked[0].candidate
    if first.introduces is None:
        return []
    entries = _short_lists(gathered).get(first.introduces)
    return [first, *entries] if entries else []


def _steps(gathered: Gathered, ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return the list of steps that the best statement is one of, or that follows it closely, if
    the question asks how something is done: entries that tell what to do, or any below a heading
    that has all the question's words."""
    if gathered.sought.kind is not Kind.PROCEDURE and not _ASKS_HOW.match(gathered.sought.text):
        return []
    wanted = gathered.rarity.weighed(gathered.sought.terms)
    best = ranked[0].candidate
    for key, found in _short_lists(gathered).items():
        entries = [one for one in found if one.kind is StatementKind.ENTRY]
        telling = [one for one in entries if spans_of_kind(one.said, Kind.PROCEDURE)]
        if len(entries) < 2 or found[0].path != best.path:
            continue
        given = entries if len(found) > MOST_WHOLE else found
        first = found[0]
        is_headed = wanted.share(terms(" ".join(first.path[-1:]))) >= WHOLE
        if len(telling) * 2 <= len(entries) and not is_headed:
            continue
        about = terms(" ".join((first.hit.title, *first.path, first.before)))
        if best.group == key and wanted.share(about) >= FITS:
            return given
        if best.group is None and first.hit is best.hit and 0 < first.place - best.place <= SOON:
            return [best, *given]
    return []


def _short_lists(gathered: Gathered) -> dict[tuple[UUID, int], list[Candidate]]:
    """The lists that can be shown whole: one of paragraphs is read in its document."""
    found = groups_of(gathered.candidates)
    shown = {key: entries[:MOST_ENTRIES] for key, entries in found.items()}
    return {
        key: entries
        for key, entries in shown.items()
        if sum(length_of(one.said) for one in entries) <= MOST_WORDS
    }


def _asked_for(entries: Sequence[Candidate], asked: Collection[str]) -> list[Candidate]:
    """Return the rows of a table whose values have most of the question's terms, if some have any
    that others lack: *the reserves at the end of 2024*; of other lists, all entries."""
    if not all(one.labels for one in entries):
        return [*entries]
    values = [set(terms(one.said)).difference(terms(one.labels)) for one in entries]
    telling = {term for term in asked if not all(term in own for own in values)}
    held = [len(telling & own) for own in values]
    return [one for one, count in zip(entries, held, strict=True) if count == max(held)]
