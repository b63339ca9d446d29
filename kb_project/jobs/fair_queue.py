"""A line in which workspaces take turns, and in each workspace its people.

A burst of one person's jobs makes another person wait for one of them, not for all.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from typing import Final
from uuid import UUID

from kb_project.jobs.notify import Call, Party

SECONDS_BETWEEN_LOOKS: Final = 0.05
"""Between two looks at whether a party may start now."""
_MOST_REMEMBERED: Final = 10_000

MayStart = Callable[[Party], bool]


def _any(_party: Party) -> bool:
    return True


class FairQueue:
    """Calls that wait, for the threads of one process.

    The next one is the oldest of the party served least recently, in the workspace served least
    recently. None, which ends a thread, comes before all calls.
    """

    def __init__(self) -> None:
        self._lines: dict[Party, deque[Call]] = {}
        self._ends = 0
        self._served: dict[UUID | Party, int] = {}
        self._number = count(1)
        self._changed = threading.Condition(threading.RLock())

    def put(self, call: Call | None) -> None:
        with self._changed:
            if call is None:
                self._ends += 1
            else:
                self._lines.setdefault(call.party, deque()).append(call)
            self._changed.notify_all()

    def get(self, may_start: MayStart = _any) -> Call | None:
        """Wait for a call of a party that may start; return None if the thread should end."""
        with self._changed:
            while True:
                if self._ends:
                    self._ends -= 1
                    return None
                if (party := self._next(may_start)) is not None:
                    return self._taken(party)
                # Who may start changes without a word to this queue.
                self._changed.wait(SECONDS_BETWEEN_LOOKS if self._lines else None)

    def empty(self) -> bool:
        return not self._lines

    def qsize(self) -> int:
        return sum(self.waiting().values())

    def waiting(self) -> Counter[Party]:
        """How many calls of each party wait."""
        with self._changed:
            return Counter({party: len(line) for party, line in self._lines.items()})

    def others_wait(self, workspace_id: UUID) -> bool:
        """Whether calls of another workspace wait."""
        return any(party.workspace_id != workspace_id for party in self.waiting())

    def _next(self, may_start: MayStart) -> Party | None:
        """The first in turn; those never served come first, in the order they called."""
        turns = sorted(
            self._lines, key=lambda party: (self._turn(party.workspace_id), self._turn(party))
        )
        return next(filter(may_start, turns), None)

    def _turn(self, served: UUID | Party) -> int:
        return self._served.get(served, 0)

    def _taken(self, party: Party) -> Call:
        line = self._lines[party]
        call = line.popleft()
        if not line:
            del self._lines[party]
        if len(self._served) >= _MOST_REMEMBERED:
            self._served.clear()
        self._served[party.workspace_id] = self._served[party] = next(self._number)
        return call
