"""Plans of imports: what becomes of each entity and each fact of a file."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ingestion.resolution.keys import Ref


class Outcome(StrEnum):
    """What becomes of a row."""

    NEW = "new"
    MATCHED = "matched"
    CONFLICT = "conflict"
    LEFT_OUT = "left_out"


class Conflicts(StrEnum):
    """What to do with an entity that may or may not be one that is there."""

    LEAVE_OUT = "leave_out"
    MATCH = "match"
    SEPARATE = "separate"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the person chose. ``makes_missing`` creates entities that only facts name."""

    conflicts: Conflicts = Conflicts.LEAVE_OUT
    makes_missing: bool = False


@dataclass(slots=True)
class PlannedEntity:
    """An entity of the file. ``ref`` is the entity it becomes, None if it is left out.

    ``names`` are its aliases by key, those that it may take. ``is_resolved`` is a conflict that the
    choices have settled.
    """

    row: int
    name: str
    type: str
    description: str
    outcome: Outcome
    reason: str = ""
    ref: Ref | None = None
    names: dict[str, str] = field(default_factory=dict)
    other: uuid.UUID | None = None
    is_new: bool = False


@dataclass(slots=True)
class PlannedFact:
    """A fact of the file, or several between the same two entities."""

    row: int
    source: str
    target: str
    predicates: tuple[str, ...]
    description: str
    outcome: Outcome
    reason: str = ""
    ends: tuple[Ref, Ref] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would do. ``joined`` facts repeat the ends of another one, and add to it;
    ``aliases_left`` are aliases that another entity has.
    """

    entities: Sequence[PlannedEntity]
    facts: Sequence[PlannedFact]
    joined: int
    aliases_left: int

    @property
    def new_entities(self) -> list[PlannedEntity]:
        return [one for one in self.entities if one.is_new]

    @property
    def new_facts(self) -> list[PlannedFact]:
        return [one for one in self.facts if one.outcome == Outcome.NEW]

    @property
    def changed(self) -> list[PlannedEntity]:
        """Entities that are there already and get an alias."""
        return [one for one in self.entities if one.ref and not one.is_new and one.names]

    @property
    def is_empty(self) -> bool:
        return not (self.new_entities or self.new_facts or self.changed)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by outcome, and what is created."""
        found = Counter(f"entities_{one.outcome}" for one in self.entities)
        found.update(f"facts_{one.outcome}" for one in self.facts)
        names = [f"{kind}_{one}" for kind in ("entities", "facts") for one in Outcome]
        return {name: found[name] for name in names} | {
            "entities": len(self.new_entities),
            "facts": len(self.new_facts),
            "joined": self.joined,
            "aliases_left": self.aliases_left,
        }
