"""The base of commands that work with stored data."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb_project.database.migrating import ensure_migrated
from kb_project.errors import KBError
from kb_project.logs import quieten


class DataCommand(BaseCommand):
    """A command that reads or changes stored data, even on a fresh checkout.

    It migrates the bundled database first, keeps log lines out of its output unless run with ``-v
    2``, and reports a KBError as its sentence.
    """

    requires_migrations_checks = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        quieten(options["verbosity"])
        try:
            return super().execute(*args, **options)
        except KBError as error:
            raise CommandError(error.sentence) from error

    def check_migrations(self) -> None:
        ensure_migrated(self.stderr.write)
