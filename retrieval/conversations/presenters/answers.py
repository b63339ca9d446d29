"""Present an answer on its page: finished, with its sentences and sources, or in progress, with its
steps, passages and the text so far."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from django.urls import reverse
from django.utils import timezone

from ingestion.documents.presenters import reader_url, where_of
from ingestion.documents.reader.blocks import plain
from ingestion.knowledge import queries as knowledge_queries
from retrieval.answering import greeting
from retrieval.answering.options import OPTIONS
from retrieval.conversations import queries
from retrieval.conversations.presenters.ask_box import wishes_in
from retrieval.conversations.presenters.paragraphs import Paragraph, ShownSentence, paragraphs
from retrieval.conversations.presenters.passages import (
    Card,
    CitedSources,
    ShownCitation,
    ShownHit,
    reported_passages,
    shortfall,
)
from retrieval.conversations.queries import Asked
from retrieval.models import (
    NEXT_STEP,
    NOT_SEARCHED,
    Answer,
    AnswerEvent,
    AnswerState,
    Outcome,
    Question,
)
from retrieval.search.modes import ANSWER_MODES, Mode
from retrieval.search.reporting import EventKind
from workspaces.models import Workspace

EXTRACTIVE: Final = "Sentences chosen from your documents: no chat model is set up."
KINDS: Final = {
    "extractive": ("Extractive answer", EXTRACTIVE),
    greeting.WRITTEN_BY: ("About this workspace", "Nothing was searched."),
}
MOST_NEAREST: Final = 3
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
UNDER_WAY: Final = frozenset({AnswerState.QUEUED, AnswerState.RUNNING})


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer to show. ``problem`` says why it failed; ``reason`` why its mode was chosen.

    ``is_final`` if it is final, though follow-up questions may still be coming. ``message`` says
    that there is no answer, ``next_step`` what to do then; ``note`` is the one line below an
    answer, and ``remarks`` are all other notes made when it was asked. ``wishes`` say how it was
    wanted, ``options`` are the same to ask again with.
    """

    id: str
    state: str
    is_under_way: bool
    is_final: bool
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
    graph_url: str
    kind_label: str
    kind_explanation: str
    wishes: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def sentences(self) -> tuple[ShownSentence, ...]:
        return tuple(sentence for part in self.paragraphs for sentence in part.sentences)

    @property
    def has_general(self) -> bool:
        """Whether a model was allowed to use its own knowledge, and did."""
        return any(one.verdict == "general" for one in self.sentences)


def shown_answer(*, workspace: Workspace, asked: Asked) -> ShownAnswer:
    answer, cited = asked.answer, CitedSources.of(workspace, asked.citations)
    mode = ANSWER_MODES.get(answer.mode or asked.question.mode)
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
        is_final=answer.is_finished or answer.is_written,
        outcome=answer.outcome,
        message=answer.message,
        next_step=NEXT_STEP if answer.message == Outcome.NOTHING.label else "",
        is_supported=answer.is_supported,
        paragraphs=paragraphs(answer.sentences, cited, each_alone=is_extractive),
        cards=cited.cards(answer.sentences),
        citations=cited.citations(),
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
        graph_url=_graph_url(workspace, asked),
        kind_label=label,
        kind_explanation=explanation,
        wishes=wishes_in(answer.options),
        options=tuple((name, answer.options.get(name, "")) for name in OPTIONS),
    )


def _graph_url(workspace: Workspace, asked: Asked) -> str:
    """Return the page that shows what the cited passages name; '' if they name nothing."""
    if not asked.answer.is_finished or not asked.citations:
        return ""
    ids = queries.entities_cited(workspace=workspace, citations=asked.citations)
    page = reverse("ingestion:explorer", args=[workspace.slug])
    return f"{page}?entities={','.join(map(str, ids))}" if ids else ""


def _sorted_notes(notes: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Return the note to show with the answer, and those that only say how it was found."""
    searched = [one for one in notes if one["code"] not in NOT_SEARCHED]
    shown = next((one for one in searched if one["code"] not in PASSING), None)
    remarks = tuple(str(one["sentence"]) for one in searched if one is not shown)
    return str(shown["sentence"]) if shown else "", remarks


def _searched(workspace: Workspace, question: Question) -> str:
    total = knowledge_queries.documents_count(workspace)
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


# --- in progress ----------------------------------------------------------------------------------
MARKER: Final = re.compile(r"\[(\d{1,3})\]")
LONG_WAIT: Final = timedelta(seconds=4)
"""Longer than an idle worker takes to begin."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the text, and the passage whose number follows it."""

    text: str
    passage: ShownHit | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """``sequence`` is the last event included, ``understood`` the question if it was reworded.

    ``is_waiting`` means that no worker has started on it for a while.
    """

    sequence: int
    understood: str
    steps: tuple[str, ...]
    passages: tuple[ShownHit, ...]
    pieces: tuple[Piece, ...]
    is_waiting: bool
    is_stopping: bool


def progress_of(*, workspace: Workspace, question: Question, answer: Answer) -> Progress:
    rows = AnswerEvent.objects.in_workspace(workspace).filter(answer_id=answer.pk)
    events = list(rows.order_by("sequence"))
    last = {one.kind: one.payload for one in events}
    reported, plan = last.get(EventKind.PASSAGES, {}), last.get(EventKind.PLAN, {})
    passages = reported_passages(
        workspace=workspace, question=question.text, passages=reported.get("passages", [])
    )
    pieces = tuple(pieces_of(text_of(events), passages))
    cited = {one.passage.place: one.passage for one in pieces if one.passage}
    has_waited = timezone.now() - answer.created_at > LONG_WAIT
    return Progress(
        sequence=max((one.sequence for one in events), default=-1),
        understood=str(plan["question"]) if plan.get("is_rewritten") else "",
        steps=tuple(
            dict.fromkeys(
                str(one.payload["sentence"]) for one in events if one.kind == EventKind.STEP
            )
        ),
        passages=tuple(cited.get(one.place, one) for one in passages),
        pieces=pieces,
        is_waiting=answer.state == AnswerState.QUEUED and has_waited,
        is_stopping=answer.wants_stop,
    )


def text_of(events: Sequence[AnswerEvent]) -> str:
    """Return all text since the answer was last replaced as a whole."""
    texts: list[str] = []
    for one in events:
        if one.kind == EventKind.ANSWER:
            texts.clear()
        elif one.kind == EventKind.TEXT:
            texts.append(str(one.payload["text"]))
    return "".join(texts)


def pieces_of(text: str, passages: Sequence[ShownHit]) -> Iterator[Piece]:
    """Split the text at its markers, numbering passages in the order they are cited.

    Markers without a passage are dropped.
    """
    known = {str(one.place): one for one in passages}
    cited: dict[str, ShownHit] = {}
    parts = MARKER.split(text)
    for at in range(0, len(parts), 2):
        marker = parts[at + 1] if at + 1 < len(parts) else ""
        if marker in known and marker not in cited:
            cited[marker] = replace(known[marker], number=len(cited) + 1)
        if parts[at] or marker in cited:
            yield Piece(parts[at], cited.get(marker))
