"""Who wrote a message, and when: the lines *From* and *Date* above what answers.

They are no statements: few who ask about what an e-mail says want to read its head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import regex

from kb_project.sql import run_sql
from kb_project.text.statements import Statement, StatementKind
from kb_project.text.words import one_line, terms
from retrieval.answering import places, sql
from retrieval.answering.candidates import Candidate
from retrieval.answering.ranking import Gathered, Ranked
from retrieval.search.query import ScoredChunk
from retrieval.search.results import Hit, hydrate

FITS: Final = 0.5
"""The share of the question's terms, by rarity, that the message's subject or what it says has."""

_ASKS_WHO: Final = regex.compile(
    r"\bwho\b.{0,20}\b(?:sent|wrote|writes|(?:e-?)?mail(?:ed|s)?|messaged|complain(?:ed|s))\b",
    regex.IGNORECASE,
)
_ASKS_WHEN: Final = regex.compile(
    r"\bwhen\b.{0,60}\b(?:sent|send|wrote|write|written|(?:e-?)?mail(?:ed|s)?)\b", regex.IGNORECASE
)
_FROM_WHERE: Final = regex.compile(r"\bfrom\b", regex.IGNORECASE)
_LATEST: Final = regex.compile(r"\b(?:last|latest|most recently)\b", regex.IGNORECASE)
_OF_ASKING: Final = frozenset(
    terms("sent send wrote write writes written mail mailed email emailed message messaged")
)
_FROM: Final = r"(^|\n)From: "
_HEAD: Final = regex.compile(
    r"^From: (?P<sender>[^\n]+)(?:\n+(?:To|Cc|Bcc|Subject|Reply-To): [^\n]*)*?"
    r"\n+(?P<date>(?:Date|Sent): [^\n]+)",
    regex.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _Head:
    """The lines above a message."""

    sender: Candidate
    date: Candidate


def head_of(workspace_id: UUID, gathered: Gathered, ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return who wrote the message that the best statement is of, and when, what is asked for
    first; none if neither is asked for or it is of no message. Call in a transaction."""
    question = gathered.sought.text
    asks_when = _ASKS_WHEN.search(question) is not None
    if not ranked or not (asks_when or _ASKS_WHO.search(question)):
        return []
    best = ranked[0].candidate
    wanted = gathered.rarity.weighed(set(gathered.sought.terms) - _OF_ASKING)
    if wanted.share(terms(f"{best.hit.title} {best.said} {best.before}")) < FITS:
        return []
    heads = list(_heads(workspace_id, best.hit.document_id))
    names_sender = asks_when or _FROM_WHERE.search(question)
    named = [
        one for one in heads if names_sender and _named(one).intersection(gathered.sought.terms)
    ]
    above = [one for one in heads if one.sender.start <= best.start]
    # A thread has its latest message first.
    latest = heads[:1] if _LATEST.search(question) else []
    for one in (*named[:1], *latest, *above[-1:]):
        return [one.date, one.sender] if asks_when else [one.sender, one.date]
    return []


def _heads(workspace_id: UUID, document_id: UUID) -> Iterator[_Head]:
    values = {"workspace": workspace_id, "documents": [document_id], "pattern": _FROM}
    rows = run_sql(sql.PASSAGES_AT, values | {"most": places.MOST_PASSAGES})
    for hit in hydrate(workspace_id, [ScoredChunk(id_, 1.0) for (id_,) in rows]):
        for head in _HEAD.finditer(hit.text):
            sender = _line(hit, head.start(), head.end("sender"))
            yield _Head(sender, _line(hit, *head.span("date")))


def _line(hit: Hit, start: int, end: int) -> Candidate:
    said = one_line(hit.text[start:end])
    return Candidate(hit, 0, Statement(start, end, StatementKind.SENTENCE, said))


def _named(head: _Head) -> set[str]:
    """The terms of the sender's name, without the address."""
    return set(terms(head.sender.said.partition("<")[0])) - {"from"}
