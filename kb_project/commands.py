"""The base of commands that work with stored data, and the migration they start with."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor
from structlog.contextvars import bound_contextvars

from kb_project.checks import OF_THE_INSTALLATION
from kb_project.database.config import OWNER_ALIAS
from kb_project.database.engine.base import DATA
from kb_project.errors import KBError, UnavailableError

PRODUCT: Final = ("kb_project", "workspaces", "ingestion", "retrieval")


def migrate(say: Callable[[str], None]) -> None:
    """Run pending migrations; most starts have none."""
    if steps := _waiting():
        say(f"Updating the database ({steps} steps) …")
        call_command("migrate", verbosity=0, interactive=False)
    connections.close_all()


def ensure_migrated(say: Callable[[str], None]) -> None:
    """Migrate the bundled database.

    Raises UnavailableError if DATABASE_URL names another database that is behind: its administrator
    decides when to migrate it.
    """
    if not (steps := _waiting()):
        return
    if DATA not in settings.DATABASES[DEFAULT_DB_ALIAS]["OPTIONS"]:
        raise UnavailableError(
            f"The database is {steps} migrations behind this version.",
            code="not_migrated",
            kept="Nothing was changed.",
            next_step="Run 'manage.py migrate', then try again.",
        )
    migrate(say)


def _waiting() -> int:
    executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


class AsOwner(BaseCommand):
    """A command of Django's as the role that owns the tables, whatever alias it is called with."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=OWNER_ALIAS)

    def handle(self, *args: Any, **options: Any) -> str | None:
        return super().handle(*args, **{**options, "database": OWNER_ALIAS})


class DataCommand(BaseCommand):
    """A command that reads or changes stored data, even on a fresh checkout.

    It migrates the bundled database first, keeps log lines out of its output unless run with ``-v
    2``, and reports a KBError as its sentence.
    """

    requires_migrations_checks = True
    requires_system_checks: tuple[str, ...] = (OF_THE_INSTALLATION,)

    def execute(self, *args: Any, **options: Any) -> str | None:
        if options["verbosity"] < 2:
            for name in PRODUCT:
                logging.getLogger(name).setLevel(logging.WARNING)
        try:
            with bound_contextvars(via="command"):
                return super().execute(*args, **options)
        except KBError as error:
            raise CommandError(error.sentence) from error

    def check_migrations(self) -> None:
        ensure_migrated(self.stderr.write)
