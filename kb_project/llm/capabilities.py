"""What is known of an endpoint's capabilities, shared by all calls of a process to it.

While nothing is known, the first call goes ahead of the others: a server refuses a feature at once,
so one call is refused instead of all in parallel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from kb_project.llm.config import ChatConfig
from kb_project.llm.support import Feature, Support

HEAD_START: Final = 5.0
"""Seconds the first call goes alone. A refusal takes less; a call that takes longer is no refusal,
and others need not wait for it."""


class Found:
    """``support`` as currently known; if none is given, the first calls detect it."""

    def __init__(self, support: Support | None = None, *, head_start: float = HEAD_START) -> None:
        self.support = support or Support()
        self._settings = support
        self._is_tried = support is not None
        self._head_start = head_start
        self._changed = threading.Condition()
        # Kinds of calls, by model and whether they have a form: those that were answered, and those
        # whose first call is running.
        self._answered: set[tuple[str, bool]] = set()
        self._led: set[tuple[str, bool]] = set()

    def told(self, support: Support | None) -> None:
        """Take ``support`` from the settings if it is new there, as after a test of the endpoint:
        earlier settings may have been found wrong since.
        """
        with self._changed:
            if support is not None and support != self._settings:
                self.support = self._settings = support
                self._is_tried = True
                self._changed.notify_all()

    def kept(self, support: Support) -> None:
        """Note that the settings now contain what was found here. Other kinds are still tried."""
        with self._changed:
            self._settings = support

    def step_down(self, feature: Feature) -> None:
        with self._changed:
            self.support = self.support.without(feature)

    @contextmanager
    def turn(self, model: str, *, has_form: bool) -> Iterator[None]:
        """Wrap a call: the first of its kind leads, and others wait a little for it to end.

        If it fails, the next one leads.
        """
        kind = (model, has_form)
        leads = self._leads(kind)
        try:
            yield
            with self._changed:
                # Calls with a form use every feature that others do.
                self._answered |= {kind, (model, False)}
        finally:
            if leads:
                with self._changed:
                    self._led.discard(kind)
                    self._changed.notify_all()

    def _leads(self, kind: tuple[str, bool]) -> bool:
        until = time.monotonic() + self._head_start
        with self._changed:
            while not self._is_known(kind):
                if kind not in self._led:
                    self._led.add(kind)
                    return True
                if not self._changed.wait(until - time.monotonic()):
                    break
        return False

    def _is_known(self, kind: tuple[str, bool]) -> bool:
        return self._is_tried or kind in self._answered


def found_for(config: ChatConfig) -> Found:
    """Return the shared instance for an endpoint, key and models, since models differ
    in support.
    """
    with _one_at_a_time:
        found = _found(config.line, (config.model, *sorted(config.models.items())))
    found.told(config.support)
    return found


_one_at_a_time = threading.Lock()


@lru_cache(maxsize=64)
def _found(line: int, models: tuple[object, ...]) -> Found:
    return Found()
