"""Chooses the operating-system account for the bundled server, and a folder it can reach.

Postgres refuses to run as root. Started by root (a container, a build machine), the server runs as
an ordinary account; permissions outside our own folders are not changed for that. If the account
cannot reach the data folder (a checkout below ``/root``), the data lives in
``/var/lib/concordance``, with a symbolic link in its place.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
from dataclasses import dataclass
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
    return _existing_account() or _new_account()


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


def _existing_account() -> Account | None:
    for name in KNOWN_ACCOUNTS:
        account = _named(name)
        if account is not None:
            return account
    return None


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
