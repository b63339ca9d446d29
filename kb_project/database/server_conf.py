"""The configuration of the bundled server: ``kb.conf``, rewritten before each start, and who may
connect: three roles, each by a password made for it.

The passwords are in a file in the data folder that only the server's account (and root) can read,
in the format of libpq, which reads them itself: they are in no setting, no environment and no
command line. The socket's folder keeps other accounts out; the passwords keep out a process of the
same account that cannot read that file, such as one that parses documents.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kb_project.database.prepare import Plan

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
