"""The life cycle of the bundled Postgres: created on first use, started when needed.

- *Alive* means that a connection answers and belongs to this very data folder. Process ids and pid
  files are unreliable after a kill, a reboot or a container restart.
- Everything else happens under a file lock, so any number of processes may ask at once.
- The data folder is initialised under another name and renamed: a killed ``initdb`` leaves nothing
  that looks like a database.
- Files left by a dead server are removed only when no live process has the folder as its working
  directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo

from kb_project.database.server import (
    ACCESS,
    PASSFILE,
    SUPERUSER,
    Account,
    new_passwords,
    place_for,
    processes_in,
    programs,
    server_account,
    server_conf,
    statements,
    write_passwords,
)
from kb_project.env import plain_environment
from kb_project.errors import UnavailableError

PORT: Final = 5432
# A fixed place: TMPDIR differs between processes that must find the same server, and a socket's
# path is limited to 107 bytes.
SOCKET_ROOT: Final = Path("/tmp")  # noqa: S108 - the folder in it is private, its owner checked
SYSTEM_IDENTIFIER: Final[LiteralString] = "select system_identifier from pg_control_system()"
DATA_DIRECTORY: Final[LiteralString] = "show data_directory"
OTHER_CLIENTS: Final[LiteralString] = (
    "select count(*) from pg_stat_activity"
    " where backend_type = 'client backend' and pid <> pg_backend_pid()"
)
PATIENCE: Final = 60.0
SECONDS_TO_CONNECT: Final = 3
# Longer than the supervisor takes to notice that the server is gone.
SECONDS_FOR_OTHERS: Final = 6.0
INITDB_OPTIONS: Final = (
    f"--username={SUPERUSER}",
    "--auth=reject",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--data-checksums",
)


@dataclass(frozen=True)
class Server:
    """A running server: its data folder, and the folder of its socket."""

    data_dir: Path
    socket_dir: Path

    @property
    def passfile(self) -> Path:
        return self.data_dir / PASSFILE

    def conninfo(self, *, dbname: str = "postgres", user: str = SUPERUSER) -> dict[str, str]:
        place = {"host": str(self.socket_dir), "port": str(PORT), "passfile": str(self.passfile)}
        return place | {"user": user, "dbname": dbname}


def ensure(
    data_dir: Path, *, conf: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> Server:
    """Return the server of ``data_dir``, initialising and starting it if necessary.

    ``conf`` adds to ``kb.conf`` and takes effect when the server starts. Raises UnavailableError if
    the server does not answer within ``patience`` seconds.
    """
    server = running(data_dir) or _started_by_others(data_dir)
    if server is not None:
        return server
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    with _lock(data_dir):
        return running(data_dir) or _start(data_dir, conf or {}, patience)


def _started_by_others(data_dir: Path) -> Server | None:
    """Let a process of normal priority go first: the server inherits its starter's priority."""
    deadline = time.monotonic() + SECONDS_FOR_OTHERS
    while os.getpriority(os.PRIO_PROCESS, 0) > 0 and time.monotonic() < deadline:
        time.sleep(0.25)
        server = running(data_dir)
        if server is not None:
            return server
    return None


def running(data_dir: Path) -> Server | None:
    """Return the server of ``data_dir`` if it answers, else None. Starts nothing."""
    home = data_dir.resolve()
    identifier = _identifier(home)
    if identifier is None:
        return None
    server = Server(home, _socket_dir(home, identifier))
    return server if _answers(server, identifier) else None


def stop(data_dir: Path, *, only_if_idle: bool = False) -> bool:
    """Stop the server of ``data_dir``; ``False`` if there was none, or it was in use."""
    server = running(data_dir)
    if server is None:
        return False
    if only_if_idle:
        with _superuser_connection(server) as connection:
            others = connection.execute(OTHER_CLIENTS).fetchone()
        if others and others[0]:
            return False
    account = server_account(server.data_dir)
    timeout = str(int(PATIENCE))
    arguments = ["-D", str(server.data_dir), "-w", "-m", "fast", "-t", timeout, "stop"]
    code, output = _run(programs(account) / "pg_ctl", arguments, account)
    if code:
        raise _failure("The database server could not be stopped.", output)
    shutil.rmtree(server.socket_dir, ignore_errors=True)
    return True


