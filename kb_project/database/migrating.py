"""The tables as this version of the code expects them."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor

from kb_project.database.engine.base import DATA
from kb_project.errors import UnavailableError


def migrate(say: Callable[[str], None]) -> None:
    """Bring the tables up to date; most starts find nothing to do."""
    if steps := _waiting():
        say(f"Bringing the database up to date ({steps} steps) …")
        call_command("migrate", verbosity=0, interactive=False)
    connections.close_all()


def ensure_migrated(say: Callable[[str], None]) -> None:
    """Bring the bundled database up to date.

    Raises UnavailableError where DATABASE_URL names another one that is not: when to change that
    is for its administrator to decide.
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
