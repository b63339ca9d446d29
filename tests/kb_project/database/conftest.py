"""Folders for servers that these tests start, kill and clear away."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.server import processes_in
from kb_project.errors import UnavailableError
from tests.data_folders import new_root

Row = tuple[Any, ...]


@pytest.fixture
def folder() -> Iterator[Path]:
    with new_folder() as made:
        yield made


@pytest.fixture(scope="session")
def cluster() -> Iterator[Path]:
    """Data as a server's first start leaves them: to copy is quicker than ``initdb``."""
    with new_folder() as made:
        embedded.ensure(made / "data")
        embedded.stop(made / "data")
        yield made / "data"


@pytest.fixture
def initialised(folder: Path, cluster: Path) -> Path:
    """A folder whose ``data`` has been served before."""
    subprocess.run(["cp", "-a", str(cluster), str(folder / "data")], check=True)
    return folder


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """A folder any account may pass through, with spaces in a name too long for a socket."""
    root = new_root("kb try ")
    long = root / f"a folder with spaces {'x' * 100}"
    long.mkdir()
    yield long
    for control_file in long.rglob("global/pg_control"):
        end_server(control_file.parent.parent)
    shutil.rmtree(root)


def end_server(data: Path) -> None:
    """Stop it in order, so that it gives its shared memory back; kill what does not listen."""
    with contextlib.suppress(UnavailableError):
        embedded.stop(data)
    kill_all(data)


def kill_all(data: Path) -> None:
    while pids := processes_in(data):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def query(server: embedded.Server, statement: str, *, dbname: str = "postgres") -> list[Row]:
    """Rows of a statement as superuser, committed."""
    conninfo = make_conninfo(**server.conninfo(dbname=dbname))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []
