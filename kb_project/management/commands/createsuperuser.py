"""Create an operator, as the role that owns the tables; the application role may not."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandParser

from kb_project.database.config import OWNER_ALIAS


class Command(createsuperuser.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=OWNER_ALIAS)

    def handle(self, *args: Any, **options: Any) -> str | None:
        return super().handle(*args, **{**options, "database": OWNER_ALIAS})
