"""Subscriptions of this process's watchers to answers: one listening connection wakes them all."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import UUID

from kb_project.database.listening import Listener
from retrieval.answering import notify

SECONDS_WITHOUT_LISTENER: Final = 1.0


@dataclass(eq=False, slots=True)
class Watcher:
    """One stream, in the event loop it was created in."""

    loop: asyncio.AbstractEventLoop
    news: asyncio.Event

    def wake(self) -> None:
        """Wake the stream; may be called from any thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.news.set)

    async def wait(self, seconds: float) -> None:
        """Wait until there is news or the time is up."""
        try:
            async with asyncio.timeout(seconds):
                await self.news.wait()
        except TimeoutError:
            return
        self.news.clear()


class Hub:
    """Watchers by answer. Starts listening, in its own thread, with the first watcher."""

    def __init__(self) -> None:
        self._watchers: defaultdict[UUID, set[Watcher]] = defaultdict(set)
        self._lock = threading.Lock()
        self._listener: Listener | None = None

    @contextmanager
    def watching(self, answer_id: UUID) -> Iterator[Watcher]:
        watcher = Watcher(asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._watchers[answer_id].add(watcher)
            self._listen()
        try:
            yield watcher
        finally:
            with self._lock:
                self._watchers[answer_id].discard(watcher)
                if not self._watchers[answer_id]:
                    del self._watchers[answer_id]

    @property
    def is_listening(self) -> bool:
        return self._listener is not None and self._listener.is_listening

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = Listener(notify.EVENTS, hear=self._hear, connected=self._wake_all)
            self._listener.start()

    def _hear(self, message: str) -> None:
        answer_id = notify.answer_in(message)
        with self._lock:
            watchers = list(self._watchers.get(answer_id, ())) if answer_id else []
        for watcher in watchers:
            watcher.wake()

    def _wake_all(self) -> None:
        """Wake everyone after connecting: notifications may have been missed."""
        with self._lock:
            watchers = [one for several in self._watchers.values() for one in several]
        for watcher in watchers:
            watcher.wake()


@cache
def hub() -> Hub:
    """The process's hub."""
    return Hub()
