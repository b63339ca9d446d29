"""Present passages: hits of a search, and the sources an answer cites, each with its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.urls import reverse

from ingestion.documents.presenters import reader_url, where_of
from ingestion.documents.reader.blocks import plain, plain_around
from ingestion.knowledge.conflicts import SideSpan, others, sides_beside
from ingestion.models import Chunk
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import terms, words
from retrieval.answering.overview_language import to_sum_up
from retrieval.conversations import queries
from retrieval.models import Citation
from retrieval.search.results import Hit
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

    quote: str
    before: str = ""
    after: str = ""
    clipped_before: bool = False
    clipped_after: bool = False


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
    before, quote, after = plain_around(before, chunk.text[first:last], after)
    return Passage(
        before=before,
        quote=quote,
        after=after,
        clipped_before=begin > 0,
        clipped_after=stop < len(chunk.text),
    )


def shortfall(question: str, passage: str) -> tuple[str, ...]:
    """Name the question's words that a passage lacks, in a sentence; () if it has them all.

    >>> shortfall("Who painted the lighthouse?", "The lighthouse was lit in 1869.")
    ('It does not mention “painted”.',)
    >>> shortfall("Sum up the storm", "The lighthouse was lit in 1869.")
    ('It does not mention “storm”.',)
    """
    question = to_sum_up(question) or question
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
        _shown(workspace, question, hit, chunks[hit.chunk_id])
        for hit in hits
        if hit.chunk_id in chunks
    ]


def reported_passages(
    *, workspace: Workspace, question: str, passages: Sequence[Mapping[str, Any]]
) -> tuple[ShownHit, ...]:
    """Present the passages of an answer's ``passages`` event."""
    hits = [
        Hit(
            chunk_id=UUID(str(one["chunk"])),
            document_id=UUID(str(one["document"])),
            title=str(one["title"]),
            heading_path=(),
            page=None,
            start=int(one["start"]),
            end=int(one["end"]),
            score=0.0,
            text=str(one["text"]),
            why=tuple(map(str, one.get("why", ()))),
        )
        for one in passages
    ]
    chunks = queries.chunks_by_id(workspace=workspace, ids=[hit.chunk_id for hit in hits])
    return tuple(
        _shown(workspace, question, hit, chunks.get(hit.chunk_id), place=int(one["number"]))
        for hit, one in zip(hits, passages, strict=True)
    )


def _shown(
    workspace: Workspace, question: str, hit: Hit, chunk: Chunk | None, *, place: int = 0
) -> ShownHit:
    first, last = telling_span(question, hit.text)
    start, end = hit.start + first, hit.start + last
    return ShownHit(
        title=hit.title,
        where=where_of(chunk.version, start) if chunk else "",
        url=reader_url(workspace, hit.document_id, start=start, end=end),
        text=visible_from(hit.text, first),
        why=hit.why,
        place=place,
    )


def visible_from(text: str, start: int) -> str:
    """Return a passage from ``start`` on, cut at a word, with an ellipsis for what is left out.

    >>> visible_from("One. Two.", 5), visible_from("a " * 300, 0).endswith("a …")
    ('… Two.', True)
    """
    shown = text[start : start + SNIPPET]
    if start + SNIPPET < len(text):
        shown = f"{shown.rpartition(' ')[0] or shown} …"
    return f"… {plain(shown)}" if start else plain(shown)


def telling_span(question: str, text: str) -> tuple[int, int]:
    """Return the sentence that has most of the question's words; the first of equals.

    >>> telling_span("Who lit the lamp?", "It was dark. Ada lit the lamp. She slept.")
    (13, 30)
    """
    wanted = set(terms(question))
    spans = sentence_spans(text) or [(0, len(text))]
    return max(spans, key=lambda span: len(wanted & set(terms(text[span[0] : span[1]]))))


# --- cited sources --------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ShownCitation:
    """A source with its citation number; ``url`` opens the first span it is cited for.

    ``url`` is '' if the document was permanently deleted.
    """

    number: int
    title: str
    where: str
    url: str
    passage: Passage


@dataclass(frozen=True, slots=True)
class Chip:
    """A number after a sentence: ``url`` opens that sentence's span, ``card`` is the card's key."""

    number: int
    title: str
    url: str
    card: str


@dataclass(frozen=True, slots=True)
class Dispute:
    """What another source says; ``is_decided`` if people decided that it is the one that holds."""

    url: str
    title: str
    value: str
    is_decided: bool


