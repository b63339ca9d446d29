"""A question as every search mode gets it, and which topics a global search reads for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID

import regex
from django.utils.functional import cached_property

from kb_project.errors import InputError
from kb_project.llm.ports import ChatModel, Embedder, Vectors
from retrieval.search.reporting import SILENT, EventKind, Reporter

DEEPEST_LEVEL: Final = 9
"""Topics are nested at most ten levels deep."""


class Selection(StrEnum):
    """``AUTO`` selects if there are more topics than one call can read, and no level was chosen;
    ``DYNAMIC`` always rates topics from the root down, ``FIXED`` reads all of a level."""

    AUTO = "auto"
    DYNAMIC = "dynamic"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """``level`` is the deepest that is read, 0 the main topics; None is as deep as fits."""

    level: int | None = None
    selection: Selection = Selection.AUTO

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """Raises InputError for an unknown selection, or a level that is none."""
        return cls(_level(given.get("level")), _selection(given.get("selection")))

    def selects(self, *, is_much: bool) -> bool:
        """Whether topics are rated before they are read; ``is_much`` if one call can't read all."""
        if self.selection is Selection.AUTO:
            return is_much and self.level is None
        return self.selection is Selection.DYNAMIC

    def as_json(self) -> dict[str, Any]:
        """Return what was chosen, leaving out what was not."""
        level = {} if self.level is None else {"level": self.level}
        is_usual = self.selection is Selection.AUTO
        return level if is_usual else level | {"selection": self.selection.value}


def _level(value: Any) -> int | None:
    if value in (None, ""):
        return None
    try:
        level = int(str(value))
    except ValueError:
        level = -1
    if not 0 <= level <= DEEPEST_LEVEL:
        raise InputError(
            f"There is no level '{str(value)[:20]}' of topics.",
            code="invalid_level",
            next_step=f"Choose a level from 0, the main topics, to {DEEPEST_LEVEL}, or none.",
        )
    return level


def _selection(value: Any) -> Selection:
    if value not in ("", None, *Selection):
        raise InputError(
            f"There is no way '{str(value)[:20]}' to select topics.",
            code="invalid_selection",
            next_step=f"Choose one of {', '.join(Selection)}.",
        )
    return Selection(value or Selection.AUTO)


LONGEST_QUESTION: Final = 4_000
"""In characters. An embedder reads about as many; anything longer is rather a document."""

MOST_HITS: Final = 200
MOST_CALLS: Final = 40
"""Model calls that finding may make, not counting the answer's own."""
_WORD: Final = regex.compile(r"[\p{L}\p{N}]")
_UNSTORABLE: Final = regex.compile(r"[\0\p{Cs}]")


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """``why`` explains in short sentences what led here, the most telling first."""

    chunk_id: UUID
    score: float
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader of the results should know, such as that vectors are still being made."""

    code: str
    sentence: str


class QuestionVector:
    """The question's vector, made on first use and never twice; ``seconds`` it took."""

    def __init__(self, embedder: Embedder, question: str) -> None:
        self.embedder = embedder
        self._question = question
        self.seconds = 0.0

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    @cached_property
    def value(self) -> Vectors:
        started = time.perf_counter()
        vector = self.embedder.embed_question(self._question)
        self.seconds = time.perf_counter() - started
        return vector

    def make(self) -> float:
        """Make the vector now, so that no transaction is open meanwhile; return the seconds it
        took."""
        if "literal" in self.__dict__:
            return 0.0
        started = time.perf_counter()
        _ = self.literal
        return time.perf_counter() - started

    @cached_property
    def literal(self) -> str:
        """The vector as Postgres writes it."""
        return "[" + ",".join(map(repr, self.value.tolist())) + "]"


@dataclass(frozen=True)
class Query:
    """One question to one workspace.

    ``documents`` is the resolved scope, None for every document; ``include`` and ``exclude`` are
    entities to start from and to leave out. ``as_of`` is a date, '' for any time; ``topics`` says
    which topics a global search reads. ``chat`` is None on the local tier; a mode that calls it
    does so outside transactions, reports its steps to ``reporter`` and makes at most ``calls``
    calls. Modes add to ``notes``, and keep in ``kept`` what another step of the search asks for
    again. ``writer`` is the chat model that writes the answer, which may be there without ``chat``.
    """

    workspace_id: UUID
    question: str
    top_k: int
    vector: QuestionVector
    documents: tuple[UUID, ...] | None = None
    include: tuple[UUID, ...] = ()
    exclude: tuple[UUID, ...] = ()
    as_of: str = ""
    topics: TopicChoice = field(default_factory=TopicChoice)
    chat: ChatModel | None = None
    answer_chat: ChatModel | None = None
    question_id: UUID | None = None
    calls: int = MOST_CALLS
    reporter: Reporter = SILENT
    notes: list[Note] = field(default_factory=list)
    kept: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def writer(self) -> ChatModel | None:
        return self.chat or self.answer_chat

    def note(self, code: str, sentence: str) -> None:
        if (note := Note(code, sentence)) not in self.notes:
            self.notes.append(note)

    def step(self, name: str, sentence: str) -> None:
        """Report what is done next. Raises StoppedError if someone asked to stop."""
        self.reporter.emit(EventKind.STEP, {"name": name, "sentence": sentence})

    @property
    def is_scoped(self) -> bool:
        """Whether records may say only what passages in the scope say."""
        return self.documents is not None or bool(self.as_of)

    @property
    def document_list(self) -> list[UUID] | None:
        """The scope as a database parameter."""
        return None if self.documents is None else list(self.documents)

    def parameters(self, **more: object) -> dict[str, object]:
        """Return what the statements of a search have in common, and ``more``."""
        return {
            "workspace": self.workspace_id,
            "documents": self.document_list,
            "exclude": list(self.exclude),
            "as_of": self.as_of,
            **more,
        }

    def vector_parameters(self, **more: object) -> dict[str, object]:
        """Return these with the question's vector, made now if it has not been."""
        vector = self.vector
        return self.parameters(fingerprint=vector.fingerprint, vector=vector.literal, **more)


def clean_question(question: str) -> str:
    """Return the question on one line. Raises InputError if it has nothing to search for.

    >>> clean_question("  Who was\\n Marley? ")
    'Who was Marley?'
    """
    cleaned = " ".join(_UNSTORABLE.sub(" ", question[: LONGEST_QUESTION * 4]).split())
    if not _WORD.search(cleaned):
        raise InputError(
            "The question contains no words.",
            code="question_empty",
            next_step="Type at least one word, name or number.",
        )
    if len(cleaned) > LONGEST_QUESTION:
        raise InputError(
            f"A question may have at most {LONGEST_QUESTION:,} characters.",
            code="question_too_long",
            next_step="Shorten it, or add the text as a document and ask about that.",
        )
    return cleaned


def checked_top_k(top_k: int) -> int:
    """Return ``top_k``. Raises InputError if it is not from 1 to ``MOST_HITS``."""
    if not 1 <= top_k <= MOST_HITS:
        raise InputError(
            f"The number of passages must be from 1 to {MOST_HITS}.", code="invalid_top_k"
        )
    return top_k
