"""Data folders as ``migrate`` leaves them, for tests of the product in a folder of its own.

To migrate from nothing takes half a minute of both cores: it is done once for each state of the
migrations, and copied. ``tests/kb_project/management/test_run.py`` starts from nothing.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from django.conf import settings

from kb_project.database import embedded
from kb_project.env import child_environment
from tests.databases import migrations_digest

PREFIX: Final = "test-data-"
POSTGRES: Final = "postgres"


def make_migrated(data: Path) -> None:
    """Put the stopped database of a new installation into a data folder that has none.

    The account that Postgres runs as must be able to enter the folder.
    """
    data.mkdir(exist_ok=True)
    # Its files stay those of the account that Postgres runs as; the folder may be a link to it.
    subprocess.run(["cp", "-aL", str(_migrated() / POSTGRES), str(data)], check=True)


def _migrated() -> Path:
    kept: Path = settings.DATA_DIR / f"{PREFIX}{migrations_digest()}"
    kept.parent.mkdir(exist_ok=True)
    with (kept.parent / f"{PREFIX}lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for old in kept.parent.glob(f"{PREFIX}*/"):
                embedded.delete(old / POSTGRES)
                shutil.rmtree(old)
            partial = kept.with_name(f"{PREFIX}partial")
            partial.mkdir()
            _manage(partial, "migrate", "--verbosity", "0")
            _manage(partial, "pg", "stop")
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
