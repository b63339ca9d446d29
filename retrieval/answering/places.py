"""Places that a question names by their numbers: *clause 8.1*, *schedule 2*, *step 6*, *3.3.3*.

Whoever knows a contract or a manual asks for what stands there, in words that need not be its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import regex

from kb_project.sql import run_sql
from kb_project.text.statements import StatementKind
from kb_project.text.words import terms
from retrieval.answering import ranking, sql
from retrieval.answering.candidates import Candidate, length_of
from retrieval.answering.ranking import Gathered, Ranked
from retrieval.search.query import Query
from retrieval.search.query_features import QuestionFeatures
from retrieval.search.results import Hit

MOST_DOCUMENTS: Final = 10
"""Documents of the passages found in which the place is looked for."""
MOST_PASSAGES: Final = 12
MOST_WORDS: Final = 150
"""Words of a place up to which the whole of it answers."""
MOST_BEST: Final = 2

_ENTRIES: Final = ("step", "point", "item")
_NUMBERED: Final = ("clause", "section", "article", "paragraph", "rule", *_ENTRIES)
"""Their numbers may stand alone: *8.1 The supplier …*"""
_TITLED: Final = ("schedule", "appendix", "annex", "exhibit", "chapter")
"""Their numbers stand behind the word: *Schedule 2 – Safety stock*."""
_VERSION: Final = "version"
"""Its number stands alone, or with a date: *4.8.1 (May 2026)*."""
_NUMBER: Final = r"\d{1,3}(?:\.\d{1,3})*"
_HAN: Final = "第[0-9０-９一二三四五六七八九十百千零〇两]{1,6}[条條章节節款]"
_NAMED: Final = regex.compile(
    rf"(?:\b(?P<numbered>{'|'.join(_NUMBERED)})\s+|§\s*)(?P<number>{_NUMBER})(?![\w-])"
    r"(?:\s?\((?P<part>[a-z])\))?"
    rf"|\b(?P<titled>{'|'.join(_TITLED)})\s+(?P<letter>{_NUMBER}|[a-h]|[ivx]{{1,4}})(?![\w-])"
    rf"|\b(?P<version>version|release|v)\s?(?P<released>{_NUMBER}(?<=\.\d+))(?![\w-])"
    r"|(?<![\w.,-])(?P<alone>\d{1,3}(?:\.\d{1,3}){2,4})(?![\w-])"
    rf"|(?P<han>{_HAN})",
    regex.IGNORECASE,
)
_LABEL: Final = regex.compile(rf"[#*\s]*(?:{_NUMBER}(?:[.):]|(?=\s))|{_HAN})")


@dataclass(frozen=True, slots=True)
class Place:
    """``word`` is what the question calls it (*clause*), '' without such a word; ``part`` is the
    letter behind the number: *5.3 (b)*."""

    word: str
    number: str
    part: str = ""

    @property
    def is_entry(self) -> bool:
        return self.word in _ENTRIES

    @property
    def is_common(self) -> bool:
        """Whether many documents have a line that begins with its number."""
        return self.word in _NUMBERED and "." not in self.number

    @property
    def pattern(self) -> str:
        """How its line or its heading begins, for Postgres as for Python."""
        word = f"{self.word} " if self.word in _TITLED else f"(({'|'.join(_NUMBERED)}) |§ ?)?"
        number = self.number.replace(".", r"\.")
        if self.word == _VERSION:
            words = r"((version|release|v) ?)?"
            return rf"(^|\n)[#*\s\[]*{words}{number}(\.\d{{1,3}})*\]?\s*([\d(:–—-]|$)"
        if number.startswith("第"):
            return rf"(^|\n)[#*\s]*{number}"
        return rf"(^|\n)[#*\s]*{word}{number}(\.\d{{1,3}})*([.):]?\s|[.):]?$|[:–—])"

    def begins(self, line: str) -> bool:
        return regex.match(self.pattern, line, regex.IGNORECASE) is not None


def named_in(question: str) -> Place | None:
    """
    >>> named_in("What does clause 8.1 say?"), named_in("Is 3.3.3 about leave?")
    (Place(word='clause', number='8.1', part=''), Place(word='', number='3.3.3', part=''))
    >>> named_in("What is new in version 4.8?").number, named_in("Who paid 8.1 pounds?")
    ('4.8', None)
    """
    named = _NAMED.search(question)
    if named is None:
        return None
    word = named["numbered"] or named["titled"] or (_VERSION if named["version"] else "")
    number = next(filter(None, named.group("number", "letter", "released", "alone", "han")))
    return Place(word.lower(), number, named["part"] or "")


def with_place(query: Query, found: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits, with the passages of their documents that have the place which the question
    names. Call in a transaction."""
    place = named_in(query.question)
    if place is None:
        return found
    documents = list(dict.fromkeys(one.document_id for one in found))[:MOST_DOCUMENTS]
    values = {"documents": documents, "pattern": place.pattern, "most": MOST_PASSAGES}
    rows = run_sql(sql.PASSAGES_AT, values | {"workspace": query.workspace_id})
    return ranking.joined(query, found, [id_ for (id_,) in rows])


