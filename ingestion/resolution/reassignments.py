"""Mentions that people reassigned to another entity than their name suggests."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingestion.resolution.keys import Ref


@dataclass(frozen=True, slots=True)
class Place:
    """A mention's position: ``own_key`` is its own name, ``offset`` counts from its passage."""

    document_id: uuid.UUID
    chunk_id: uuid.UUID | None = None
    own_key: str = ""
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """What mentions with ``key`` mean, wherever all the fields that are set match.

    Has the columns of ``ingestion.models.MentionPlacement``, in the order in which they are read.
    """

    key: str
    own_key: str
    document_id: uuid.UUID | None
    chunk_id: uuid.UUID | None
    offset: int | None
    target: Ref
    sequence: int

    def holds(self, place: Place) -> bool:
        return (
            (not self.own_key or self.own_key == place.own_key)
            and self.document_id in (None, place.document_id)
            and self.chunk_id in (None, place.chunk_id)
            and self.offset in (None, place.offset)
        )

    @property
    def weight(self) -> tuple[bool, bool, bool, bool, int]:
        """Sort key: the most specific placement first; of two alike, the later one."""
        return (
            self.offset is not None,
            self.chunk_id is not None,
            self.document_id is not None,
            bool(self.own_key),
            self.sequence,
        )


Placements = Mapping[str, Sequence[Placement]]
"""By key, the most specific first."""


def placements_of(rows: Iterable[Placement]) -> Placements:
    by_key: defaultdict[str, list[Placement]] = defaultdict(list)
    for row in rows:
        by_key[row.key].append(row)
    return {
        key: tuple(sorted(found, key=lambda one: one.weight, reverse=True))
        for key, found in by_key.items()
    }


def placed(placements: Placements, key: str, place: Place) -> Ref | None:
    """The entity a person reassigned the mention to, or None.

    >>> document = uuid.UUID(int=1)
    >>> rows = [Placement("mercury", "", document, None, None, ("mercury", 1), 1)]
    >>> placed(placements_of(rows), "mercury", Place(document))
    ('mercury', 1)
    """
    found = placements.get(key, ())
    return next((one.target for one in found if one.holds(place)), None)
