"""An answer in the making: the question asked, and the answer before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from kb_project.ports import Ports
from retrieval.answering.options import AnswerOptions
from retrieval.models import Outcome
from retrieval.search.scope import Scope
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier question of the same conversation, and its answer.

    An answer about other documents helps to understand the question, but is not a source.
    """

    question: str
    answer: str
    is_same_scope: bool = True


@dataclass(frozen=True, slots=True)
class Asking:
    """``question_id`` is None if nothing is stored. ``earlier`` is the conversation so far, oldest
    first; ``ports`` are set if already looked up; ``is_announced`` if the first step was already
    reported."""

    workspace: Workspace
    question_id: UUID | None
    question: str
    mode: str
    scope: Scope = field(default_factory=Scope)
    options: AnswerOptions = field(default_factory=AnswerOptions)
    earlier: tuple[Earlier, ...] = ()
    ports: Ports | None = None
    is_announced: bool = False


class ChunkSpan(NamedTuple):
    """A span of a passage; offsets are in the document's text."""

    chunk_id: UUID
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Check:
    """Whether the spans that a sentence cites support it.

    ``verdict`` is supported, unsupported, general (not from the documents, and marked so), or
    conflict (the sources differ); ``by`` is quote, likeness, the judge model's name, or decision
    where people decided for another source; ``score`` is from 0 to 1.
    """

    verdict: str
    by: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class SpanOf:
    """A span of a cited passage; offsets are in the document's text."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """``marked`` are offsets in ``text`` of the words that answer."""

    text: str
    spans: tuple[SpanOf, ...] = ()
    check: Check | None = None
    marked: tuple[tuple[int, int], ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(span.number for span in self.spans))


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """``quote`` is the document's text from ``start`` to ``end``, the first of ``spans``."""

    number: int
    chunk_id: UUID
    document_id: UUID
    start: int
    end: int
    quote: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Suggested:
    """Follow-up questions; ``calls`` are those of the whole answer, as in its trace."""

    questions: tuple[str, ...] = ()
    calls: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """``nearest`` is as in ``Answer.nearest``; ``standalone`` is '' if the question needed no
    rewriting.

    ``is_supported`` is true only if ``outcome`` is ANSWERED.

    ``suggest`` makes the follow-up questions, for which no one waits: call it outside transactions,
    once the answer is shown.
    """

    is_supported: bool
    sentences: Sequence[WrittenSentence]
    citations: Sequence[CitedPassage]
    nearest: Sequence[dict[str, Any]]
    trace: dict[str, Any]
    mode: str
    written_by: str = "extractive"
    standalone: str = ""
    outcome: str = Outcome.ANSWERED
    suggest: Callable[[], Suggested] = Suggested
