"""What commands that work with stored data have in common."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb_project.database.migrating import ensure_migrated
from kb_project.errors import KBError
from kb_project.logs import quieten


class DataCommand(BaseCommand):
    """A command that reads or changes stored data, on a fresh checkout too.

    It migrates the bundled database first, keeps log lines out of its output unless asked with
    ``-v 2``, and ends a KBError with the error's sentence.
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
