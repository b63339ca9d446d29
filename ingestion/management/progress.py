"""Progress reports of long-running commands, and how to interrupt them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SECONDS_BETWEEN_LINES: Final = 5.0
INTERRUPTED: Final = 130  # what a shell expects after Ctrl-C
DOING: Final = {
    "files": "files",
    "tables": "tables read",
    "check": "parts checked",
    "rows": "rows written",
    "workspaces": "workspaces finished",
}


class Progress:
    """Writes a line every few seconds, once the work takes longer than that."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = time.monotonic()
        self._stream.write(f"{done:,} of {total:,} {DOING.get(what, what)}")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM stop the block as Ctrl-C does, so that it cleans up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
