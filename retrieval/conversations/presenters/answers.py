"""Present an answer on its page: sentences with chips, cards behind them, sources below."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ingestion.documents import queries as document_queries
from ingestion.documents.links import reader_url
from ingestion.documents.presenters import where_of
from ingestion.documents.reader.inline import plain
from ingestion.models import Chunk
from retrieval.answering import greeting
from retrieval.conversations import queries
from retrieval.conversations.presenters.passages import (
    Passage,
    ShownHit,
    passage_of,
    quoted,
    shortfall,
)
from retrieval.conversations.queries import Asked
from retrieval.models import (
    NEXT_STEP,
    NOT_SEARCHED,
    AnswerState,
    Citation,
    Outcome,
    Question,
)
from retrieval.search.modes import MODES, Mode
from workspaces.models import Workspace

EXTRACTIVE: Final = "Sentences chosen from your documents: no chat model is set up."
KINDS: Final = {
    "extractive": ("Extractive answer", EXTRACTIVE),
    greeting.WRITTEN_BY: ("About this workspace", "Nothing was searched."),
}
MOST_NEAREST: Final = 3
LIST_MARKS: Final = frozenset("-*+•")
EMPTY_SCOPE: Final = "scope_empty"
PASSING: Final = frozenset(
    {
        "graph_pending",
        "reports_pending",
        "snapshot_outdated",
        "snapshot_renewed",
        "tree_pending",
        "vectors_pending",
        "words_only",
    }
)
"""Codes of notes about unfinished work: they will soon no longer be true."""
OPENS: Final = "\ue000"
CLOSES: Final = "\ue001"
"""Private-use characters that delimit marked words while Markdown is removed."""
STRAY: Final = re.compile(f"[{OPENS}{CLOSES}]")
MARKED: Final = re.compile(f"{OPENS}([^{OPENS}{CLOSES}]*){CLOSES}")
UNDER_WAY: Final = frozenset({AnswerState.QUEUED, AnswerState.RUNNING})


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
class Card:
    key: str
    title: str
    where: str
    passage: Passage


@dataclass(frozen=True, slots=True)
class Words:
    """Some words of a sentence; ``is_marked`` if they answer the question."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence; ``verdict`` is that of ``Check``, or '' if there is nothing to check, as in a
    heading.

    ``uncited`` means unsupported because it cites no source.
    """

    words: tuple[Words, ...]
    chips: tuple[Chip, ...]
    verdict: str

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.words)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """``kind`` is heading, entry (of a list), or '' for plain text."""

    kind: str
    sentences: tuple[ShownSentence, ...]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer to show. ``problem`` says why it failed; ``reason`` why its mode was chosen.

    ``is_told`` if it is final, though follow-up questions may still be coming. ``message`` says
    that there is no answer, ``next_step`` what to do then; ``note`` is the one line below an
    answer, and ``remarks`` are all other notes made when it was asked.
    """

    id: str
    state: str
    is_under_way: bool
    is_told: bool
    outcome: str
    message: str
    next_step: str
    is_supported: bool
    paragraphs: tuple[Paragraph, ...]
    cards: tuple[Card, ...]
    citations: tuple[ShownCitation, ...]
    nearest: tuple[ShownHit, ...]
    searched: str
    is_narrowed: bool
    is_scope_empty: bool
    mode: Mode | None
    reason: str
    note: str
    remarks: tuple[str, ...]
    follow_ups: tuple[str, ...]
    problem: dict[str, Any] | None
    kind_label: str
    kind_explanation: str

    @property
    def sentences(self) -> tuple[ShownSentence, ...]:
        return tuple(sentence for part in self.paragraphs for sentence in part.sentences)

    @property
    def has_general(self) -> bool:
        """Whether a model was allowed to use its own knowledge, and did."""
        return any(one.verdict == "general" for one in self.sentences)


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's citations by number, with the passages they were made from."""

    workspace: Workspace
    rows: Mapping[int, Citation]
    chunks: Mapping[Any, Chunk]

    def chips(self, sentence: Mapping[str, Any]) -> tuple[Chip, ...]:
        return tuple(
            Chip(
                number=number,
                title=self.rows[number].title,
                url=_url_of(self.workspace, self.rows[number], start, end),
                card=f"{number}-{start}-{end}",
            )
            for number, (start, end) in self._spans(sentence).items()
        )

    def cards(self, sentences: Sequence[Mapping[str, Any]]) -> tuple[Card, ...]:
        """Return a card for each span that any sentence rests on."""
        spans = dict.fromkeys(
            (number, *span) for one in sentences for number, span in self._spans(one).items()
        )
        return tuple(self._card(number, start, end) for number, start, end in spans)

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

    def _card(self, number: int, start: int, end: int) -> Card:
        row = self.rows[number]
        chunk = _chunk_of(row, self.chunks)
        return Card(
            key=f"{number}-{start}-{end}",
            title=row.title,
            where=where_of(chunk.version, start) if chunk else "",
            passage=passage_of(chunk, start, end) if chunk else quoted(row.quote),
        )


def cited_of(*, workspace: Workspace, citations: Sequence[Citation]) -> Cited:
    chunks = queries.chunks_by_id(workspace=workspace, ids=[row.chunk_id for row in citations])
    return Cited(workspace, {row.number: row for row in citations}, chunks)


