"""Many calls in parallel: opened in small batches, settled as they come in.

Only the exchange itself runs in threads; the store is called from the caller's thread alone. Calls
are opened a little ahead of the threads, so that no thread waits for the database, but no more than
that, since an open call reserves its maximum cost.
"""

from __future__ import annotations

import hashlib
import os
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import Any, Final

from kb_project.errors import BudgetError, ModelError, PauseError, ReplyError
from kb_project.llm.call import Exchange, PreparedCall, Verdict
from kb_project.llm.ports import CallOutcome, CallStore, ChatReply
from kb_project.llm.slots import Gate

Result = ChatReply[Any] | ReplyError
Opened = tuple[uuid.UUID, PreparedCall]

NOT_SENT: Final = CallOutcome(None, "not_sent")
INTERRUPTED: Final = CallOutcome(None, "broken_off")
_LINGER: Final = 0.002
"""Seconds to wait for more replies once one is there: fast ones are settled together."""
_LOOK: Final = 0.5
"""Seconds between checks whether others want a slot."""


class Threads:
    """A thread pool that one run of calls leaves to the next: starting threads for each run costs
    more than keeping them. A forked process inherits no threads, and starts its own.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def pool(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.count), os.getpid()
        return self._pool


class WarmUp:
    """Lets one call go ahead of those that begin alike, so that they find the beginning in the
    provider's cache. Calls that begin otherwise do not wait.
    """

    def __init__(self, calls: Sequence[PreparedCall]) -> None:
        self._beginnings: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        self._beginnings |= {call.record.key: beginnings_of(call) for call in calls}
        self._warm: set[str] = set()
        self._led: set[str] = set()

    def take(self, calls: deque[PreparedCall], most: int) -> list[PreparedCall]:
        """Take up to ``most`` calls off that need not wait for another's end."""
        taken: list[PreparedCall] = []
        waiting: list[PreparedCall] = []
        while calls and len(taken) < most:
            call = calls.popleft()
            cold = self._beginnings[call.record.key] - self._warm
            if cold & self._led:
                waiting.append(call)
            else:
                taken.append(call)
                self._led |= cold
        calls.extendleft(reversed(waiting))
        return taken

    def give_back(self, calls: Sequence[PreparedCall]) -> None:
        """Forget calls that were taken and not made."""
        for call in calls:
            self._led -= self._beginnings[call.record.key]

    def ended(self, call: PreparedCall) -> None:
        self._warm |= self._beginnings[call.record.key]


def beginnings_of(call: PreparedCall) -> frozenset[str]:
    """Digests of the beginnings that other calls have, too."""
    prompt = call.request.prompt
    texts = (
        f"{call.record.model}\0{prompt.system}\0{prompt.user[:end]}" for end in call.request.shared
    )
    return frozenset(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts)


