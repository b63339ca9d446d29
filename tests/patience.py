"""How long a test waits for what must happen: a bound for a hang, never a measure of speed.

A test that fails because a machine is slow says nothing about the product. What a test waits for
comes as quickly as it can; the bound is there so that a hang is a failure and not a silence.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 600.0
PATIENCE_MS: Final = PATIENCE * 1000
"""The same in Playwright's unit."""
NEVER: Final = 2 * PATIENCE
"""How long something takes that a test must not wait for: more than its patience."""


def wait_until(happens: Callable[[], object], *, every: float = 0.02) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < deadline, "It did not happen."
        time.sleep(every)