def statements_at(gathered: Gathered, ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return the statements at the place that the question names: all of a short one, in order, the
    best of a longer one; none if it names no place or none was found.

    Of several documents that have it, the one whose title the question names most, then the one
    whose statements are best.
    """
    place = named_in(gathered.sought.text)
    there = {one.key: one for one in _at(place, gathered.candidates)} if place else {}
    if place is None or not any(one.statement.states for one in there.values()):
        return []
    order = list(dict.fromkeys(one.candidate.hit.document_id for one in ranked))
    wanted = gathered.rarity.weighed(gathered.sought.terms)

    def fit(one: Candidate) -> tuple[float, int]:
        id_, named = one.hit.document_id, wanted.share(terms(one.hit.title))
        return named, -order.index(id_) if id_ in order else -len(order)

    document = max(there.values(), key=fit).hit.document_id
    found = [one for one in there.values() if one.hit.document_id == document]
    if place.is_common and not _is_about(found, gathered.sought, place):
        return []
    best = [one.candidate for one in ranked if one.candidate in found] or found
    if place.part:
        mark = f"({place.part.lower()})"
        found = [one for one in found if _line_of(one).strip().startswith(mark)] or found
    if place.is_entry:
        found = [one for one in found if one.group == best[0].group]
    if sum(length_of(one.said) for one in found) <= MOST_WORDS:
        return sorted(found, key=lambda one: one.start)
    return best[:MOST_BEST]


def _is_about(found: Sequence[Candidate], sought: QuestionFeatures, place: Place) -> bool:
    """Whether a place is about anything else that the question has: *Section 8* may be a law."""
    others = set(sought.terms).difference(terms(f"{place.word} {place.number}"))
    said = " ".join((found[0].hit.title, *found[0].path, *(one.said for one in found)))
    return not others or not others.isdisjoint(terms(said))


def lacks_place(sought: QuestionFeatures, said: Iterable[Candidate]) -> bool:
    """Return whether the question names a place that none of the statements does: then the
    documents have no such place."""
    place = named_in(sought.text)
    if place is None or place.is_entry:
        return False
    number = regex.compile(rf"(?<![\w.]){regex.escape(place.number)}(?!\w|\.\d)", regex.IGNORECASE)
    return not any(number.search(one.said) for one in said)


def _at(place: Place, found: Sequence[Candidate]) -> Iterator[Candidate]:
    for _, passage in groupby(found, key=lambda one: one.hit.chunk_id):
        is_open, below = False, None
        for one in passage:
            inner = [title for _, title in one.statement.path]
            line = _line_of(one)
            ends = place.is_entry and one.introduces
            if ends or _LABEL.match(line) or inner != below:
                # Sections are no entries of lists, unless their numbers have parts.
                is_kind = "." in place.number or (one.kind is StatementKind.ENTRY) == place.is_entry
                is_open = is_kind and place.begins(line)
            below = inner
            if is_open or any(map(place.begins, inner or one.hit.heading_path)):
                yield one


def _line_of(one: Candidate) -> str:
    """The statement with what stands before it in its line, such as a number."""
    text, start = one.hit.text, one.statement.start
    return text[text.rfind("\n", 0, start) + 1 : one.statement.end]
