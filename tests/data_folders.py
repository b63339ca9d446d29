"""Databases as ``migrate`` leaves them, for the tests' own server and for the product in a folder.

To migrate from nothing takes a quarter of a minute: the product does it once for each state of the
migrations. ``tests/kb_project/management/test_run.py`` starts from nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded, sql
from kb_project.database.config import DATABASE
from kb_project.database.server import programs
from kb_project.env import child_environment, psql_environment

PREFIX: Final = "test-data-"
POSTGRES: Final = "postgres"
DUMP: Final = "dump"
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - folders made in it have fresh names
ROOM_FOR_A_FEW_SERVERS: Final = 1024**3
# Modules that migrations take statements from.
SQL_MODULES: Final = ("kb_project.database.tenancy", "kb_project.database.rights")


def new_root(prefix: str) -> Path:
    """Make a folder for servers, which any account may pass through.

    It is in memory where there is room, not on disk: these servers wait until every commit is
    written, and after a kill until all their files are, and are thrown away.
    """
    root = Path(tempfile.mkdtemp(prefix=prefix, dir=_memory()))
    root.chmod(0o755)
    return root


def _memory() -> str | None:
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return None
    runs_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    roomy = shutil.disk_usage(MEMORY).free > ROOM_FOR_A_FEW_SERVERS
    return str(MEMORY) if roomy and runs_programs else None


def make_migrated(data: Path) -> None:
    """Put the stopped database of a new installation into a data folder that has none.

    The account that Postgres runs as must be able to enter the folder.
    """
    data.mkdir(exist_ok=True)
    # Its files stay those of the account that Postgres runs as; the folder may be a link to it.
    subprocess.run(["cp", "-aL", str(_migrated() / POSTGRES), str(data)], check=True)


def fill_migrated(server: embedded.Server, database: str) -> None:
    """Put the tables of a new installation into a prepared database."""
    _program("pg_restore", server, database, "--exit-on-error", str(_migrated() / DUMP))


def _migrated() -> Path:
    kept: Path = settings.DATA_DIR / f"{PREFIX}{migrations_digest()}"
    kept.parent.mkdir(exist_ok=True)
    with (kept.parent / f"{PREFIX}lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kept / DUMP).exists():
            for old in kept.parent.glob(f"{PREFIX}*/"):
                embedded.delete(old / POSTGRES)
                shutil.rmtree(old)
            partial = kept.with_name(f"{PREFIX}partial")
            partial.mkdir()
            _manage(partial, "migrate", "--verbosity", "0")
            server = embedded.ensure(partial / POSTGRES)
            # To prepare a database makes the extensions, and AGE's schema.
            without = ("--exclude-extension=*", "--exclude-schema=ag_catalog")
            words = (*without, "--format=custom", f"--file={partial / DUMP}")
            _program("pg_dump", server, DATABASE, *words)
            embedded.stop(partial / POSTGRES)
            partial.rename(kept)
    return kept


def _manage(data: Path, *words: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=settings.BASE_DIR,
        env=child_environment(CONCORDANCE_DATA_DIR=str(data)),
        check=True,
        capture_output=True,
    )


def _program(name: str, server: embedded.Server, database: str, *words: str) -> None:
    """Run one of Postgres' own programs as the superuser."""
    where = make_conninfo(**server.conninfo(dbname=database))
    subprocess.run(
        [str(programs(None) / name), f"--dbname={where}", *words],
        env=psql_environment(),
        check=True,
        capture_output=True,
    )


def migrations_digest() -> str:
    """Return a fingerprint of every migration file and of the statements that prepare a
    database.
    """
    digest = hashlib.sha256()
    modules = [type(migration).__module__ for migration in _migrations()]
    for module in [*sorted(modules), sql.__name__, *SQL_MODULES]:
        digest.update(module.encode())
        digest.update(_source(module))
    return digest.hexdigest()[:16]


def _migrations() -> Iterable[Migration]:
    return MigrationLoader(None).disk_migrations.values()


def _source(module: str) -> bytes:
    """Return a module's source; migrations are already imported, others are only located."""
    spec = importlib.util.find_spec(module)
    return Path(spec.origin).read_bytes() if spec and spec.origin else b""
