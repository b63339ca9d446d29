"""Stops the parts when the supervisor was killed with -9 and cannot.

Runs as a separate process, reads ``+GROUP`` and ``-GROUP`` lines from the supervisor, and acts when
the pipe closes. It imports nothing of the project, so that it starts at once and stays small.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import Final

SECONDS_TO_STOP: Final = 3.0


def groups_left(lines: Iterable[str]) -> set[int]:
    """Return the groups announced and not withdrawn when the lines end.

    >>> groups_left(["+12", "+15", "-12"])
    {15}
    """
    groups: set[int] = set()
    for line in lines:
        group = int(line[1:])
        if line.startswith("+"):
            groups.add(group)
        else:
            groups.discard(group)
    return groups


def end_groups(groups: set[int]) -> None:
    """Ask the first process of each group to stop, then kill the groups that remain."""
    left = [group for group in groups if _signal(os.kill, group, signal.SIGTERM)]
    deadline = time.monotonic() + SECONDS_TO_STOP
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = [group for group in left if _signal(os.kill, group, 0)]
    for group in groups:
        _signal(os.killpg, group, signal.SIGKILL)


def _signal(send: Callable[[int, int], None], target: int, number: int) -> bool:
    """Send a signal; returns whether its target exists."""
    with contextlib.suppress(ProcessLookupError):
        send(target, number)
        return True
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_groups(groups_left(sys.stdin))
