"""What changed in a topic between two visits: pure functions of its state then and now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

VISIT: Final = timedelta(minutes=30)
"""A page opened again within this time is part of the same visit: what it listed stays."""
IDS: Final = ("entities", "versions", "facts")
NO_IDS: Final[frozenset[UUID]] = frozenset()


def digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class State:
    """A topic at one moment, by ids and digests.

    ``versions`` are those of the documents that name its entities, ``facts`` the relationships
    between its entities and the claims about them. ``title`` and ``report`` are digests of the
    report's title and summary, '' without one.
    """

    entities: frozenset[UUID] = NO_IDS
    versions: frozenset[UUID] = NO_IDS
    facts: frozenset[UUID] = NO_IDS
    title: str = ""
    report: str = ""

    def as_json(self) -> dict[str, Any]:
        ids = {name: sorted(str(one) for one in getattr(self, name)) for name in IDS}
        return {**ids, "title": self.title, "report": self.report}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> State:
        ids = {name: frozenset(map(UUID, stored.get(name, ()))) for name in IDS}
        return cls(**ids, title=stored.get("title", ""), report=stored.get("report", ""))

    @property
    def digest(self) -> str:
        return digest_of(json.dumps(self.as_json()))


@dataclass(frozen=True, slots=True)
class Changes:
    """What a topic has that it did not have, and the entities that left it."""

    joined: frozenset[UUID] = NO_IDS
    left: frozenset[UUID] = NO_IDS
    versions: frozenset[UUID] = NO_IDS
    facts: frozenset[UUID] = NO_IDS
    is_retitled: bool = False
    is_rewritten: bool = False

    @property
    def count(self) -> int:
        """The number of changes; a rewritten report is one, with its title."""
        several = (self.joined, self.left, self.versions, self.facts)
        return sum(map(len, several)) + int(self.is_retitled or self.is_rewritten)


def changes(before: State, now: State) -> Changes:
    """Compare two states of a topic.

    A first report counts as rewritten: it is news. One that is missing does not.
    """
    return Changes(
        joined=now.entities - before.entities,
        left=before.entities - now.entities,
        versions=now.versions - before.versions,
        facts=now.facts - before.facts,
        is_retitled=bool(now.title) and now.title != before.title,
        is_rewritten=bool(now.report) and now.report != before.report,
    )


def is_new_visit(visited_at: datetime, now: datetime) -> bool:
    return now - visited_at > VISIT


def successor(
    members: Collection[UUID], topics: Mapping[UUID, Collection[UUID]], sizes: Mapping[UUID, int]
) -> UUID | None:
    """Return the topic to follow when the watched one is gone; None if no entity is left.

    It is the smallest that holds at least half of the entities that any topic still holds: the
    topics above it hold them too, among many others. ``topics`` maps each to entities it holds.
    """
    wanted = set(members)
    held = {topic: len(wanted.intersection(entities)) for topic, entities in topics.items()}
    left = len(wanted.intersection(set().union(*topics.values())))
    enough = [topic for topic, number in held.items() if number and 2 * number >= left]
    return min(enough, key=lambda one: (sizes[one], -held[one], one), default=None)
