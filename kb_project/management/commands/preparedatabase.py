"""Prepare your own Postgres: roles, database, extensions, permissions."""

from __future__ import annotations

from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kb_project.database.config import OWNER_ALIAS
from kb_project.database.engine.base import DATA
from kb_project.database.prepare import Plan, prepare
from kb_project.env import DatabaseUrl, EnvError, env_url, parse_database_url
from kb_project.errors import KBError


class Command(BaseCommand):
    help = (
        "Create the roles and the database that DATABASE_URL and DATABASE_OWNER_URL name, with "
        "their passwords, and the extensions. Safe to repeat; run `migrate` afterwards."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--superuser-url",
            help="postgres:// URL of a superuser, any database (default: DATABASE_SUPERUSER_URL)",
        )

    def handle(self, *args: Any, superuser_url: str | None, **options: Any) -> None:
        superuser = _superuser(superuser_url)
        plan = _plan()
        try:
            prepare(superuser.conninfo(), plan)
        except KBError as error:
            raise CommandError(error.sentence) from error
        except psycopg.OperationalError as error:
            raise CommandError(f"The database server cannot be reached: {error}") from error
        self.stdout.write(f"The database {plan.database} is ready for {plan.owner} and {plan.app}.")


def _superuser(given: str | None) -> DatabaseUrl:
    try:
        url = parse_database_url(given, name="--superuser-url") if given else None
        url = url or env_url("DATABASE_SUPERUSER_URL")
    except EnvError as error:
        raise CommandError(str(error)) from error
    if url is None:
        raise CommandError("Use --superuser-url or set DATABASE_SUPERUSER_URL.")
    return url


def _plan() -> Plan:
    """Read the application's and the owner's role, with passwords, from DATABASES."""
    app, owner = settings.DATABASES["default"], settings.DATABASES[OWNER_ALIAS]
    if DATA in app["OPTIONS"]:
        raise CommandError("DATABASE_URL is not set: the bundled server needs no preparation.")
    return Plan(
        database=app["NAME"],
        owner=owner["USER"],
        app=app["USER"],
        owner_password=owner["PASSWORD"],
        app_password=app["PASSWORD"],
    )