def shown_answer(*, workspace: Workspace, asked: Asked) -> ShownAnswer:
    answer, cited = asked.answer, cited_of(workspace=workspace, citations=asked.citations)
    mode = MODES.get(answer.mode or asked.question.mode)
    is_extractive = answer.written_by == "extractive"
    notes = answer.trace.get("notes", [])
    lasting, remarks = _sorted_notes(notes)
    label, explanation = KINDS.get(
        answer.written_by, ("Written answer", f"Written by {answer.written_by}.")
    )
    return ShownAnswer(
        id=str(answer.pk),
        state=answer.state,
        is_under_way=answer.state in UNDER_WAY,
        is_told=answer.is_finished or answer.is_written,
        outcome=answer.outcome,
        message=answer.message,
        next_step=NEXT_STEP if answer.message == Outcome.NOTHING.label else "",
        is_supported=answer.is_supported,
        paragraphs=paragraphs(answer.sentences, cited, each_alone=is_extractive),
        cards=cited.cards(answer.sentences),
        citations=tuple(shown_citation(workspace, row, cited.chunks) for row in asked.citations),
        nearest=_nearest(workspace, asked),
        searched=_searched(workspace, asked.question),
        is_narrowed=bool(asked.question.scope),
        is_scope_empty=any(note["code"] == EMPTY_SCOPE for note in notes),
        mode=mode,
        reason=str((answer.trace.get("plan") or {}).get("reason", "")),
        note=lasting,
        remarks=remarks,
        follow_ups=tuple(map(str, answer.follow_ups)),
        problem=answer.problem,
        kind_label=label,
        kind_explanation=explanation,
    )


def _sorted_notes(notes: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Return the note to show with the answer, and those that only say how it was found."""
    told = [one for one in notes if one["code"] not in NOT_SEARCHED]
    shown = next((one for one in told if one["code"] not in PASSING), None)
    remarks = tuple(str(one["sentence"]) for one in told if one is not shown)
    return str(shown["sentence"]) if shown else "", remarks


def paragraphs(
    sentences: Sequence[Mapping[str, Any]], cited: Cited, *, each_alone: bool
) -> tuple[Paragraph, ...]:
    """Group sentences into paragraphs; one that begins with a line break begins a new paragraph."""
    found: list[tuple[str, list[ShownSentence]]] = []
    for row in sentences:
        text = str(row["text"])
        if not found or each_alone or text.startswith("\n"):
            found.append(("" if each_alone else kind_of(text), []))
        found[-1][1].append(_sentence(row, cited))
    return tuple(Paragraph(kind, tuple(said)) for kind, said in found)


def kind_of(text: str) -> str:
    """Return what the line's Markdown makes it.

    >>> kind_of("\\n## The light"), kind_of("- It burns oil."), kind_of("It burns oil.")
    ('heading', 'entry', '')
    """
    mark = text.split(maxsplit=1)[0] if text.split() else ""
    if mark and not mark.strip("#"):
        return "heading"
    return "entry" if mark in LIST_MARKS else ""


def _sentence(row: Mapping[str, Any], cited: Cited) -> ShownSentence:
    chips = cited.chips(row)
    unchecked = {} if "check" in row else {"verdict": "unsupported" if not chips else ""}
    verdict = str((row.get("check") or unchecked).get("verdict", ""))
    if verdict == "unsupported" and not chips:
        verdict = "uncited"
    return ShownSentence(tuple(_words(str(row["text"]), row.get("marked", ()))), chips, verdict)


def _words(text: str, marked: Sequence[Sequence[int]]) -> Iterator[Words]:
    """Yield the text without Markdown, cut where the answering words begin and end."""
    text = STRAY.sub("\ufffd", text)
    for start, end in sorted(((one[0], one[1]) for one in marked), reverse=True):
        text = f"{text[:start]}{OPENS}{text[start:end]}{CLOSES}{text[end:]}"
    parts = MARKED.split(plain(text.strip().lstrip("•")).strip())
    for place, part in enumerate(parts):
        if shown := STRAY.sub("", part):
            yield Words(shown, is_marked=place % 2 == 1)


def shown_citation(
    workspace: Workspace, citation: Citation, chunks: Mapping[Any, Chunk]
) -> ShownCitation:
    """Present a citation. If its chunk is gone, the quote is shown without its context."""
    start, end, chunk = citation.start, citation.end, _chunk_of(citation, chunks)
    return ShownCitation(
        number=citation.number,
        title=citation.title,
        where=where_of(chunk.version, start) if chunk else "",
        url=_url_of(workspace, citation, start, end),
        passage=passage_of(chunk, start, end) if chunk else quoted(citation.quote),
    )


def _chunk_of(citation: Citation, chunks: Mapping[Any, Chunk]) -> Chunk | None:
    """Return the citation's chunk, if it is of the cited version: in others, offsets differ."""
    chunk = chunks.get(citation.chunk_id)
    return chunk if chunk and chunk.version.number == citation.version_number else None


def _url_of(workspace: Workspace, citation: Citation, start: int, end: int) -> str:
    """Return the reader's URL, '' if the document was permanently deleted."""
    if citation.document_id is None:
        return ""
    return reader_url(
        workspace, citation.document_id, start=start, end=end, version=citation.version_number
    )


def _searched(workspace: Workspace, question: Question) -> str:
    total = document_queries.searched_count(workspace=workspace)
    noun = "document" if total == 1 else "documents"
    narrowed = ", narrowed by filters" if question.scope else ""
    return f"{total} {noun} in {workspace.name}{narrowed}."


def _nearest(workspace: Workspace, asked: Asked) -> tuple[ShownHit, ...]:
    spans = asked.nearest[:MOST_NEAREST]
    chunks = queries.chunks_by_id(workspace=workspace, ids=[span.chunk_id for span in spans])
    return tuple(
        ShownHit(
            title=span.document.title,
            where=where_of(chunks[span.chunk_id].version, span.start),
            url=reader_url(workspace, span.document.pk, start=span.start, end=span.end),
            text=plain(span.text),
            why=shortfall(asked.question.text, chunks[span.chunk_id].text),
        )
        for span in spans
        if span.chunk_id in chunks
    )