def delete(data_dir: Path) -> None:
    """Stop the server of ``data_dir`` and delete its data, following the link if it is one."""
    stop(data_dir)
    home = data_dir.resolve()
    shutil.rmtree(home, ignore_errors=True)
    if data_dir.is_symlink():
        data_dir.unlink()
    data_dir.with_name(f"{data_dir.name}.lock").unlink(missing_ok=True)


def _start(data_dir: Path, conf: Mapping[str, str], patience: float) -> Server:
    account = server_account(data_dir)
    home = place_for(data_dir, account)
    if not (home / "PG_VERSION").exists():
        _initialise(home, account)
    identifier = _identifier(home)
    if identifier is None:
        raise _failure(f"The folder {data_dir} does not contain a readable database.", "")
    server = Server(home, _socket_dir(home, identifier))
    _make_socket_dir(server.socket_dir, account)
    if _wait_for_others(server, identifier, patience):
        return server
    _remove_leftovers(server)
    _write_conf(server, conf, account)
    _set_passwords(server, account)
    _launch(server, account, patience)
    return server


def _initialise(home: Path, account: Account | None) -> None:
    """Initialise under another name, then rename: a killed attempt never looks finished."""
    for leftover in home.parent.glob(f"{home.name}.init-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    # A fresh name: the initdb of a killed process may still be writing into the old one.
    partial = home.with_name(f"{home.name}.init-{secrets.token_hex(4)}")
    partial.mkdir(mode=0o700)
    if account is not None:
        account.own(partial)
    code, output = _run(
        programs(account) / "initdb", ["-D", str(partial), *INITDB_OPTIONS], account
    )
    if code:
        shutil.rmtree(partial, ignore_errors=True)
        raise _failure("The database could not be created.", output)
    with (partial / "postgresql.conf").open("a", encoding="utf-8") as postgresql_conf:
        postgresql_conf.write("\ninclude_if_exists = 'kb.conf'\n")
    partial.rename(home)


def _wait_for_others(server: Server, identifier: int, patience: float) -> bool:
    """Wait while processes use the data folder; True if one of them is a server that answers.

    Such a server is starting, stopping or recovering; removing its files would corrupt the data.
    """
    deadline = time.monotonic() + patience
    while processes_in(server.data_dir):
        if _answers(server, identifier):
            return True
        # Without its passwords no one can ask it anything, not even to stop.
        if _is_displaced(server) or not server.passfile.exists():
            _end_displaced(server)
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"The database server in {server.data_dir} is running but does not answer.",
                code="database_not_answering",
                kept="Its data was not changed.",
                next_step="It may be recovering from a crash. Try again in a minute.",
            )
        time.sleep(0.05)
    return False


def _remove_leftovers(server: Server) -> None:
    """Remove files of a dead server: a reused or zombie pid would keep the new one from
    starting.
    """
    (server.data_dir / "postmaster.pid").unlink(missing_ok=True)
    for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
        (server.socket_dir / name).unlink(missing_ok=True)


def _write_conf(server: Server, conf: Mapping[str, str], account: Account | None) -> None:
    texts = {"kb.conf": server_conf(server.socket_dir, conf), "pg_hba.conf": ACCESS}
    for name, text in texts.items():
        path = server.data_dir / name
        path.write_text(text, encoding="utf-8")
        if account is not None:
            account.own(path)


def _set_passwords(server: Server, account: Account | None) -> None:
    """Give the roles passwords, unless they have some, by a server that no one can connect to.

    Folders of earlier versions have none; neither has one whose file of passwords was deleted.
    """
    if server.passfile.exists():
        return
    passwords = new_passwords()
    arguments = ["--single", "-D", str(server.data_dir), "-c", "exit_on_error=on", "postgres"]
    code, output = _run(
        programs(account) / "postgres", arguments, account, given=statements(passwords)
    )
    if code:
        raise _failure("The passwords of the database could not be set.", output)
    write_passwords(server.passfile, passwords)
    if account is not None:
        account.own(server.passfile)


