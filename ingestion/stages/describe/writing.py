"""Write descriptions from a model's notes.

Fewer than 8 notes of fewer than 1,200 tokens are joined without a call (LightRAG's rule). More are
summarised window by window, then the summaries in the same way, until one is left. Windows are
filled in order, so that a later note changes only the last window and the others come from the
cache. Contradictions are reported separately and keep the statements' own places.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field

from ingestion.knowledge.conflicts import MOST_CONFLICTS, MOST_STATEMENTS, Conflict, reported
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, ModelOptions, Role
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import fenced, load
from kb_project.text.words import one_line, terms

EXTRACTIVE: Final = "extractive"
"""``written_by`` of descriptions quoted from the documents."""
JOINED: Final = "joined"
"""``written_by`` of a model's notes on single passages, one after the other."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A span in a chunk; offsets in the document's text.

    ``is_titled`` marks a mention in a document whose title is the entity's name.
    """

    chunk_id: uuid.UUID
    start: int
    end: int
    is_titled: bool = False

    def as_json(self) -> dict[str, object]:
        return {"chunk": str(self.chunk_id), "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class Note:
    """A model's note on one passage."""

    text: str
    source: SourceSpan

    def as_json(self) -> dict[str, object]:
        return {"text": self.text, **self.source.as_json()}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Statements that cannot all hold, and why."""

    reason: str
    statements: tuple[Note, ...]

    def as_json(self) -> dict[str, object]:
        return {"reason": self.reason, "statements": [note.as_json() for note in self.statements]}


@dataclass(frozen=True, slots=True)
class Description:
    """A description as it is stored, with the spans it is based on and its author."""

    text: str
    sources: tuple[SourceSpan, ...]
    by: str = EXTRACTIVE
    conflicts: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """An entity or relationship with its notes, oldest document first."""

    id: uuid.UUID
    name: str
    notes: Sequence[Note]


# --- from a model's notes -------------------------------------------------------------------------
PROMPT: Final = Path(__file__).resolve().parents[2] / "prompts" / "describe.md"
MANY_NOTES: Final = 8
MANY_TOKENS: Final = 1200
WINDOW: Final = 12_000
"""Tokens of statements per call, if the model accepts that many."""
PROMPT_TOKENS: Final = 800
"""Tokens of the prompt without its statements."""
SMALLEST_WINDOW: Final = 600

# About 600 tokens.
WORDS: Final = "400"
MOST_OUTPUT: Final = 1500
LONGEST: Final = 6000

# LightRAG's cap on the sources of one entity or relationship.
MOST_SOURCES: Final = 200
OnAnswer = Callable[[], None]


class Summary(BaseModel):
    """``statements`` of conflicts are the numbers shown in the prompt."""

    description: str
    conflicts: list[Conflict] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Part:
    """A note, or the summary of several."""

    text: str
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Work:
    """A subject whose description is in progress."""

    subject: Subject
    parts: list[Part]
    conflicts: list[Contradiction]


@dataclass(frozen=True, slots=True)
class Describer:
    """Whom to ask, how descriptions are to be written, and what hears of every answer."""

    chat: ChatModel
    on_answer: OnAnswer
    options: ModelOptions = field(default_factory=ModelOptions)

    @property
    def limit(self) -> int:
        """Tokens of statements in one call."""
        room = self.chat.input_limit(Role.SUMMARISE) - PROMPT_TOKENS
        return max(min(WINDOW, room), SMALLEST_WINDOW)

    def request(self, subject: Subject, run: Sequence[Part]) -> ChatRequest[Summary]:
        statements = "\n".join(f"{number}. {part.text}" for number, part in enumerate(run, 1))
        learned = (("persona", self.options.persona), ("language", self.options.report_language))
        prompt = load(PROMPT).fill(
            focus="\n".join(fenced(text, name) for name, text in learned if text),
            name=fenced(subject.name, "subject"),
            statements=fenced(statements, "statements"),
            words=WORDS,
        )
        return ChatRequest(
            Role.SUMMARISE, prompt, About("describe"), schema=Summary, max_output=MOST_OUTPUT
        )


def from_notes(subjects: Sequence[Subject], describer: Describer) -> dict[uuid.UUID, Description]:
    """Write a description for each subject that has notes. Call outside transactions.

    If a call gets no usable answer, the notes are joined instead. Raises PauseError.
    """
    noted = [Subject(one.id, one.name, distinct(one.notes)) for one in subjects if one.notes]
    written = {one.id: joined(one.notes) for one in noted}
    work = [
        _Work(one, [Part(note.text, (note,)) for note in one.notes], [])
        for one in noted
        if needs_summary(one.notes)
    ]
    while work:
        work = _fold(work, describer)
        done = [one for one in work if len(one.parts) == 1]
        written |= {one.subject.id: _finished(one, describer.chat) for one in done}
        work = [one for one in work if len(one.parts) > 1]
    return written


def distinct(notes: Sequence[Note]) -> list[Note]:
    """Each statement once, at its first place."""
    first: dict[str, Note] = {}
    for note in notes:
        if text := one_line(note.text):
            first.setdefault(text.casefold(), Note(text, note.source))
    return list(first.values())


def needs_summary(notes: Sequence[Note]) -> bool:
    """Whether there are many notes or many tokens; a single note never needs a summary."""
    if len(notes) < 2:
        return False
    if len(notes) >= MANY_NOTES:
        return True
    # A token is at least a byte: short texts need no counting.
    if sum(len(note.text.encode()) for note in notes) < MANY_TOKENS:
        return False
    return sum(count_tokens(note.text) for note in notes) >= MANY_TOKENS


def joined(notes: Sequence[Note]) -> Description:
    """The notes one after the other, as many as fit in a description."""
    text, sources = "", []
    for note in notes:
        longer = f"{text} {note.text}".strip()
        if text and len(longer) > LONGEST:
            break
        text = longer[:LONGEST]
        sources.append(note.source)
    return Description(text, tuple(dict.fromkeys(sources)), by=JOINED)


def windows(parts: Sequence[Part], limit: int) -> list[list[Part]]:
    """Parts in runs of at most ``limit`` tokens, filled in order.

    Every run but the last has at least two parts: a part longer than half a window is cut.
    """
    runs: list[list[Part]] = []
    room = 0
    for part in parts:
        text = truncate_tokens(part.text, limit // 2)
        size = count_tokens(text)
        if not runs or size > room:
            runs.append([])
            room = limit
        runs[-1].append(Part(text, part.notes))
        room -= size
    return runs


def _fold(work: Sequence[_Work], describer: Describer) -> list[_Work]:
    """One round: each window becomes one part. Drops subjects without a usable answer."""
    limit = describer.limit
    cut = [windows(one.parts, limit) for one in work]
    places = [
        (owner, place)
        for owner, runs in enumerate(cut)
        for place, run in enumerate(runs)
        if len(run) > 1
    ]
    requests = [
        describer.request(work[owner].subject, cut[owner][place]) for owner, place in places
    ]
    answers: dict[int, dict[int, Summary]] = defaultdict(dict)
    for index, reply in describer.chat.ask_many(requests):
        owner, place = places[index]
        if not isinstance(reply, ReplyError) and reply.value and one_line(reply.value.description):
            answers[owner][place] = reply.value
        describer.on_answer()
    folded = [_folded(work[owner], cut[owner], answers[owner]) for owner in range(len(work))]
    return [one for one in folded if one is not None]


def _folded(
    one: _Work, runs: Sequence[Sequence[Part]], answers: Mapping[int, Summary]
) -> _Work | None:
    parts, conflicts = [], list(one.conflicts)
    for place, run in enumerate(runs):
        if len(run) == 1:
            parts.append(run[0])
            continue
        if place not in answers:
            return None
        answer = answers[place]
        text = one_line(answer.description)[:LONGEST]
        parts.append(Part(text, tuple(note for part in run for note in part.notes)))
        conflicts += contradictions(answer.conflicts, run)
    return _Work(one.subject, parts, conflicts[:MOST_CONFLICTS])


def contradictions(found: Sequence[Conflict], run: Sequence[Part]) -> list[Contradiction]:
    """The reported conflicts that name at least two of the statements shown."""
    kept = []
    for reason, shown in reported(found, run):
        notes = tuple(dict.fromkeys(_nearest_note(part, reason) for part in shown))
        if len(notes) > 1:
            kept.append(Contradiction(reason, notes[:MOST_STATEMENTS]))
    return kept


def _nearest_note(part: Part, reason: str) -> Note:
    """Of the notes behind a summary, the one that shares most words with the reason."""
    wanted = set(terms(reason))
    return max(part.notes, key=lambda note: len(wanted & set(terms(note.text))))


def _finished(one: _Work, chat: ChatModel) -> Description:
    sources = tuple(dict.fromkeys(note.source for note in one.subject.notes))
    return Description(
        one.parts[0].text,
        sources[:MOST_SOURCES],
        by=chat.model_of(Role.SUMMARISE)[:120],
        conflicts=tuple(one.conflicts),
    )
