"""Move what people made in an edition, such as their questions, to where they may read it.

Apps name their kinds in ``AppConfig.user_content``. An item moves with everything that belongs to
it, under the same ids, so that links to it hold.
"""

from __future__ import annotations

import itertools
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, LiteralString, NamedTuple

from django.apps import apps
from django.db.models import Model
from django.utils.module_loading import import_string
from psycopg import sql

from ingestion.editions.copying import Tables, copy_of, transfer
from ingestion.models import Document
from kb_project.sql import run_sql
from workspaces import access

LONGEST_NAME: Final = 100


@dataclass(frozen=True, eq=False, slots=True)
class UserContent:
    """A kind of items that people make.

    ``tables`` are the items and what belongs to them; conditions know the items as ``%(items)s``.
    ``owners`` selects each item of a workspace with who made it and whether work on it is not
    finished; ``documents`` the documents that some items name, by item. ``cleared`` are columns of
    text that hold in one workspace only, ``unique`` the column of names that occur once in it.
    """

    tables: Tables
    owners: LiteralString
    documents: LiteralString
    cleared: Sequence[tuple[type[Model], str]] = ()
    unique: str = ""

    @property
    def items(self) -> type[Model]:
        return self.tables[0][0]


class Item(NamedTuple):
    id: uuid.UUID
    owner: int | None
    is_busy: bool


Items = Mapping[UserContent, Sequence[Item]]


@cache
def kinds() -> tuple[UserContent, ...]:
    """Return the kinds of all apps."""
    named = [getattr(config, "user_content", "") for config in apps.get_app_configs()]
    return tuple(itertools.chain.from_iterable(import_string(name) for name in named if name))


def items_of(workspace_id: uuid.UUID) -> Items:
    """Return everything that people made in a workspace, by kind; no kind without items."""
    with access.in_workspace(workspace_id):
        found = {kind: run_sql(kind.owners, {"workspace": workspace_id}) for kind in kinds()}
    return {kind: [Item(*row) for row in rows] for kind, rows in found.items() if rows}


def is_busy(items: Items) -> bool:
    return any(item.is_busy for several in items.values() for item in several)


def documents_of(workspace_id: uuid.UUID, items: Items) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return the documents that each item names, by the item's id."""
    found: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    with access.in_workspace(workspace_id):
        for kind, several in items.items():
            ids = [item.id for item in several]
            for item, document in run_sql(
                kind.documents, {"workspace": workspace_id, "items": ids}
            ):
                found[item].add(document)
    return found


def only(items: Items, ids: Collection[uuid.UUID]) -> Items:
    """Return those of the items that have these ids."""
    chosen = {kind: [item for item in several if item.id in ids] for kind, several in items.items()}
    return {kind: several for kind, several in chosen.items() if several}


def move(source: uuid.UUID, target: uuid.UUID, items: Items) -> None:
    """Move items between two workspaces. The target must have the documents that they cite."""
    for kind, several in items.items():
        values = {"items": [item.id for item in several]}
        with transfer(source, target, kind.tables, values) as write:
            for model, column in kind.cleared:
                clear = sql.SQL("UPDATE {} SET {} = ''")
                run_sql(clear.format(copy_of(model), sql.Identifier(column)))
            if kind.unique:
                _rename(kind, target)
            write()
        with access.in_workspace(source):
            statement = sql.SQL("DELETE FROM {} WHERE workspace_id = %(source)s AND {}")
            table = sql.Identifier(kind.items._meta.db_table)
            run_sql(statement.format(table, kind.tables[0][1]), {**values, "source": source})


def _rename(kind: UserContent, target: uuid.UUID) -> None:
    """Number the names that the target has already."""
    named = {"copy": copy_of(kind.items), "name": sql.Identifier(kind.unique)}
    named["table"] = sql.Identifier(kind.items._meta.db_table)
    taken = {
        name
        for (name,) in run_sql(
            sql.SQL("SELECT {name} FROM {table} WHERE workspace_id = %(target)s").format(**named),
            {"target": target},
        )
    }
    for item, name in run_sql(sql.SQL("SELECT id, {name} FROM {copy}").format(**named)):
        free = _free(name, taken)
        if free != name:
            rename = sql.SQL("UPDATE {copy} SET {name} = %(free)s WHERE id = %(item)s")
            run_sql(rename.format(**named), {"free": free, "item": item})


def _free(name: str, taken: Collection[str]) -> str:
    """
    >>> _free("Letters", {"Letters", "Letters 2"}), _free("Letters", set())
    ('Letters 3', 'Letters')
    """
    numbered = (f"{name[:LONGEST_NAME]} {number}" for number in itertools.count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def stand_in(store: uuid.UUID, documents: Iterable[uuid.UUID]) -> None:
    """Give a store bare rows for the documents that its items cite."""
    with access.in_workspace(store):
        Document.objects.bulk_create(
            (Document(pk=pk, workspace_id=store, size=0) for pk in documents),
            ignore_conflicts=True,
        )
