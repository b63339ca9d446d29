"""Present an answer in progress, from its events: steps, passages, and the text so far."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from retrieval.conversations.presenters.passages import ShownHit, reported_passages
from retrieval.models import Answer, AnswerEvent, AnswerState, Question
from retrieval.search.reporting import EventKind
from workspaces.models import Workspace

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
    reported, plan = last_of(events, EventKind.PASSAGES), last_of(events, EventKind.PLAN)
    passages = reported_passages(
        workspace=workspace, question=question.text, passages=reported.get("passages", [])
    )
    pieces = tuple(pieces_of(text_of(events), passages))
    cited = {one.passage.place: one.passage for one in pieces if one.passage}
    has_waited = timezone.now() - answer.created_at > LONG_WAIT
    return Progress(
        sequence=max((one.sequence for one in events), default=-1),
        understood=str(plan["question"]) if plan.get("is_rewritten") else "",
        steps=tuple(dict.fromkeys(steps_of(events))),
        passages=tuple(cited.get(one.place, one) for one in passages),
        pieces=pieces,
        is_waiting=answer.state == AnswerState.QUEUED and has_waited,
        is_stopping=answer.wants_stop,
    )


def last_of(events: Sequence[AnswerEvent], kind: EventKind) -> dict[str, Any]:
    """Return the payload of the last event of a kind; empty if there is none."""
    return next((dict(one.payload) for one in reversed(events) if one.kind == kind), {})


def steps_of(events: Sequence[AnswerEvent]) -> Iterator[str]:
    for one in events:
        if one.kind == EventKind.STEP:
            yield str(one.payload["sentence"])


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
