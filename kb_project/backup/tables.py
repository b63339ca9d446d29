"""The tables in a backup, each after those it references, and why others are left out.

Columns are read from the database, not from the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Final

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import models
from django.utils.functional import cached_property

from kb_project.backup import sql
from kb_project.errors import UnavailableError
from kb_project.sql import run_sql

WORKSPACE: Final = "workspaces.workspace"
TENANT: Final = "workspace_id"

# Maps model labels to the reason why their rows are not backed up.
LEFT_OUT: Final[Mapping[str, str]] = {
    "ingestion.walksnapshot": "is rebuilt from the mentions",
    "ingestion.consistencycheck": "describes rows of the installation it was made in",
    "ingestion.suggestionskip": "only orders one person's queue",
    "workspaces.storedreply": "only serves requests repeated within a day",
    "django_q.ormq": "only wakes workers; unfinished work is in the jobs",
    "django_q.task": "only lists past wake-ups",
    "django_q.schedule": "is created by the migrations",
    "sessions.session": "people sign in again",
    "account.emailconfirmation": "is requested again",
    "contenttypes.contenttype": "is created by the migrations",
    "auth.permission": "is created by the migrations",
    "auth.group": "grants no rights in workspaces; memberships do",
    "auth.group_permissions": "grants no rights in workspaces; memberships do",
    "workspaces.user_groups": "grants no rights in workspaces; memberships do",
    "workspaces.user_user_permissions": "grants no rights in workspaces; memberships do",
    "admin.logentry": "refers to ids that only this installation has",
}
# The column that names files below the media folder, as "<workspace id>/<name>".
FILES: Final = ("ingestion_documentversion", "blob")
# Columns sealed with the installation's own key, and their visible hints.
SECRETS: Final = frozenset({"sealed_key", "key_hint", "rerank_sealed_key", "rerank_key_hint"})
# Columns for the end of a worker's lease: after a restore, no one holds a lease.
LEASES: Final = frozenset({"leased_until", "lease_until"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``kind`` is the type as Postgres writes it, ``length`` that of a varchar, else 0.

    ``is_person`` says that it holds a person's id, which differs between installations.
    """

    name: str
    kind: str
    length: int = 0
    is_array: bool = False
    is_required: bool = False
    is_person: bool = False

    @property
    def is_secret(self) -> bool:
        return self.name in SECRETS

    @property
    def is_lease(self) -> bool:
        return self.name in LEASES


@dataclass(frozen=True, slots=True)
class Table:
    """``numbered``: rows get new ids from the installation's own sequence."""

    name: str
    app: str
    columns: tuple[Column, ...]
    numbered: bool = False

    @property
    def people(self) -> list[str]:
        return [column.name for column in self.columns if column.is_person]

    @property
    def secrets(self) -> list[str]:
        return [column.name for column in self.columns if column.is_secret]


@dataclass(frozen=True, slots=True)
class Contents:
    """The tables of a backup: people, workspaces, other tables of the installation, and tables of
    single workspaces.
    """

    people: Table
    workspaces: Table
    installation: tuple[Table, ...]
    tenants: tuple[Table, ...]

    @property
    def apps(self) -> frozenset[str]:
        whole = (self.people, self.workspaces, *self.installation, *self.tenants)
        return frozenset(table.app for table in whole)


def models_in_order() -> list[type[models.Model]]:
    """Return every model in a backup, each after those it references."""
    kept = {model: set[Any]() for model in _models() if model._meta.label_lower not in LEFT_OUT}
    for model, before in kept.items():
        before.update(other for other in _referred(model) if other in kept and other is not model)
    return list(TopologicalSorter(kept).static_order())


def contents() -> Contents:
    """Return the tables of a backup. Raises UnavailableError if the database lacks one of them."""
    ordered = models_in_order()
    known = _Catalogue(model._meta.db_table for model in ordered)
    user, workspace = get_user_model(), apps.get_model(WORKSPACE)
    tables = {model: known.table(model) for model in ordered}
    tenants = [model for model in ordered if _is_tenant(tables[model])]
    others = [model for model in ordered if model not in (user, workspace, *tenants)]
    return Contents(
        people=tables[user],
        workspaces=tables[workspace],
        installation=tuple(tables[model] for model in others),
        tenants=tuple(tables[model] for model in tenants),
    )


def _models() -> Iterator[type[models.Model]]:
    found = apps.get_models(include_auto_created=True)
    return (model for model in found if not model._meta.proxy)


def _referred(model: type[models.Model]) -> Iterator[Any]:
    for field in model._meta.local_concrete_fields:
        if field.remote_field is not None:
            yield field.remote_field.model


def _is_tenant(table: Table) -> bool:
    return any(column.name == TENANT for column in table.columns)


class _Catalogue:
    """The columns of the tables as the database describes them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._rows = run_sql(sql.COLUMNS, [list(names)])

    @cached_property
    def _by_table(self) -> dict[str, list[tuple[str, str, bool]]]:
        found: dict[str, list[tuple[str, str, bool]]] = {}
        for table, *column in self._rows:
            found.setdefault(table, []).append((column[0], column[1], column[2]))
        return found

    def table(self, model: type[models.Model]) -> Table:
        name = model._meta.db_table
        if name not in self._by_table:
            raise UnavailableError(
                f"The database has no table {name}.",
                code="not_migrated",
                kept="Nothing was changed.",
                next_step="Run 'manage.py migrate' first.",
            )
        people = set(_people_columns(model))
        columns = tuple(
            _column(column, kind, is_required=required, is_person=column in people)
            for column, kind, required in self._by_table[name]
        )
        is_numbered = isinstance(model._meta.pk, models.AutoField)
        return Table(name, model._meta.app_label, columns, is_numbered)


def _people_columns(model: type[models.Model]) -> Iterator[str]:
    user = get_user_model()
    for field in model._meta.local_concrete_fields:
        if field.remote_field is not None and field.remote_field.model is user:
            yield field.column


def _column(name: str, kind: str, *, is_required: bool, is_person: bool) -> Column:
    """
    >>> _column("tags", "character varying(60)[]", is_required=True, is_person=False).length
    60
    """
    whole, is_array = kind.removesuffix("[]"), kind.endswith("[]")
    base, _, size = whole.partition("(")
    digits = size.rstrip(")")
    length = int(digits) if base == "character varying" and digits else 0
    return Column(name, base, length, is_array, is_required, is_person)
