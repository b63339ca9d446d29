"""Migrate as the role that owns the tables; the application role may not change them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from kb_project.database.config import OWNER_ALIAS


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=OWNER_ALIAS)

    def handle(self, *args: Any, **options: Any) -> str | None:
        # Test runners and scripts pass the alias they work with, but the tables have one owner.
        return super().handle(*args, **{**options, "database": OWNER_ALIAS})
