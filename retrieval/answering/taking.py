"""Taking a job up: the claim and what the job begins with are one transaction.

Many wait for the beginning of each: a transaction of its own for the claim is as long again.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import dataclass, field

from kb_project.llm.halting import Halt
from retrieval.answering import claims
from retrieval.answering.keeping import Problem
from retrieval.answering.wake import Call
from workspaces import access


@dataclass(slots=True)
class Running:
    """What one worker process is doing, and how each is told to stop."""

    jobs: dict[Call, Halt] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def calls(self) -> list[Call]:
        with self.lock:
            return list(self.jobs)

    def halt(self, call: Call) -> None:
        with self.lock:
            halts = [halt for one, halt in self.jobs.items() if one.id == call.id]
        for halt in halts:
            halt.set()


@dataclass(slots=True)
class Taking:
    """One job's, used in the thread that does it. Leave it however the job ends."""

    call: Call
    worker: str
    running: Running
    halt: Halt = field(default_factory=Halt)
    is_settled: bool = False
    _beginning: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Taking:
        self._beginning.enter_context(access.in_workspace(self.call.workspace_id))
        return self

    def __exit__(self, *raised: object) -> None:
        self._beginning.__exit__(*raised)  # type: ignore[arg-type]  # an exception's three parts

    def claim(self) -> bool:
        """Whether the job is ours, once this transaction commits."""
        return claims.claim(self.call, self.worker)

    def settle(self) -> None:
        """Commit what it began with. From now on its lease is kept, and it hears of stops."""
        self._beginning.close()
        with self.running.lock:
            self.running.jobs[self.call] = self.halt
        self.is_settled = True

    def fail(self, problem: Problem) -> None:
        """Also where the claim was undone with the beginning, or it would be begun for ever."""
        if not self.is_settled:
            claims.claim(self.call, self.worker)
        claims.fail(self.call, self.worker, problem)

    def leave(self) -> None:
        with self.running.lock:
            self.running.jobs.pop(self.call, None)
