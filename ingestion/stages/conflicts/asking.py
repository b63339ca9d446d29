"""Ask a model whether the documents that speak of an entity contradict each other.

The describe stage asks this of the notes that it summarises. Here it is asked of entities whose
notes were too few or too short to be summarised, and come from two or more documents; several
entities share a call.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field

from ingestion.knowledge.conflicts import MOST_STATEMENTS, Conflict, reported
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, ModelOptions, Role
from kb_project.llm.tokens import count_tokens
from kb_project.prompt import fenced, load
from kb_project.text.words import one_line

PROMPT: Final = Path(__file__).resolve().parents[2] / "prompts" / "contradictions.md"
MOST_TOKENS: Final = 4_000
"""Tokens of statements in one call: with more, models overlook what is in the middle."""
PROMPT_TOKENS: Final = 500
LEAST_TOKENS: Final = 600
NUMBER_TOKENS: Final = 4
"""Tokens of a line's number and end."""
MOST_OUTPUT: Final = 1_000

Contradictions = tuple[uuid.UUID, list[dict[str, Any]]]
"""An entity and its contradictions, in the form in which the describe stage stores them."""


@dataclass(frozen=True, slots=True)
class Note:
    """A model's note on an entity in one passage; offsets in the document's text."""

    entity_id: uuid.UUID
    name: str
    text: str
    chunk_id: uuid.UUID
    document_id: uuid.UUID
    start: int
    end: int

    @property
    def line(self) -> str:
        return f"{one_line(self.name)}: {one_line(self.text)}"

    def as_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "chunk": str(self.chunk_id),
            "start": self.start,
            "end": self.end,
        }


class Conflicts(BaseModel):
    conflicts: list[Conflict] = Field(default_factory=list)


def contradictions(
    notes: Iterable[Note], chat: ChatModel, options: ModelOptions, heard: Callable[[], None]
) -> tuple[list[Contradictions], set[uuid.UUID]]:
    """Return what the model finds among entities with notes from several documents, and the
    entities about which it gave no usable reply.

    ``heard`` is called after each reply. Call outside transactions. Raises PauseError.
    """
    room = max(LEAST_TOKENS, min(MOST_TOKENS, chat.input_limit(Role.SUMMARISE) - PROMPT_TOKENS))
    asked = batches(shared(notes), room)
    replies: dict[int, Conflicts] = {}
    for index, reply in chat.ask_many([request(batch, options) for batch in asked]):
        if not isinstance(reply, ReplyError) and reply.value:
            replies[index] = reply.value
        heard()
    found = [one for index in sorted(replies) for one in kept(replies[index], asked[index])]
    unheard = [batch for index, batch in enumerate(asked) if index not in replies]
    return found, {note.entity_id for batch in unheard for note in batch}


def shared(notes: Iterable[Note]) -> Iterator[list[Note]]:
    """Yield the notes of each entity that two or more documents speak of, each text once.

    The order is that of names and texts, so that the same documents make the same request.
    """
    by_entity: defaultdict[uuid.UUID, dict[str, Note]] = defaultdict(dict)
    for note in sorted(notes, key=lambda one: (one.line, one.start)):
        by_entity[note.entity_id].setdefault(note.line.casefold(), note)
    for several in by_entity.values():
        if len({note.document_id for note in several.values()}) > 1:
            yield list(several.values())


def batches(groups: Iterable[Sequence[Note]], room: int) -> list[list[Note]]:
    """Fill batches of at most ``room`` tokens in order; one entity's notes stay together, as many
    as fit."""
    filled: list[list[Note]] = []
    left = 0
    for group in groups:
        fitting, size = _fitting(group, room)
        if not filled or size > left:
            filled.append([])
            left = room
        filled[-1] += fitting
        left -= size
    return [batch for batch in filled if len(batch) > 1]


def _fitting(group: Sequence[Note], room: int) -> tuple[list[Note], int]:
    fitting: list[Note] = []
    size = 0
    for note in group:
        more = count_tokens(note.line) + NUMBER_TOKENS
        if size + more > room:
            break
        fitting.append(note)
        size += more
    return fitting, size


def request(batch: Sequence[Note], options: ModelOptions) -> ChatRequest[Conflicts]:
    lines = "\n".join(f"{number}. {note.line}" for number, note in enumerate(batch, 1))
    language = options.report_language
    prompt = load(PROMPT).fill(
        language=fenced(language, "language") if language else "",
        statements=fenced(lines, "statements"),
    )
    return ChatRequest(
        Role.SUMMARISE, prompt, About("conflicts"), schema=Conflicts, max_output=MOST_OUTPUT
    )


def kept(reply: Conflicts, batch: Sequence[Note]) -> Iterator[Contradictions]:
    """Yield the contradictions that have a reason and at least two statements about one entity."""
    for reason, shown in reported(reply.conflicts, batch):
        by_entity: defaultdict[uuid.UUID, list[Note]] = defaultdict(list)
        for note in shown:
            by_entity[note.entity_id].append(note)
        for entity_id, notes in by_entity.items():
            if len({(note.chunk_id, note.start) for note in notes}) > 1:
                statements = [note.as_json() for note in notes[:MOST_STATEMENTS]]
                yield entity_id, [{"reason": reason, "statements": statements}]