@dataclass(frozen=True, slots=True)
class Card:
    key: str
    title: str
    where: str
    passage: Passage


@dataclass(frozen=True, slots=True)
class CitedSources:
    """An answer's citations by number, with the passages they were made from."""

    workspace: Workspace
    rows: Mapping[int, Citation]
    chunks: Mapping[UUID, Chunk]
    sides: Sequence[SideSpan] = ()

    @classmethod
    def of(cls, workspace: Workspace, citations: Sequence[Citation]) -> CitedSources:
        ids = [row.chunk_id for row in citations]
        chunks = queries.chunks_by_id(workspace=workspace, ids=ids)
        rows = {row.number: row for row in citations}
        return cls(workspace, rows, chunks, sides_beside(workspace, chunks))

    def disputes(self, sentence: Mapping[str, Any]) -> tuple[Dispute, ...]:
        """Return what other sources say about what the sentence says, one line a value."""
        own: dict[UUID, SideSpan] = {}
        for number, span in self._spans(sentence).items():
            for side in self._sides_at(number, *span):
                # Other sides of a conflict are cited after the sentence's own.
                own.setdefault(side.conflict_id, side)
        found = {
            (one.conflict_id, one.key): Dispute(
                reverse("ingestion:conflict_detail", args=[self.workspace.slug, one.conflict_id]),
                one.title,
                one.value,
                is_decided=not one.is_open,
            )
            for side in own.values()
            for one in others(side, self.sides)
        }
        return tuple(found.values())

    def is_settled(self, sentence: Mapping[str, Any]) -> bool:
        """Return whether people decided a conflict in which the sentence is a side."""
        spans = self._spans(sentence).items()
        sides = [side for number, span in spans for side in self._sides_at(number, *span)]
        return any(not side.is_open for side in sides)

    def _sides_at(self, number: int, start: int, end: int) -> list[SideSpan]:
        chunk = self._chunk(self.rows[number])
        return [one for one in self.sides if chunk and one.is_at(chunk.pk, start, end)]

    def citations(self) -> tuple[ShownCitation, ...]:
        return tuple(
            ShownCitation(
                number=row.number,
                title=row.title,
                where=self._where(row, row.start),
                url=self._url(row, row.start, row.end),
                passage=self._passage(row, row.start, row.end),
            )
            for row in self.rows.values()
        )

    def chips(self, sentence: Mapping[str, Any]) -> tuple[Chip, ...]:
        return tuple(
            Chip(
                number=number,
                title=self.rows[number].title,
                url=self._url(self.rows[number], start, end),
                card=f"{number}-{start}-{end}",
            )
            for number, (start, end) in self._spans(sentence).items()
        )

    def cards(self, sentences: Sequence[Mapping[str, Any]]) -> tuple[Card, ...]:
        """Return a card for each span that any sentence rests on."""
        spans = dict.fromkeys(
            (number, *span) for one in sentences for number, span in self._spans(one).items()
        )
        return tuple(
            Card(
                key=f"{number}-{start}-{end}",
                title=self.rows[number].title,
                where=self._where(self.rows[number], start),
                passage=self._passage(self.rows[number], start, end),
            )
            for number, start, end in spans
        )

    def _spans(self, sentence: Mapping[str, Any]) -> dict[int, tuple[int, int]]:
        """Return the first span of each number; a sentence without spans uses the citation's
        own."""
        found: dict[int, tuple[int, int]] = {}
        for number, start, end in sentence.get("spans") or ():
            if number in self.rows:
                found.setdefault(number, (start, end))
        for number in sentence.get("citations", ()):
            if number in self.rows:
                found.setdefault(number, (self.rows[number].start, self.rows[number].end))
        return found

    def _chunk(self, row: Citation) -> Chunk | None:
        """Return the citation's chunk, if it is of the cited version: in others, offsets differ."""
        chunk = self.chunks.get(row.chunk_id)
        return chunk if chunk and chunk.version.number == row.version_number else None

    def _where(self, row: Citation, start: int) -> str:
        chunk = self._chunk(row)
        return where_of(chunk.version, start) if chunk else ""

    def _passage(self, row: Citation, start: int, end: int) -> Passage:
        """Return the span in its context, or the quote alone if its chunk is gone."""
        chunk = self._chunk(row)
        return passage_of(chunk, start, end) if chunk else Passage(quote=plain(row.quote))

    def _url(self, row: Citation, start: int, end: int) -> str:
        if row.document_id is None:
            return ""
        return reader_url(
            self.workspace, row.document_id, start=start, end=end, version=row.version_number
        )
