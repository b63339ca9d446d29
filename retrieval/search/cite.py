"""Cite: put chosen sentences into the order they are read in, and number what they rest on.

A citation is a span of one passage; the same span has the same number wherever it is cited.
Sentences that follow each other in a passage share one citation of the whole stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from retrieval.search.answer import Scored
from retrieval.search.assemble import Sentence
from retrieval.search.hits import Hit

NEAREST: Final = 3


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """``quote`` is the document's text from ``start`` to ``end``."""

    number: int
    chunk_id: UUID
    document_id: UUID
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class CitedSentence:
    text: str
    citations: tuple[int, ...]


def cite(
    chosen: Sequence[Scored], hits: Sequence[Hit]
) -> tuple[list[CitedSentence], list[CitedSpan]]:
    """The sentences in reading order, each with the numbers of its citations."""
    passages = {hit.chunk_id: hit for hit in hits}
    sentences: list[CitedSentence] = []
    spans: list[CitedSpan] = []
    for number, run in enumerate(_runs(reading_order(chosen), passages), start=1):
        spans.append(_span(number, run, passages[run[0].chunk_id]))
        sentences += [CitedSentence(sentence.text, (number,)) for sentence in run]
    return sentences, spans


def reading_order(chosen: Sequence[Scored]) -> list[Sentence]:
    """Documents by their best sentence, and within a document as it is written."""
    sentences = [one.sentence for one in chosen]
    documents = list(dict.fromkeys(sentence.document_id for sentence in sentences))
    return sorted(sentences, key=lambda one: (documents.index(one.document_id), one.start))


def nearest(sentences: Sequence[Scored]) -> list[Scored]:
    """The best sentence of each of the first few passages, for a question without an answer."""
    best: dict[UUID, Scored] = {}
    for one in sentences:
        known = best.get(one.sentence.chunk_id)
        if known is None or one.score > known.score:
            best[one.sentence.chunk_id] = one
    return sorted(best.values(), key=lambda one: -one.score)[:NEAREST]


def _runs(sentences: Sequence[Sentence], passages: Mapping[UUID, Hit]) -> Iterator[list[Sentence]]:
    """Sentences grouped where only white space is between one and the next."""
    run: list[Sentence] = []
    for sentence in sentences:
        if run and not _follows(run[-1], sentence, passages):
            yield run
            run = []
        run.append(sentence)
    if run:
        yield run


def _follows(one: Sentence, following: Sentence, passages: Mapping[UUID, Hit]) -> bool:
    if one.chunk_id != following.chunk_id:
        return False
    hit = passages[one.chunk_id]
    return not hit.text[one.end - hit.start : following.start - hit.start].strip()


def _span(number: int, run: Sequence[Sentence], hit: Hit) -> CitedSpan:
    start, end = run[0].start, run[-1].end
    return CitedSpan(
        number=number,
        chunk_id=hit.chunk_id,
        document_id=hit.document_id,
        start=start,
        end=end,
        quote=hit.text[start - hit.start : end - hit.start],
    )