def _launch(server: Server, account: Account | None, patience: float) -> None:
    start_log = server.data_dir / "start.log"
    start_log.unlink(missing_ok=True)
    arguments = ["-D", str(server.data_dir), "-w", "-t", str(int(patience)), "-l", str(start_log)]
    code, output = _run(programs(account) / "pg_ctl", [*arguments, "start"], account)
    if code:
        log = start_log.read_text(encoding="utf-8", errors="replace") if start_log.exists() else ""
        raise _failure("The database server did not start.", output + log)


def _run(
    program: Path, arguments: list[str], account: Account | None, *, given: str = ""
) -> tuple[int, str]:
    """Run one of the server's programs with this input; returns exit code and output.

    The output goes to a file: the server inherits it, and a pipe would never be closed.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        finished = subprocess.run(
            [str(program), *arguments],
            check=False,
            input=given,
            text=True,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=plain_environment(),
            cwd="/",
            **(account.run_as() if account else {}),
        )
        output.seek(0)
        return finished.returncode, output.read()


def _answers(server: Server, identifier: int) -> bool:
    """Whether a connection answers, from a server that still uses this very folder.

    A server whose folder was deleted runs on for up to a minute; it fails this check.
    """
    try:
        with _superuser_connection(server) as connection:
            row = connection.execute(SYSTEM_IDENTIFIER).fetchone()
    except psycopg.Error:
        return False
    return row is not None and row[0] & 0xFFFFFFFFFFFFFFFF == identifier


def _is_displaced(server: Server) -> bool:
    """Whether the answering server was started under another name of this folder.

    Its absolute paths are invalid since the folder was renamed: its next checkpoint will fail.
    """
    try:
        with _superuser_connection(server) as connection:
            row = connection.execute(DATA_DIRECTORY).fetchone()
    except psycopg.Error:
        return False
    return row is not None and row[0] != str(server.data_dir)


def _end_displaced(server: Server) -> None:
    """Stop it at once; the next start recovers what it committed from its log."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        postmaster = postmaster_pid(server)
        if postmaster in processes_in(server.data_dir):
            os.kill(postmaster, signal.SIGQUIT)


def postmaster_pid(server: Server) -> int:
    """Read the pid file, which is reliable only if the server has just answered."""
    text = (server.data_dir / "postmaster.pid").read_text(encoding="utf-8")
    return int(text.splitlines()[0])


def _superuser_connection(server: Server) -> psycopg.Connection:
    return psycopg.connect(
        make_conninfo(**server.conninfo()), autocommit=True, connect_timeout=SECONDS_TO_CONNECT
    )


def _identifier(home: Path) -> int | None:
    """Return the database's system identifier: the first eight bytes of its control file."""
    try:
        with (home / "global" / "pg_control").open("rb") as control:
            return int(struct.unpack("=Q", control.read(8))[0])
    except (OSError, struct.error):
        return None


def _socket_dir(home: Path, identifier: int) -> Path:
    """Return a short path, unique to the data folder, whatever its name.

    The inode distinguishes a copied folder from its original and survives renaming.
    """
    key = f"{identifier}:{home.stat().st_ino}"
    return SOCKET_ROOT / f"kbpg-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _make_socket_dir(path: Path, account: Account | None) -> None:
    """Create the folder for the server's account (and root) only."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    owners = {os.geteuid()} | ({account.uid} if account else set())
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
        raise _failure(f"The folder {path} belongs to another account.", "")
    path.chmod(0o700)
    if account is not None:
        account.own(path)


@contextlib.contextmanager
def _lock(data_dir: Path) -> Iterator[None]:
    """Lock out other processes; opened for reading, so that a user can lock a file root created."""
    path = data_dir.with_name(f"{data_dir.name}.lock")
    handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _failure(happened: str, output: str) -> UnavailableError:
    lines = [line for line in output.strip().splitlines() if line.strip()][-6:]
    return UnavailableError(
        "\n".join([happened, *lines]), code="database_failed", kept="Existing data was not changed."
    )
