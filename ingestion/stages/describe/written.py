"""A description as it is stored: text, places, who wrote it, and what contradicts."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

EXTRACTIVE: Final = "extractive"
"""``written_by`` of what the documents say themselves."""
JOINED: Final = "joined"
"""``written_by`` of what a model noted of single passages, one note after the other."""


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
    """What a model says of one passage."""

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
    """A description with the places it is made of."""

    text: str
    places: tuple[Place, ...]
    by: str = EXTRACTIVE
    conflicts: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """An entity or relationship with what is noted of it, oldest document first."""

    id: uuid.UUID
    name: str
    notes: Sequence[Note]


def one_line(text: str) -> str:
    return " ".join(text.split())
