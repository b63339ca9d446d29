"""Answers to questions about the documents as a whole, without a model: what the topics say.

No sentence has the words of "What are these documents about?". Each of the topics that matter most
gives one instead: a sentence of its report that stands in one of the passages found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

import regex

from kb_project.text.terms import terms
from retrieval.search import auto_signs as signs
from retrieval.search.answer import Scored
from retrieval.search.assemble import Sentence
from retrieval.search.found import Record, RecordKind
from retrieval.search.sought import Sought, is_filler

MOST: Final = 6
FEWEST: Final = 5
"""Terms of a sentence that can stand for a topic."""
_FIELD: Final = regex.compile(r"\p{Ll}[\w ]{0,30}: ")
_STOPS: Final = (".", "!", "?", "。", "！", "？", "”", "’", '"')


def is_asked(sought: Sought) -> bool:
    """Whether a question is about the whole and names no subject."""
    return signs.asks_for_whole(sought.text) and all(map(is_filler, sought.terms))


def choose(sentences: Sequence[Sentence], records: Iterable[Record]) -> list[Scored]:
    """A sentence for each of the first reports that have one, best first."""
    by_chunk: dict[UUID, list[Sentence]] = {}
    for sentence in sentences:
        by_chunk.setdefault(sentence.chunk_id, []).append(sentence)
    chosen: list[Scored] = []
    for record in records:
        if record.kind is RecordKind.REPORT and len(chosen) < MOST:
            best = _telling(record, by_chunk, [one.sentence for one in chosen])
            chosen += [Scored(best, record.score, 1.0, names_kind=False)] if best else []
    return chosen


def _telling(
    record: Record, by_chunk: Mapping[UUID, Sequence[Sentence]], used: Sequence[Sentence]
) -> Sentence | None:
    """The sentence of the report with most of the names in its title, and the first of such."""
    text, title = " ".join(record.text.split()), set(terms(record.title))
    candidates = [
        one
        for chunk in record.sources
        for one in by_chunk.get(chunk, ())
        if one not in used and _is_whole(one) and one.text in text
    ]
    return max(candidates, key=lambda one: len(one.terms & title), default=None)


def _is_whole(sentence: Sentence) -> bool:
    """Whether it can be read by itself: no line of a record, nothing that leans on another."""
    text = sentence.text
    is_prose = text.endswith(_STOPS) and _FIELD.match(text) is None
    return is_prose and len(sentence.terms) >= FEWEST and not sentence.leans
