"""The tables in a backup, each after those it references, and why others are left out.

Columns are read from the database, not from the models.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Final

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import models

from kb_project.backup import sql
from kb_project.errors import UnavailableError
from kb_project.sql import run_sql

WORKSPACE: Final = "workspaces.workspace"
TENANT: Final = "workspace_id"

# Maps model labels to the reason why their rows are not backed up.
LEFT_OUT: Final[Mapping[str, str]] = {
    "ingestion.walksnapshot": "is rebuilt from the mentions",
    "ingestion.corpuscount": "is counted again as the rows come back",
    "ingestion.consistencycheck": "describes rows of the installation it was made in",
    "ingestion.graphimport": "holds a file until it is imported; what was imported is in decisions",
    "ingestion.suggestionskip": "only orders one person's queue",
    "ingestion.suggestionstate": "is made again when all entities are compared the next time",
    "workspaces.installationspending": "counts this installation's own spending",
    "workspaces.invitation": "is sent again; its link leads to this installation",
    "workspaces.workspaceexport": "names a file of this installation",
    "workspaces.storedreply": "only serves requests repeated within a day",
    "workspaces.ratelimit": "only counts requests of the last minutes",
    "workspaces.apitoken": "signs in to the installation it was created in",
    "ingestion.lanecall": "only wakes workers; unfinished work is in the jobs",
    "django_q.ormq": "only wakes workers; unfinished work is in the jobs",
    "django_q.task": "only lists past wake-ups",
    "django_q.schedule": "is created by the migrations",
    "sessions.session": "people sign in again",
    "usersessions.usersession": "people sign in again",
    "mfa.authenticator": "is sealed with the installation's own key",
    "socialaccount.socialapp": "is configured in the settings",
    "socialaccount.socialtoken": "is not stored",
    "workspaces.accountevent": "tells of sign-ins to the installation it was made in",
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
FILE_NAME: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z_.-]{0,119}")
# Columns sealed with the installation's own key, and their visible hints.
SECRETS: Final = frozenset({"sealed_key", "key_hint", "rerank_sealed_key", "rerank_key_hint"})
# Columns of what this installation's operator allowed: a workspace from elsewhere brings none.
PERMISSIONS: Final = frozenset({"may_use_installation"})
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
    def permissions(self) -> list[str]:
        return [column.name for column in self.columns if column.name in PERMISSIONS]

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
    found = apps.get_models(include_auto_created=True)
    kept = [one for one in found if not one._meta.proxy and one._meta.label_lower not in LEFT_OUT]
    before = {
        model: {
            field.remote_field.model
            for field in model._meta.local_concrete_fields
            if field.remote_field is not None
            and field.remote_field.model in kept
            and field.remote_field.model is not model
        }
        for model in kept
    }
    return list(TopologicalSorter(before).static_order())


def contents() -> Contents:
    """Return the tables of a backup. Raises UnavailableError if the database lacks one of them."""
    ordered = models_in_order()
    columns: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for table, name, kind, required in run_sql(
        sql.COLUMNS, [[model._meta.db_table for model in ordered]]
    ):
        columns[table].append((name, kind, required))
    tables = {model: _table(model, columns[model._meta.db_table]) for model in ordered}
    people = tables.pop(get_user_model())
    workspaces = tables.pop(apps.get_model(WORKSPACE))
    tenants = [
        table for table in tables.values() if any(column.name == TENANT for column in table.columns)
    ]
    others = [table for table in tables.values() if table not in tenants]
    return Contents(people, workspaces, tuple(others), tuple(tenants))


def is_file_of(path: str, workspace_id: str) -> bool:
    """Whether a path stays in its workspace's folder.

    >>> is_file_of("w/file", "w"), is_file_of("w/../v/file", "w"), is_file_of("v/file", "w")
    (True, False, False)
    """
    folder, _, name = path.rpartition("/")
    return folder in (workspace_id, "") and bool(FILE_NAME.fullmatch(name))


def _table(model: type[models.Model], rows: list[tuple[str, str, bool]]) -> Table:
    """Describe a table by its columns in the database: name, type, and whether it is required."""
    if not rows:
        raise UnavailableError(
            f"The database has no table {model._meta.db_table}.",
            code="not_migrated",
            kept="Nothing was changed.",
            next_step="Run 'manage.py migrate' first.",
        )
    user = get_user_model()
    people = {
        field.column
        for field in model._meta.local_concrete_fields
        if field.remote_field is not None and field.remote_field.model is user
    }
    columns = tuple(
        _column(name, kind, is_required=required, is_person=name in people)
        for name, kind, required in rows
    )
    is_numbered = isinstance(model._meta.pk, models.AutoField)
    return Table(model._meta.db_table, model._meta.app_label, columns, is_numbered)


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
