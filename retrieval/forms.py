"""What people send to ask and to search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.http import QueryDict

from retrieval.search.modes import MODES
from retrieval.search.scope import Scope

LONGEST: Final = 4_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question with how and where to look for its answer."""

    text: str
    mode: str
    collections: tuple[str, ...]

    @property
    def scope(self) -> Scope:
        """Raises InputError where a collection is no id."""
        return Scope.from_json({"collections": list(self.collections)})


def wanted_of(query: QueryDict, name: str) -> Wanted:
    """The question under ``name``; an unknown mode or a collection that is no id is left out."""
    mode = query.get("mode", "")
    return Wanted(
        text=query.get(name, "").replace("\0", "").strip()[:LONGEST],
        mode=mode if mode in MODES else next(iter(MODES)),
        collections=tuple(value for value in query.getlist("collections") if is_id(value)),
    )


def is_id(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True
