"""What calls side by side find out about an endpoint, shared by all of a process that ask it.

While nothing is known, the first call goes ahead of the others: a server refuses a feature at once,
and then one call was refused instead of all that were under way.
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
"""Seconds the first call has for itself. A refusal takes less; an answer that takes more is none,
and need not be waited for."""


class Found:
    """``support`` as it is known now; without any given, the first calls try it out."""

    def __init__(self, support: Support | None = None, *, head_start: float = HEAD_START) -> None:
        self.support = support or Support()
        self._settings = support
        self._is_tried = support is not None
        self._head_start = head_start
        self._changed = threading.Condition()
        # Kinds of calls, by model and whether they have a form: those that were answered, and
        # those of which the first is under way.
        self._answered: set[tuple[str, bool]] = set()
        self._led: set[tuple[str, bool]] = set()

    def told(self, support: Support | None) -> None:
        """What the settings say. It counts when it is news, as after a test of the endpoint: what
        they said before may have been found wrong since."""
        with self._changed:
            if support is not None and support != self._settings:
                self.support = self._settings = support
                self._is_tried = True
                self._changed.notify_all()

    def kept(self, support: Support) -> None:
        """The settings say this now, since it was found out here. Other kinds are still tried."""
        with self._changed:
            self._settings = support

    def step_down(self, feature: Feature) -> None:
        with self._changed:
            self.support = self.support.without(feature)

    @contextmanager
    def turn(self, model: str, *, has_form: bool) -> Iterator[None]:
        """Around a call: the first of its kind leads, and others wait a little for its end.

        Where it fails, the next one leads.
        """
        kind = (model, has_form)
        leads = self._leads(kind)
        try:
            yield
            with self._changed:
                # What has a form makes use of all that others do.
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
    """The one of the endpoint, the key and the models, since models differ in what they take."""
    with _one_at_a_time:
        found = _found(config.line, (config.model, *sorted(config.models.items())))
    found.told(config.support)
    return found


_one_at_a_time = threading.Lock()


@lru_cache(maxsize=64)
def _found(line: int, models: tuple[object, ...]) -> Found:
    return Found()
