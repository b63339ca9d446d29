"""Take up a job: the claim and the job's first work share one transaction.

People wait for every job to start, and a separate transaction for the claim would double that wait.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import dataclass, field

from kb_project.errors import Problem
from kb_project.llm.halting import Halt
from retrieval.answering import claims
from retrieval.answering.notify import Call
from workspaces import access


@dataclass(slots=True)
class Running:
    """The jobs one worker process is running, and how to stop each."""

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
    """One job, used in the thread that runs it. Call ``leave`` however the job ends."""

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
        """Return whether the job is ours once this transaction commits."""
        return claims.claim(self.call, self.worker)

    def settle(self) -> None:
        """Commit the first work. From now on the job's lease is renewed and it can be stopped."""
        self._beginning.close()
        with self.running.lock:
            self.running.jobs[self.call] = self.halt
        self.is_settled = True

    def fail(self, problem: Problem) -> None:
        """Fail the job, even if the claim was rolled back with its first work: otherwise it would
        be taken up forever."""
        if not self.is_settled:
            claims.claim(self.call, self.worker)
        claims.fail(self.call, self.worker, problem)

    def leave(self) -> None:
        with self.running.lock:
            self.running.jobs.pop(self.call, None)
