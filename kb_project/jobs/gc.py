"""Looking for garbage less often while documents are read.

An ingest makes very many objects that end by themselves, beside libraries whose objects stay. With
Python's usual thresholds, going through all of them again and again took a sixth of the time spent
beside the models (708 documents of one passage, two cores).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Python's own are 700, 10 and 10.
THRESHOLDS: Final = (20_000, 20, 20)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """What is there already is left out of the search, which is made more seldom, until the end."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