class Batch:
    """One run over some calls. ``results`` yields each call's key with its result."""

    def __init__(
        self, store: CallStore, exchange: Exchange, calls: Sequence[PreparedCall], threads: Threads
    ) -> None:
        self._store = store
        self._exchange = exchange
        self._threads = threads
        self._step = threads.count
        self._todo = deque(calls)
        # A single thread makes one call after another anyway.
        self._warm_up = WarmUp(calls if threads.count > 1 else ())
        self._ready: deque[Opened] = deque()
        self._running: dict[Future[Verdict], Opened] = {}
        self._ended: list[tuple[Opened, Future[Verdict]]] = []
        self._stopping = threading.Event()
        self._pause: PauseError | None = None
        # Calls that timed out: each is made once more after the next answer.
        self._timed_out: dict[str, tuple[PreparedCall, ReplyError]] = {}
        self._repeated: set[str] = set()

    def results(self, gate: Gate) -> Iterator[tuple[str, Result]]:
        """Yield results as they come in, each stored before it is yielded; raises PauseError at the
        end."""
        pool = self._threads.pool()
        try:
            while self._todo or self._ready or self._running:
                self._open()
                self._submit(pool, gate)
                self._finish(pool, gate)
                yield from self._settle()
            if self._pause is None:
                yield from ((key, error) for key, (_, error) in self._timed_out.items())
        finally:
            self._wind_up()
        if self._pause:
            raise self._pause

    def _open(self) -> None:
        if not self._todo or len(self._ready) >= self._threads.count:
            return
        calls = self._warm_up.take(self._todo, self._step)
        if not calls:
            return
        try:
            ids = self._store.open_calls([call.record for call in calls])
        except BudgetError as error:
            self._warm_up.give_back(calls)
            self._todo.extendleft(reversed(calls))
            self._economise(error)
            return
        self._ready.extend(zip(ids, calls, strict=True))

    def _economise(self, error: BudgetError) -> None:
        """Go on one call at a time, once running calls have released what they did not cost."""
        if self._step == 1 and not self._ready and not self._running:
            self._stop(error)
        self._step = 1

    def _submit(self, pool: ThreadPoolExecutor, gate: Gate) -> None:
        running = len(self._running)
        if not self._ready and not running:
            return
        wanted = min(self._threads.count, running + len(self._ready))
        held = gate.adjust(running=running, wanted=wanted)
        while self._ready and len(self._running) < held:
            opened = self._ready.popleft()
            # In the caller's context: what halts the caller halts its calls.
            make = partial(self._exchange.make, opened[1], self._stopping.is_set)
            future = pool.submit(copy_context().run, make)
            self._running[future] = opened

    def _finish(self, pool: ThreadPoolExecutor, gate: Gate) -> None:
        if not self._running:
            return
        done = wait(self._running, timeout=_LOOK, return_when=FIRST_COMPLETED).done
        if done and len(done) < len(self._running):
            done = wait(self._running, timeout=_LINGER).done
        # Noted before it is removed, so that it is settled even if something interrupts.
        self._ended += [(self._running[future], future) for future in done]
        for future in done:
            del self._running[future]
        if done and not self._stopping.is_set():
            self._submit(pool, gate)

    def _settle(self) -> Iterator[tuple[str, Result]]:
        if not self._ended:
            return
        self._settle_all(_outcomes(self._ended))
        finished, self._ended = self._ended, []
        for (_, asked), future in finished:
            self._warm_up.ended(asked)
            result = future.result().result
            if isinstance(result, PreparedCall):
                if self._pause is None:
                    self._todo.appendleft(result)
            elif isinstance(result, PauseError):
                self._stop(result)
            elif isinstance(result, ModelError) and not isinstance(result, ReplyError):
                yield asked.record.key, ReplyError(result.happened, code=result.code)
            elif not self._is_held_back(asked, result):
                yield asked.record.key, result

    def _is_held_back(self, asked: PreparedCall, result: Result) -> bool:
        """Whether a call that timed out waits for another's answer, to be made once more."""
        key = asked.record.key
        if isinstance(result, ChatReply):
            if self._pause is not None:
                return False
            self._todo.extend(call for call, _ in self._timed_out.values())
            self._repeated |= self._timed_out.keys()
            self._timed_out.clear()
        elif result.code == "reply_timeout" and key not in self._repeated:
            self._timed_out[key] = asked, result
            return True
        return False

    def _stop(self, error: PauseError) -> None:
        """Send nothing new; running calls finish first."""
        self._pause = self._pause or error
        self._stopping.set()
        self._todo.clear()
        self._settle_all([(call_id, NOT_SENT) for call_id, _ in self._ready])
        self._ready.clear()

    def _wind_up(self) -> None:
        """Settle what is left when the caller has gone or something failed: paid replies are kept.

        After a run that finished there is nothing to do.
        """
        self._stopping.set()
        wait(self._running)
        running = [(opened, future) for future, opened in self._running.items()]
        unsent = [(call_id, NOT_SENT) for call_id, _ in self._ready]
        # In one go: with two, a failure of the first would skip the second.
        self._settle_all([*_outcomes([*self._ended, *running]), *unsent])

    def _settle_all(self, settled: Sequence[tuple[uuid.UUID, CallOutcome]]) -> None:
        if settled:
            self._store.settle([call for call, _ in settled], [end for _, end in settled])


def _outcomes(
    ended: Sequence[tuple[Opened, Future[Verdict]]],
) -> list[tuple[uuid.UUID, CallOutcome]]:
    return [
        (call_id, INTERRUPTED if future.exception() else future.result().outcome)
        for (call_id, _), future in ended
    ]
