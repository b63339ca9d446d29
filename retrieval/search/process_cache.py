"""What searches keep in a process: the newest of each workspace, bounded by bytes.

A workspace of 100,000 passages takes some 65 MB of matrices and names, one of 700 a hundredth of
that: counting workspaces would bound nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

MOST_BYTES: Final = 256 * 1024**2

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: Hashable
    value: Any
    size: int


class ProcessCache:
    """Values by workspace. The least recently used leave first; the one just made stays,
    however large."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[UUID, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._making: defaultdict[UUID, threading.Lock] = defaultdict(threading.Lock)

    @property
    def size(self) -> int:
        """The bytes of what is kept, as estimated when it was made."""
        with self._lock:
            return sum(one.size for one in self._kept.values())

    def get(
        self,
        workspace_id: UUID,
        stamp: Hashable,
        make: Callable[[], Value],
        size: Callable[[Value], int],
    ) -> Value:
        """Return the value with this stamp, made now unless it is kept; ``size`` is in bytes.

        Of several threads that ask for the same, one makes it and the others wait.
        """
        found = self._find(workspace_id)
        if found is None or found.stamp != stamp:
            with self._lock:
                making = self._making[workspace_id]
            with making:
                found = self._find(workspace_id)
                if found is None or found.stamp != stamp:
                    value = make()
                    found = _Kept(stamp, value, size(value))
                    self._keep(workspace_id, found)
        kept: Value = found.value
        return kept

    def _find(self, workspace_id: UUID) -> _Kept | None:
        with self._lock:
            found = self._kept.get(workspace_id)
            if found is not None:
                self._kept.move_to_end(workspace_id)
            return found

    def _keep(self, workspace_id: UUID, made: _Kept) -> None:
        with self._lock:
            self._kept[workspace_id] = made
            self._kept.move_to_end(workspace_id)
            held = sum(one.size for one in self._kept.values())
            while held > self._most and len(self._kept) > 1:
                gone, left = self._kept.popitem(last=False)
                held -= left.size
                self._making.pop(gone, None)


CACHE: Final = ProcessCache(MOST_BYTES)
