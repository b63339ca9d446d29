"""Who may connect to the bundled server: three roles, each by a password made for it.

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
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kb_project.database.prepare import Plan

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
