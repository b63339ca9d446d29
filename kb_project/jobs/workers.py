"""Identifies workers, and tells whether they are alive."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

_seat: ContextVar[str] = ContextVar("_seat", default="")


@contextmanager
def seated(seat: str) -> Iterator[None]:
    """Work under a separate name in this process: two threads of one lane must not share a name."""
    token = _seat.set(f"~{seat}")
    try:
        yield
    finally:
        _seat.reset(token)


def worker_name() -> str:
    """Return ``host:pid:start``: the start time distinguishes a recycled pid from the former
    worker's.

    A further worker in the same process has ``~`` and its seat appended.
    """
    return f"{_name_of(os.getpid())}{_seat.get()}"


@cache
def _name_of(pid: int) -> str:
    return f"{socket.gethostname()[:40]}:{pid}:{_started(pid)}"


def is_dead(name: str) -> bool:
    """Whether the named worker ran on this host and has ended."""
    name = name.partition("~")[0]
    host, _, rest = name.rpartition(":")[0].partition(":")
    if host != socket.gethostname()[:40] or not rest.isdigit():
        return False
    return _started(int(rest)) != name.rpartition(":")[2]


def _started(pid: int) -> str:
    """Return the kernel's start time of a process, '' if there is none (or it is a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
