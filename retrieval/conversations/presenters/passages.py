"""Present passages: a span with its context, clipped at word boundaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ingestion.documents.links import reader_url
from ingestion.documents.presenters import where_of
from ingestion.documents.reader.inline import plain
from ingestion.models import Chunk
from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms
from kb_project.text.words import words
from retrieval.conversations import queries
from retrieval.search.hits import Hit
from workspaces.models import Workspace

BEFORE: Final = 90
AFTER: Final = 220
"""Characters of a passage shown around a cited sentence: few before it, to keep it in view."""

SNIPPET: Final = 420
MOST_MISSING: Final = 4
# Question words that say what kind of answer is wanted, not what it is about.
ASKING: Final = frozenset(
    "how many much long often far old big does did do can about during since after before".split()
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A cited sentence with a little context."""

    before: str
    quote: str
    after: str
    clipped_before: bool
    clipped_after: bool


@dataclass(frozen=True, slots=True)
class ShownHit:
    """``number`` is that of the citation, 0 if there is none; ``place`` its number among the
    passages found."""

    title: str
    where: str
    url: str
    text: str
    why: tuple[str, ...] = ()
    number: int = 0
    place: int = 0


def passage_of(chunk: Chunk, start: int, end: int) -> Passage:
    """Return the span with some characters of its chunk on either side, cut at a word."""
    first, last = start - chunk.start, end - chunk.start
    begin, stop = max(0, first - BEFORE), min(len(chunk.text), last + AFTER)
    before, after = chunk.text[begin:first], chunk.text[last:stop]
    if begin > 0:
        before = before.partition(" ")[2] or before
    if stop < len(chunk.text):
        after = after.rpartition(" ")[0] or after
    return Passage(
        before=plain(before),
        quote=plain(chunk.text[first:last]),
        after=plain(after),
        clipped_before=begin > 0,
        clipped_after=stop < len(chunk.text),
    )


def quoted(text: str) -> Passage:
    """Return a quotation whose context is gone."""
    return Passage("", plain(text), "", clipped_before=False, clipped_after=False)


def shortfall(question: str, passage: str) -> tuple[str, ...]:
    """Name the question's words that a passage lacks, in a sentence; () if it has them all.

    >>> shortfall("Who painted the lighthouse?", "The lighthouse was lit in 1869.")
    ('It does not mention “painted”.',)
    """
    there = set(terms(passage))
    asked = [
        question[word.start : word.end] for word in words(question) if word.folded not in ASKING
    ]
    missing = [word for word in asked if (wanted := set(terms(word))) and not wanted & there]
    if not missing:
        return ()
    named = [f"“{word}”" for word in dict.fromkeys(missing)][:MOST_MISSING]
    return (f"It does not mention {' or '.join(named)}.",)


def shown_hits(*, workspace: Workspace, question: str, hits: Sequence[Hit]) -> list[ShownHit]:
    """Present hits from their most relevant sentence on, which the reader also marks."""
    chunks = queries.chunks_by_id(workspace=workspace, ids=[hit.chunk_id for hit in hits])
    return [
        _hit(workspace, hit, chunks[hit.chunk_id], telling_span(question, hit.text))
        for hit in hits
        if hit.chunk_id in chunks
    ]


def _hit(workspace: Workspace, hit: Hit, chunk: Chunk, span: tuple[int, int]) -> ShownHit:
    start, end = hit.start + span[0], hit.start + span[1]
    return ShownHit(
        title=hit.title,
        where=where_of(chunk.version, start),
        url=reader_url(workspace, hit.document_id, start=start, end=end),
        text=told_from(hit.text, span[0]),
        why=hit.why,
    )


def reported_passages(
    *, workspace: Workspace, question: str, passages: Sequence[Mapping[str, Any]]
) -> tuple[ShownHit, ...]:
    """Present the passages of an answer's ``passages`` event."""
    ids = [UUID(str(one["chunk"])) for one in passages]
    chunks = queries.chunks_by_id(workspace=workspace, ids=ids)
    return tuple(
        _reported(workspace, question, one, chunks.get(pk))
        for pk, one in zip(ids, passages, strict=True)
    )


def _reported(
    workspace: Workspace, question: str, one: Mapping[str, Any], chunk: Chunk | None
) -> ShownHit:
    text, start = str(one["text"]), int(one["start"])
    first, last = telling_span(question, text)
    return ShownHit(
        title=str(one["title"]),
        where=where_of(chunk.version, start + first) if chunk else "",
        url=reader_url(workspace, one["document"], start=start + first, end=start + last),
        text=told_from(text, first),
        why=tuple(map(str, one.get("why", ()))),
        place=int(one["number"]),
    )


def told_from(text: str, start: int) -> str:
    """Return the visible part of a passage from ``start`` on, with an ellipsis for what precedes
    it.

    >>> told_from("One. Two.", 5)
    '… Two.'
    """
    shown = plain(snippet_of(text, start))
    return f"… {shown}" if start else shown


def snippet_of(text: str, start: int) -> str:
    """Return the visible part of a long passage from ``start`` on, cut at a word.

    >>> snippet_of("a " * 300, 0).endswith("a …")
    True
    """
    shown = text[start : start + SNIPPET]
    return shown if start + SNIPPET >= len(text) else f"{shown.rpartition(' ')[0] or shown} …"


def telling_span(question: str, text: str) -> tuple[int, int]:
    """Return the sentence that has most of the question's words; the first of equals.

    >>> telling_span("Who lit the lamp?", "It was dark. Ada lit the lamp. She slept.")
    (13, 30)
    """
    wanted = set(terms(question))
    spans = sentence_spans(text) or [(0, len(text))]
    return max(spans, key=lambda span: len(wanted & set(terms(text[span[0] : span[1]]))))
