"""Parse what people submit to ask and to search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from uuid import UUID

from django.http import QueryDict

from kb_project.errors import InputError
from retrieval.answering.options import OPTIONS, AnswerOptions
from retrieval.search.modes import DEFAULT_MODE, MODES, Mode
from retrieval.search.scope import Scope
from workspaces.pages import id_in

DATES: Final = frozenset({"dated_from", "dated_to", "as_of"})
WORDS: Final = frozenset({"tags", "media_types"})
MOST_LETTERS: Final = 100
FILTERS: Final = tuple(each.name for each in fields(Scope))
"""All filters of a scope. All but the dates may be repeated; all but dates and words are ids."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question, how and where to search for its answer, and its conversation."""

    text: str
    mode: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    conversation: UUID | None = None
    wishes: Mapping[str, str] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """Raises InputError if a filter has an invalid value."""
        return Scope.from_json(self.filters)

    @property
    def options(self) -> AnswerOptions:
        """Raises InputError if an option has an invalid value."""
        return AnswerOptions.from_json(self.wishes)

    @property
    def question(self) -> str:
        """Raises InputError if the question is empty."""
        if not self.text:
            raise InputError(
                "Nothing was asked.",
                code="question_empty",
                next_step="Type a question, or choose one below.",
            )
        return self.text


def wanted_of(query: QueryDict, name: str, modes: Mapping[str, Mode] = MODES) -> Wanted:
    """Parse the question under ``name``; drop a mode that is not among ``modes``, and filter values
    that are not ids.

    A text that is too long is kept whole, to be refused with a reason later.
    """
    mode = query.get("mode", "")
    return Wanted(
        text=query.get(name, "").replace("\0", "").strip(),
        mode=mode if mode in modes else DEFAULT_MODE,
        filters=filters_of(query),
        conversation=id_of(query, "conversation"),
        wishes=wishes_of(query),
    )


def filters_of(query: QueryDict) -> dict[str, Any]:
    """Return the filters that are set, as ``Scope.from_json`` takes them; '' means not set.

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


def wishes_of(query: QueryDict) -> dict[str, str]:
    """Return the options of an answer that are given, as ``AnswerOptions.from_json`` takes them.

    >>> wishes_of(QueryDict("response=list&level=&mode=walk"))
    {'response': 'list', 'level': ''}
    """
    return {name: query.get(name, "").replace("\0", "") for name in OPTIONS if name in query}


def is_id(value: str) -> bool:
    return id_in(value) is not None


def id_of(query: QueryDict, name: str) -> UUID | None:
    return id_in(query.get(name, ""))


def text_of(query: QueryDict, name: str) -> str:
    """Return the words to search for, shortened."""
    return query.get(name, "").replace("\0", "").strip()[:MOST_LETTERS]
