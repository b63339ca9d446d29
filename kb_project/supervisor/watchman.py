"""Ends the parts when the supervisor cannot: it was killed with -9.

Runs as a process of its own, reads ``+GROUP`` and ``-GROUP`` lines from the supervisor, and acts
when the pipe closes. It imports nothing of the project, so that it is up at once and stays small.
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
    """The groups announced and not withdrawn by the time the lines end.

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


def end_groups(groups: set[int], *, patience: float = SECONDS_TO_STOP) -> None:
    """Ask the first process of each group to stop, then kill the groups that are still there."""
    left = [group for group in groups if _signal(os.kill, group, signal.SIGTERM)]
    deadline = time.monotonic() + patience
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = [group for group in left if _signal(os.kill, group, 0)]
    for group in groups:
        _signal(os.killpg, group, signal.SIGKILL)


def _signal(send: Callable[[int, int], None], target: int, number: int) -> bool:
    """Whether there was somebody to receive it."""
    with contextlib.suppress(ProcessLookupError):
        send(target, number)
        return True
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_groups(groups_left(sys.stdin))
