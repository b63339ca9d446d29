"""Finds live processes by working directory: the postmaster and its children chdir to
their data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")


def processes_in(folder: Path) -> list[int]:
    """Return the ids of processes whose working directory is ``folder``, except zombies.

    A zombie keeps its id but holds nothing; if a container's first process does not reap its
    children, it stays forever.
    """
    wanted = str(folder.resolve())
    return [pid for pid in _process_ids() if _working_directory(pid) == wanted and is_alive(pid)]


def is_alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    # The command name is in parentheses and may itself contain spaces and parentheses.
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def _process_ids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _working_directory(pid: int) -> str | None:
    try:
        return str((PROC / str(pid) / "cwd").readlink())
    except OSError:
        return None
