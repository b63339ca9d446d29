"""Answer with a list: the entries of the list or table that fits a question for one, or a statement
with the list that it introduces.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import regex

from kb_project.text.sentences import begins_with_pronoun
from kb_project.text.statements import StatementKind, is_ended
from kb_project.text.values import SPELT_OTHERWISE
from kb_project.text.words import terms
from retrieval.answering.candidates import Candidate, groups_of, length_of, with_term
from retrieval.answering.ranking import Gathered, Ranked
from retrieval.search.answer_kinds import Kind, spans_of_kind

MOST_ENTRIES: Final = 20
MOST_WORDS: Final = 250
"""Words of a list up to which its entries are shown as an answer."""
FITS: Final = 0.4
"""Minimum fit of a list: the share of the question's terms, by rarity, in its lead-in and heading,
plus its entries' share of the probability."""

NAMED: Final = 0.75
"""The same, with the document's title in place of the probability, if a question only names a
list."""
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
    r"|\b(?:what|which) (?:are|were) (?:the|all|some)\b|^\W*who (?:are|were) (?:the|all|our)\b"
    r"|^\W*who \w+ (?:which|what)\b"
    r"|\bwhat (?:(?:has|have|needs?|ought) to|must|should) (?:be|go|stand) (?:in|into|on)\b"
    r"|\bwhat (?:goes|belongs) (?:in|into|on)\b"
    r"|\bwhat(?:['’]s| is) in (?:the|a|an|my|our|your)\b|\bwhat comes with\b"
    r"|\bwhat speaks (?:for|against)\b"
    r"|^\W*what (?:may|can|must|shall) (?!i\b|we\b|you\b|one\b).{2,60} do\W*$"
    r"|\b(?:what|which) (?:[\w'’-]+ ){0,3}?[\w'’-]{2,}(?<![sui])s (?:do|does|did|are|were|have|had"
    r"|can|could|should|must|may|might|will|would|come|make|exist|belong|to|of)\b"
    r"|哪些|哪几|列出|列举",
    regex.IGNORECASE,
)

_NAMES_LIST: Final = regex.compile(
    r"\W*(?!(?:who|what|when|where|which|whose|why|how|is|are|was|were|can|could|do|does|did|has|have"
    r"|may|might|must|shall|should|will|would)\b)(?:(?:all|every|the|our|any) )*"
    r"(?:(?:names?|list) of (?:(?:all|the|our) )*)?(?:[\p{L}'’/-]+ ){0,4}?"
    r"[\p{L}'’-]{2,}(?<![sui])s(?: (?:in|of|for|from|at|on|to|with|by|after|during|we|this)\b.*?)?"
    r"(?: (?:pls|plz|please))?\W*",
    regex.IGNORECASE,
)


def asks_for_list(question: str) -> bool:
    """
    >>> asks_for_list("Which keepers were there?"), asks_for_list("Which keeper was first?")
    (True, False)
    """
    return _ASKS_FOR_LIST.search(question) is not None


def names_list(question: str) -> bool:
    """Whether a question is no more than the name of several things.

    >>> names_list("heron risks"), names_list("names of the new keepers pls"), names_list("oil")
    (True, True, False)
    """
    return _NAMES_LIST.fullmatch(question) is not None


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
    is_asked = asks_for_list(gathered.sought.text)
    if not is_asked and not names_list(gathered.sought.text):
        return []
    wanted = gathered.rarity.weighed(gathered.sought.terms)
    shares = {one.candidate.key: one.share for one in ranked}
    leads = [one for one in gathered.candidates if one.introduces]
    introduced = {one.said: one.before for one in leads if _leans(one)}
    share_of_lead = {one.introduces: shares.get(one.key, 0.0) for one in leads}

    def fit(entries: Sequence[Candidate]) -> float:
        lead = _lead(entries, introduced) | _of_each_row(entries)
        lead.update(terms(_heading(entries)))
        title = terms(entries[0].hit.title)
        if not is_asked:
            return wanted.share({*lead, *title})
        # *Which attacks are there in Wesnoth?* All of its manual's lists are about Wesnoth.
        fits = wanted.beyond(title).share(lead)
        fits += share_of_lead.get(entries[0].group, 0.0)
        return fits + sum(shares.get(one.key, 0.0) for one in entries[:MOST_ENTRIES])

    lists = [
        asked
        for one in _lists(gathered).values()
        if len(one) > 1 and _short(asked := _asked_for(one, gathered.sought.terms))
    ]
    best = max(lists, key=fit, default=[])
    most = fit(best) if best else 0.0
    for one in ranked[:AMONG]:
        said = one.candidate.said
        if _IN_A_ROW.search(said) and wanted.share(terms(said)) >= max(FITS, most):
            return [one.candidate]
    if headed and headed.fit >= most:
        return headed.entries
    return _short(best) if most >= (FITS if is_asked else NAMED) else []


def _lead(entries: Sequence[Candidate], introduced: Mapping[str, str]) -> set[str]:
    """The terms of the line that introduces a list, and of the one before it if it leans on that:
    *It has six headings:*"""
    before = entries[0].before
    # A sentence that is none of the list's stands before many lists.
    if is_ended(before) and not _counts(before, entries):
        return set()
    return set(terms(f"{introduced.get(before, '')} {before}"))


