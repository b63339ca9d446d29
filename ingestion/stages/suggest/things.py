"""What is known of an entity when it is compared with others, and what comparing them gives."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from django.utils.functional import cached_property

from ingestion.stages.suggest.words import bare, counting, telling, written_out
from ingestion.suggestions.decided import Pair

# An untyped name may be of any type.
UNTYPED: Final = frozenset({"name", "concept", "other", ""})


@dataclass(frozen=True)
class Thing:
    """An entity as its names and its neighbours tell it; ``aliases`` are spellings by key."""

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
        """Its words in one spelling."""
        return written_out(self.words)

    @cached_property
    def letters(self) -> str:
        """... without spaces."""
        return "".join(self.spelt)

    @cached_property
    def core(self) -> tuple[str, ...]:
        """Its words in one spelling, without titles and legal forms."""
        return bare(self.spelt)

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """... and without small words."""
        return telling(self.core)

    @cached_property
    def counting(self) -> tuple[str, ...]:
        """Those that tell one of several."""
        return counting(self.words)

    @property
    def moves(self) -> int:
        """How many mentions and facts go with it."""
        return self.mentions + self.degree


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that speaks for two entities being one, or against it.

    ``weight`` is added to the logarithm of the odds. ``words`` is the reason as people read it; ''
    where it is not worth saying. ``is_of_names``: nothing is suggested without one such reason.
    """

    kind: str
    weight: float
    words: str = ""
    is_of_names: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A pair with how certain it is, from 0 to 1, and the reasons, the weightiest first."""

    pair: Pair
    certainty: float
    reasons: tuple[Reason, ...]
