"""A description as it is stored: text, places, author, and contradictions."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

EXTRACTIVE: Final = "extractive"
"""``written_by`` of descriptions quoted from the documents."""
JOINED: Final = "joined"
"""``written_by`` of a model's notes on single passages, one after the other."""


@dataclass(frozen=True, slots=True)
class Place:
    """A span in a chunk; offsets in the document's text."""

    chunk_id: uuid.UUID
    start: int
    end: int

    def as_json(self) -> dict[str, object]:
        return {"chunk": str(self.chunk_id), "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class Note:
    """A model's note on one passage."""

    text: str
    place: Place

    def as_json(self) -> dict[str, object]:
        return {"text": self.text, **self.place.as_json()}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Statements that cannot all hold, and why."""

    reason: str
    statements: tuple[Note, ...]

    def as_json(self) -> dict[str, object]:
        return {"reason": self.reason, "statements": [note.as_json() for note in self.statements]}


@dataclass(frozen=True, slots=True)
class Written:
    """A description with the places it is based on."""

    text: str
    places: tuple[Place, ...]
    by: str = EXTRACTIVE
    conflicts: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """An entity or relationship with its notes, oldest document first."""

    id: uuid.UUID
    name: str
    notes: Sequence[Note]


def one_line(text: str) -> str:
    return " ".join(text.split())
