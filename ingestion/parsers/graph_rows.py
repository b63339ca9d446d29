"""The entities and facts of a file to import, as its rows say them: bounded, on one line, cleaned.

Columns and attributes may have any of several names (``FIELDS``). A row that lacks a name or an end
is kept as it is, because the preview says what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from ingestion.parsers.document import MIB, Limits, clean, one_line
from ingestion.parsers.refusals import quoted
from kb_project.errors import ParseError

GRAPHML, NODE_LINK, CSV = "graphml", "json", "csv"
MOST_ROWS: Final = 100_000
MOST_BYTES: Final = 64 * MIB
LIMITS: Final = Limits(
    seconds=60, max_bytes=MOST_BYTES, max_archive_bytes=4 * MOST_BYTES, max_archive_entries=50
)
KEPT: Final = "Nothing was imported."
_LONGEST_TEXT: Final = 20_000
_LONGEST_NAME: Final = 2_000
_MOST_LISTED: Final = 500
# In order of preference; compared without case, blanks, hyphens and underscores.
FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "id": ("id", "entity id", "node id"),
    "name": ("name", "label", "title", "entity"),
    "type": ("type", "entity type", "kind", "category", "class"),
    "aliases": ("aliases", "alias", "also known as"),
    "description": ("description", "summary", "comment", "note"),
    "source": ("source", "source id", "from", "subject"),
    "target": ("target", "target id", "to", "object"),
    "source_name": ("source name",),
    "source_type": ("source type",),
    "target_name": ("target name",),
    "target_type": ("target type",),
    "predicates": ("predicates", "predicate", "relation", "relationship", "label", "keywords"),
}
_ENTITY_FIELDS: Final = ("id", "name", "type", "aliases", "description")
_FACT_FIELDS: Final = (
    *("source", "target", "source_name", "source_type", "target_name", "target_type"),
    *("predicates", "description"),
)


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity of the file; ``row`` counts from 1 within its table."""

    row: int
    id: str
    name: str
    type: str
    aliases: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact of the file. Its ends are ids or names of entities; the rest may be empty."""

    row: int
    source: str
    target: str
    source_name: str
    source_type: str
    target_name: str
    target_type: str
    predicates: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class GraphFile:
    """What was read of a file."""

    format: str
    entities: tuple[EntityRow, ...]
    facts: tuple[FactRow, ...]


def refuse(code: str, happened: str, next_step: str) -> ParseError:
    return ParseError(happened, code=code, kept=KEPT, next_step=next_step)


# --- values ---------------------------------------------------------------------------------------
Fields = Mapping[str, Any]


def entity_row(row: int, given: Fields, default_id: str = "") -> EntityRow:
    found = {name: _pick(given, name) for name in _ENTITY_FIELDS}
    id_ = line_of(found["id"]) or default_id
    return EntityRow(
        row,
        id_ or line_of(found["name"]),
        line_of(found["name"]) or default_id,
        line_of(found["type"]),
        _several(found["aliases"]),
        _text(found["description"]),
    )


def fact_row(row: int, given: Fields, **ends: str) -> FactRow:
    found = {name: _pick(given, name) for name in _FACT_FIELDS}
    lines = {name: line_of(found[name]) for name in _FACT_FIELDS[:6]}
    return FactRow(
        row=row,
        **(lines | {name: line_of(value) for name, value in ends.items()}),
        predicates=_several(found["predicates"]),
        description=_text(found["description"]),
    )


def _pick(given: Fields, field: str) -> Any:
    for name in FIELDS[field]:
        if (value := given.get(folded(name))) not in (None, ""):
            return value
    return ""


def folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


def by_name(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    return {folded(str(name)): value for name, value in pairs}


def line_of(value: Any) -> str:
    """A name on one line. Longer ones stay too long for an import, which says so."""
    return one_line(_scalar(value), limit=_LONGEST_NAME)


def _text(value: Any) -> str:
    return clean(_scalar(value))[0].strip()[:_LONGEST_TEXT]


def _scalar(value: Any) -> str:
    return str(value) if isinstance(value, (str, int, float)) else ""


def _several(value: Any) -> tuple[str, ...]:
    """A list, or one name a line."""
    if isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    found = value if isinstance(value, list) else _text(value).splitlines()
    lines = (line_of(one) for one in found[:_MOST_LISTED])
    return tuple(dict.fromkeys(line for line in lines if line))


def bounded(rows: Iterable[EntityRow | FactRow], format: str, name: str) -> GraphFile:
    """Collect the rows of a file. Raises ParseError if there are none, or too many."""
    read = list(islice(rows, MOST_ROWS + 1))
    if len(read) > MOST_ROWS:
        raise too_many(name)
    if not read:
        raise refuse(
            "no_rows", f"{quoted(name)} contains no entity and no fact.", "Choose another file."
        )
    return GraphFile(
        format,
        tuple(row for row in read if isinstance(row, EntityRow)),
        tuple(row for row in read if isinstance(row, FactRow)),
    )


def too_many(name: str) -> ParseError:
    return refuse(
        "too_many_rows",
        f"{quoted(name)} has more than {MOST_ROWS:,} entities and facts.",
        "Split it into smaller files and import those.",
    )
