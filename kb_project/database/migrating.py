"""Brings the tables to the state this version expects."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor

from kb_project.database.engine.base import DATA
from kb_project.errors import UnavailableError


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
