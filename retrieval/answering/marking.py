"""Mark the words of a sentence that answer a question for a name, a date, a number or a place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import regex

from kb_project.text.terms import terms
from retrieval.search.query_features import Kind, Sought, spans_of_kind

MOST: Final = 2
"""Most items marked in one sentence: with more of the kind, it is unclear which is meant."""
_JOINS: Final = regex.compile(r"\W{1,2}(?:of |the |to |and |de |von |van )?")
_WORD: Final = regex.compile(r"[\p{L}\p{N}]+")

Span = tuple[int, int]


def marked(said: str, sought: Sought) -> tuple[Span, ...]:
    """Return offsets in ``said``, none if the question is open or the sentence has no such item.

    >>> from retrieval.search.query_features import read
    >>> said = "The light was lit on 5 May 1866."
    >>> [said[start:end] for start, end in marked(said, read("When was the light lit?"))]
    ['5 May 1866']
    """
    if sought.kind is Kind.OPEN:
        return ()
    asked, is_name = set(sought.terms), sought.kind in (Kind.PERSON, Kind.PLACE)
    new = []
    for start, end in _joined(said, spans_of_kind(said, sought.kind)):
        # *The* is capitalised at the start but is not a name; *ten* is a number without a term.
        held = terms(said[start:end]) or ([] if is_name else [said[start:end].lower()])
        if not asked.issuperset(held):
            new.append((start, end))
    if is_name:
        new = [span for span in new if not _begins(said, span)] or new
    return tuple(_nearest(new, said, asked))


def _joined(said: str, spans: Iterable[Span]) -> list[Span]:
    """Join adjacent spans: *July*, *24th* and *1998*."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and _JOINS.fullmatch(said, joined[-1][1], start):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _begins(said: str, span: Span) -> bool:
    """Return whether the span is a single word at the start, capitalised only for that reason."""
    return not said[: span[0]].strip("\"'“‘(") and " " not in said[slice(*span)]


def _nearest(spans: Sequence[Span], said: str, asked: set[str]) -> list[Span]:
    """Return all spans if they are few, else the one nearest to words of the question."""
    if len(spans) <= MOST:
        return list(spans)
    places = [
        match.start() for match in _WORD.finditer(said) if asked.intersection(terms(match.group()))
    ]
    if not places:
        return []
    return [min(spans, key=lambda span: sum(abs(span[0] - place) for place in places))]
