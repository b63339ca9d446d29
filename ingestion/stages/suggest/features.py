"""What is known about an entity when it is compared with others, and the result of comparing."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from django.utils.functional import cached_property

from ingestion.resolution.pair_decisions import Pair
from ingestion.stages.suggest.words import bare, counting, telling, written_out

# An untyped name may be of any type.
UNTYPED: Final = frozenset({"name", "concept", "other", ""})


@dataclass(frozen=True)
class Thing:
    """An entity with its names and neighbours; ``aliases`` are spellings by key."""

    id: uuid.UUID
    key: str
    name: str
    type: str
    sense: int = 0
    mentions: int = 0
    degree: int = 0
    aliases: Mapping[str, str] = field(default_factory=dict)
    neighbours: frozenset[uuid.UUID] = frozenset()

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(self.key.split())

    @cached_property
    def spelt(self) -> tuple[str, ...]:
        """Its words in one standard spelling."""
        return written_out(self.words)

    @cached_property
    def letters(self) -> str:
        """``spelt`` without spaces."""
        return "".join(self.spelt)

    @cached_property
    def core(self) -> tuple[str, ...]:
        """``spelt`` without titles and legal forms."""
        return bare(self.spelt)

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """``core`` without small words."""
        return telling(self.core)

    @cached_property
    def counting(self) -> tuple[str, ...]:
        """The words that tell numbered things apart."""
        return counting(self.words)

    @property
    def moves(self) -> int:
        """How many mentions and relationships a merge would move."""
        return self.mentions + self.degree


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for or against two entities being one.

    ``weight`` is added to the log odds. ``words`` is the reason as people read it, '' if it is not
    worth showing. ``is_of_names``: nothing is suggested without one such reason.
    """

    kind: str
    weight: float
    words: str = ""
    is_of_names: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A pair with its certainty, from 0 to 1, and the reasons, the weightiest first."""

    pair: Pair
    certainty: float
    reasons: tuple[Reason, ...]
