"""Control the bundled database server: start, stop, status, or a psql prompt."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.config import DATABASE, OWNER_ALIAS, TEST_FOLDER
from kb_project.database.engine.base import DATA
from kb_project.database.server import installed
from kb_project.env import psql_environment
from kb_project.errors import KBError

ACTIONS: Final = ("start", "stop", "status", "psql")


class Command(BaseCommand):
    help = "Start, stop or inspect the bundled Postgres, or open psql."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=ACTIONS)
        parser.add_argument("--json", action="store_true", help="with status: print JSON")
        parser.add_argument(
            "--owner", action="store_true", help="with psql: connect as the tables' owner"
        )
        parser.add_argument(
            "--superuser", action="store_true", help="with psql: connect as superuser"
        )
        parser.add_argument("--test", action="store_true", help="use the test server")
        parser.add_argument(
            "--if-idle", action="store_true", help="with stop: only if no one is connected"
        )

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        data_dir = settings.DATA_DIR / TEST_FOLDER if options["test"] else _data_dir()
        try:
            getattr(self, action)(data_dir, options)
        except KBError as error:
            raise CommandError(error.sentence) from error

    def start(self, data_dir: Path, options: dict[str, Any]) -> None:
        server = embedded.ensure(data_dir)
        self.stdout.write(f"The database is running (socket in {server.socket_dir}).")

    def stop(self, data_dir: Path, options: dict[str, Any]) -> None:
        stopped = embedded.stop(data_dir, only_if_idle=options["if_idle"])
        idle = "or is in use, " if options["if_idle"] else ""
        self.stdout.write(
            "The database is stopped."
            if stopped
            else f"The database was not running, {idle}so there was nothing to do."
        )

    def status(self, data_dir: Path, options: dict[str, Any]) -> None:
        server = embedded.running(data_dir)
        socket = str(server.socket_dir) if server else None
        if options["json"]:
            state = {"running": bool(server), "data": str(data_dir), "socket": socket}
            self.stdout.write(json.dumps(state))
        else:
            where = f"running (socket in {socket})" if server else "not running"
            self.stdout.write(f"The database in {data_dir} is {where}.")

    def psql(self, data_dir: Path, options: dict[str, Any]) -> None:
        server = embedded.ensure(data_dir)
        alias = OWNER_ALIAS if options["owner"] else "default"
        user = embedded.SUPERUSER if options["superuser"] else settings.DATABASES[alias]["USER"]
        program = str(installed() / "bin" / "psql")
        conninfo = make_conninfo(**server.conninfo(dbname=DATABASE, user=user))
        os.execve(program, [program, conninfo], psql_environment())  # noqa: S606 - psql takes over


def _data_dir() -> Path:
    """Return the bundled server's folder; refuses if the project uses another server."""
    folder = settings.DATABASES["default"]["OPTIONS"].get(DATA)
    if folder is None:
        raise CommandError("DATABASE_URL is set, so the bundled database is not used.")
    return Path(folder)
