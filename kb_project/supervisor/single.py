"""Ensures a single supervisor per data folder."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from kb_project.errors import ConflictError


@contextlib.contextmanager
def only_supervisor(data_dir: Path, address: str) -> Iterator[None]:
    """Hold the folder for the block; raises ConflictError, with the address, if another process
    does.

    The lock is released when its process dies, however that happens.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "run.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise ConflictError(
                f"Concordance is already running here: {lock.read().strip()}",
                code="already_running",
                next_step="Press Ctrl-C in its terminal to stop it.",
            ) from None
        lock.truncate(0)
        lock.write(address)
        lock.flush()
        yield
