"""What people send to ask and to search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from uuid import UUID

from django.http import QueryDict

from kb_project.errors import InputError
from retrieval.search.modes import DEFAULT_MODE, MODES
from retrieval.search.scope import Scope

DATES: Final = frozenset({"dated_from", "dated_to"})
WORDS: Final = frozenset({"tags", "media_types"})
MOST_LETTERS: Final = 100
FILTERS: Final = tuple(each.name for each in fields(Scope))
"""Every filter a scope has. All but the dates may be sent several times, all but words are ids."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question with how and where to look for its answer, and the conversation it belongs to."""

    text: str
    mode: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    conversation: UUID | None = None

    @property
    def collections(self) -> tuple[str, ...]:
        return tuple(self.filters.get("collections", ()))

    @property
    def scope(self) -> Scope:
        """Raises InputError where a filter has a value it cannot have."""
        return Scope.from_json(self.filters)

    @property
    def question(self) -> str:
        """Raises InputError where nothing was asked at all."""
        if not self.text:
            raise InputError(
                "Nothing was asked.",
                code="question_empty",
                next_step="Type a question, or choose one below.",
            )
        return self.text


def wanted_of(query: QueryDict, name: str) -> Wanted:
    """The question under ``name``; an unknown mode or a filter's value that is no id is left out.

    A text that is too long stays whole, for whoever refuses it to say so.
    """
    mode = query.get("mode", "")
    return Wanted(
        text=query.get(name, "").replace("\0", "").strip(),
        mode=mode if mode in MODES else standard_mode(),
        filters=filters_of(query),
        conversation=id_of(query, "conversation"),
    )


def filters_of(query: QueryDict) -> dict[str, Any]:
    """The filters that are set, as ``Scope.from_json`` takes them; '' means not set.

    >>> filters_of(QueryDict("tags=tide&tags=&dated_from=2024-05-01&collections=no-id"))
    {'tags': ['tide'], 'dated_from': '2024-05-01'}
    """
    found: dict[str, Any] = {}
    for name in FILTERS:
        values = [value.replace("\0", "") for value in query.getlist(name)]
        if name in DATES:
            found[name] = next((value for value in values if value), "")
        elif name in WORDS:
            found[name] = list(dict.fromkeys(value for value in values if value))
        else:
            found[name] = list(dict.fromkeys(value for value in values if is_id(value)))
    return {name: value for name, value in found.items() if value}


def standard_mode() -> str:
    """The mode of whoever chose none: the one that chooses, where there is one."""
    return "auto" if "auto" in MODES else DEFAULT_MODE


def is_id(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True


def id_of(query: QueryDict, name: str) -> UUID | None:
    value = query.get(name, "")
    return UUID(value) if is_id(value) else None


def text_of(query: QueryDict, name: str) -> str:
    """A few words to look for."""
    return query.get(name, "").replace("\0", "").strip()[:MOST_LETTERS]
