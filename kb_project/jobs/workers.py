"""Who works: the name of a worker, and whether it still lives."""

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
    """Work as another worker of this process: two threads of one lane must not share a name."""
    token = _seat.set(f"~{seat}")
    try:
        yield
    finally:
        _seat.reset(token)


def worker_name() -> str:
    """``host:pid:start``: the start time tells a recycled pid from the worker it once named.

    A second worker of the same process has ``~`` and its seat behind.
    """
    return f"{_name_of(os.getpid())}{_seat.get()}"


@cache
def _name_of(pid: int) -> str:
    return f"{socket.gethostname()[:40]}:{pid}:{_started(pid)}"


def is_dead(name: str) -> bool:
    """Whether the named worker ran on this host and does not any more."""
    name = name.partition("~")[0]
    host, _, rest = name.rpartition(":")[0].partition(":")
    if host != socket.gethostname()[:40] or not rest.isdigit():
        return False
    return _started(int(rest)) != name.rpartition(":")[2]


def _started(pid: int) -> str:
    """The kernel's start time of a process, '' when there is none (or it is a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