def _leans(lead: Candidate) -> bool:
    """Whether a line that introduces a list goes on from the sentence before it."""
    above = lead.hit.text[: lead.statement.start]
    is_apart = above[len(above.rstrip()) :].count("\n") > 1
    return begins_with_pronoun(lead.said) or not is_apart


def _of_each_row(entries: Sequence[Candidate]) -> set[str]:
    """The terms that all rows of a table have, in their columns' names or in their values."""
    rows = [set(terms(one.said)) for one in entries if one.labels]
    return set.intersection(*rows) if len(rows) > 1 else set()


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
    and its heading are called: *Who paid for the lens: Lantern Fund; Amount: £110,000*."""
    best, labels = ranked[0].candidate, terms(ranked[0].candidate.labels)
    wanted = gathered.rarity.weighed(gathered.sought.terms)
    called = {*labels, *terms(" ".join(best.path[-1:]))} if wanted.share(labels) else set()
    if best.group is None or wanted.share(called) < WHOLE:
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
    """Return the list that the best statement is one of, or that follows it closely: of steps, if
    the question asks how something is done, or any below a heading that has all the question's
    words, unless it asks for a date, a name or the like."""
    is_how = gathered.sought.kind is Kind.PROCEDURE or _ASKS_HOW.match(gathered.sought.text)
    if not is_how and gathered.sought.kind is not Kind.OPEN:
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
        if not is_headed and not (is_how and len(telling) * 2 > len(entries)):
            continue
        about = terms(" ".join((first.hit.title, *first.path, first.before)))
        if best.group == key and wanted.share(about) >= FITS:
            return [*given]
        if best.group is None and first.hit is best.hit and 0 < first.place - best.place <= SOON:
            return [best, *given]
    return []


def _short_lists(gathered: Gathered) -> dict[tuple[UUID, int], Sequence[Candidate]]:
    return {key: short for key, one in _lists(gathered).items() if (short := _short(one))}


def _lists(gathered: Gathered) -> dict[tuple[UUID, int], list[Candidate]]:
    """The lists and tables, each under the number of each of its parts: a long table is divided
    among passages."""
    found = groups_of(gathered.candidates)
    tables: dict[tuple[UUID, tuple[str, ...], str], dict[int, Candidate]] = {}
    for entries in found.values():
        tables.setdefault(_table(entries), {}).update({one.start: one for one in entries})
    return {
        key: [one for _, one in sorted(tables[_table(entries)].items())]
        if any(one.labels for one in entries)
        else entries
        for key, entries in found.items()
    }


def _table(entries: Sequence[Candidate]) -> tuple[UUID, tuple[str, ...], str]:
    """What the parts of a table have in common."""
    column = next((one.labels.partition(":")[0] for one in entries if one.labels), "")
    return entries[0].hit.document_id, entries[0].path, column


def goes_on(gathered: Gathered, shown: Sequence[Candidate]) -> bool:
    """Return whether the list has more entries than are shown of it."""
    last = shown[-1]
    whole = _lists(gathered).get(last.group, []) if last.group else []
    return len(shown) >= MOST_ENTRIES and bool(whole) and whole[-1].end != last.end


def _short(entries: Sequence[Candidate]) -> Sequence[Candidate]:
    """The entries that are shown of a list, of a long one the first sentence of each, defined terms
    with their definitions or alone; none of one that is longer still."""
    if len(entries) > MOST_ENTRIES or _words_of(entries) > MOST_WORDS:
        entries = [one for one in entries if one.kind is StatementKind.ENTRY] or entries
    shown = entries[:MOST_ENTRIES]
    if all(map(_is_definition, entries)):
        whole = [with_term(one) for one in shown]
        is_short = _words_of(whole) <= MOST_WORDS
        return whole if is_short else [with_term(one, alone=True) for one in shown]
    return shown if _words_of(shown) <= MOST_WORDS else []


def _words_of(entries: Sequence[Candidate]) -> float:
    return sum(length_of(one.said) for one in entries)


def _is_definition(one: Candidate) -> bool:
    return one.kind is StatementKind.SENTENCE and bool(one.term)


def _heading(of: Sequence[Candidate]) -> str:
    """The heading of a list, which of defined terms is not the first term."""
    path = of[0].path[:-1] if _is_definition(of[0]) else of[0].path
    return path[-1] if path else ""


def _asked_for(entries: Sequence[Candidate], asked: Collection[str]) -> list[Candidate]:
    """Return the rows of a table whose values have most of the question's terms, if some have any
    that others lack: *the reserves at the end of 2024*; of other lists, all entries."""
    # The line above a table's rows names it.
    rows = [one for one in entries if one.labels]
    if len(rows) < 2 or len(rows) * 2 < len(entries):
        return [*entries]
    values = [set(terms(one.said)).difference(terms(one.labels)) for one in rows]
    telling = {term for term in asked if not all(term in own for own in values)}
    held = [len(telling & own) for own in values]
    return [one for one, count in zip(rows, held, strict=True) if count == max(held)]
