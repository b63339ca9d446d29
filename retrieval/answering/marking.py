"""Mark the words that answer within a statement, where a name, a date, a number or a place is asked
for, and give a statement what it cannot do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import regex

from ingestion.vectors.sentences import leans_on_the_one_before
from kb_project.text.words import terms
from retrieval.answering.candidates import Candidate, length_of
from retrieval.answering.citations.citing import Span
from retrieval.search.answer_kinds import UNNAMED, Kind, spans_of_kind
from retrieval.search.query_features import QuestionFeatures

MOST_MARKED: Final = 2
"""Most items marked in one sentence: with more of the kind, it is unclear which is meant."""
CLOSE: Final = 4
"""Characters between two sentences of a paragraph, at most."""
MOST_TOGETHER: Final = 70
"""Words of two sentences that are given as one."""
_JOINS: Final = regex.compile(r"\W{1,2}(?:of |the |to |and |de |von |van )?")
_WORD: Final = regex.compile(r"[\p{L}\p{N}]+")

_MEANS_SOMEBODY: Final = regex.compile(r"\p{Lu}[^,.;]{1,50}, (?:he|she|it|they)\b")


def marked(said: str, sought: QuestionFeatures) -> tuple[Span, ...]:
    """Return offsets in ``said``, none if the question is open or no such item is there.

    >>> from retrieval.search.query_features import read
    >>> said = "The light was lit on 5 May 1866."
    >>> [said[start:end] for start, end in marked(said, read("When was the light lit?"))]
    ['5 May 1866']
    """
    if sought.kind in UNNAMED:
        return ()
    asked, is_name = set(sought.terms), sought.kind in (Kind.PERSON, Kind.PLACE)
    spans, new = spans_of_kind(said, sought.kind), []
    if is_name:
        spans = apart(spans, spans_of_kind(said, Kind.DATE))
    for start, end in _joined(said, spans):
        # *The* is capitalised at the start but is not a name; *ten* is a number without a term.
        held = terms(said[start:end]) or ([] if is_name else [said[start:end].lower()])
        if not asked.issuperset(held):
            new.append((start, end))
    if is_name:
        # A single word at the start may be capitalised only for that reason.
        new = [
            (start, end)
            for start, end in new
            if said[:start].strip("\"'“‘(") or " " in said[start:end]
        ] or new
    return tuple(_nearest(new, said, asked))


def apart(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """The spans that overlap none of the others."""
    return [
        (start, end) for start, end in spans if not any(start < o[1] and o[0] < end for o in others)
    ]


def _joined(said: str, spans: Iterable[Span]) -> list[Span]:
    """Join adjacent spans: *July*, *24th* and *1998*."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and _JOINS.fullmatch(said, joined[-1][1], start):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _nearest(spans: Sequence[Span], said: str, asked: set[str]) -> list[Span]:
    """Return all spans if they are few, else the one nearest to words of the question."""
    if len(spans) <= MOST_MARKED:
        return list(spans)
    places = [
        match.start() for match in _WORD.finditer(said) if asked.intersection(terms(match.group()))
    ]
    if not places:
        return []
    return [min(spans, key=lambda span: sum(abs(span[0] - place) for place in places))]


def with_whom(best: Sequence[Candidate], among: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return *He built it in 1866* together with the sentence before it, which says who and what; a
    second statement would be too much then."""
    first = best[0]
    if not leans_on_the_one_before(first.statement) and not _MEANS_SOMEBODY.match(first.said):
        return best
    for one in among:
        is_right_before = 0 <= first.start - one.end < CLOSE and one.said == first.before
        if is_right_before and one.hit.chunk_id == first.hit.chunk_id:
            said = f"{one.said} {first.said}"
            statement = replace(first.statement, start=one.statement.start, said=said)
            is_short = length_of(said) <= MOST_TOGETHER
            return [replace(first, statement=statement, before=one.before)] if is_short else best
    return best
