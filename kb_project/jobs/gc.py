"""Runs the garbage collector less often during ingestion, and gives back what is freed.

An ingest creates very many short-lived objects beside libraries whose objects stay. With Python's
default thresholds, scanning all of them repeatedly took a sixth of the time spent outside the
models (708 documents of one passage, two cores).
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Python's defaults are 700, 10 and 10.
THRESHOLDS: Final = (200_000, 20, 20)
LARGE_BLOCK: Final = 1 << 20
"""Bytes from which on a block is returned to the system as soon as it is freed. Left alone, glibc
raises this up to 32 MB: a refresh of 100,000 passages took 140 MB more."""
_M_MMAP_THRESHOLD: Final = -3


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Freeze existing objects, and collect less often, until the block ends."""
    _of_glibc("mallopt", _M_MMAP_THRESHOLD, LARGE_BLOCK)
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def give_back() -> None:
    """Return freed memory to the system, as far as the C library kept it for later."""
    _of_glibc("malloc_trim", 0)


def _of_glibc(name: str, *values: int) -> None:
    """Call a function that other C libraries may not have."""
    if function := getattr(ctypes.CDLL(None), name, None):
        function(*values)
