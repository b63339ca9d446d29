"""The features an endpoint supports: detected once, shared by a process's calls, stored.

While nothing is known, the first call goes ahead of the others: a server refuses a feature at once,
so one call is refused instead of all in parallel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Final


class Feature(StrEnum):
    """An optional feature of the protocol. The values are the names of Support's fields."""

    SCHEMA = "schema"
    JSON = "json"
    STREAM = "stream"
    USAGE = "usage"
    TEMPERATURE = "temperature"
    SEED = "seed"
    OLD_LIMIT = "old_limit"
    CACHE_CONTROL = "cache_control"


@dataclass(frozen=True, slots=True)
class Support:
    """The supported features; each is tried until a server refuses it explicitly.

    ``schema`` and ``json`` are the two kinds of response_format, ``usage`` is token counts at the
    end of a stream. ``old_limit`` is the name ``max_tokens``; without it the limit is sent as
    ``max_completion_tokens``. ``cache_control`` marks what to keep of a prompt in the provider's
    cache; only sent where ``openai_client`` knows of it.
    """

    schema: bool = True
    json: bool = True
    stream: bool = True
    usage: bool = True
    temperature: bool = True
    seed: bool = True
    old_limit: bool = True
    cache_control: bool = True

    def without(self, feature: Feature) -> Support:
        """Return the support without a feature.

        >>> Support().without(Feature.SCHEMA).json
        True
        """
        return replace(self, **{feature.value: False})

    def has(self, feature: Feature) -> bool:
        return bool(getattr(self, feature.value))

    def as_dict(self) -> dict[str, bool]:
        return asdict(self)

    @classmethod
    def from_dict(cls, found: Mapping[str, object]) -> Support:
        """Parse stored support; unknown names and non-boolean values are ignored."""
        names = {field.name for field in fields(cls)}
        known = {name: value for name, value in found.items() if name in names}
        return cls(**{name: value for name, value in known.items() if isinstance(value, bool)})


NO_FEATURES: Final = Support(**dict.fromkeys((feature.value for feature in Feature), False))
"""For calls that use none, such as embedding."""
HEAD_START: Final = 5.0
"""Seconds the first call goes alone. A refusal takes less; a call that takes longer is no refusal,
and others need not wait for it."""


LEAST_ROOM, MOST_ROOM = 2_000, 32_000
"""Tokens beyond an answer's limit for a model that reasons before it answers."""


class Capabilities:
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
        self._rooms: dict[str, int] = {}

    def configure(self, support: Support | None) -> None:
        """Take ``support`` from the settings if it is new there, as after a test of the endpoint:
        earlier settings may have been found wrong since."""
        with self._changed:
            if support is not None and support != self._settings:
                self.support = self._settings = support
                self._is_tried = True
                self._changed.notify_all()

    def stored(self, support: Support) -> None:
        """Note that the settings now hold what was found here. Other kinds are still tried."""
        with self._changed:
            self._settings = support

    def step_down(self, feature: Feature) -> None:
        with self._changed:
            self.support = self.support.without(feature)

    def room(self, model: str) -> int:
        """Return the tokens beyond an answer's limit that the model was found to reason with."""
        return self._rooms.get(model, 0)

    def widen(self, model: str, had: int) -> int:
        """Give a model that used up the room it ``had`` twice as much; return how much that is."""
        with self._changed:
            wider = min(MOST_ROOM, max(LEAST_ROOM, 2 * had))
            self._rooms[model] = max(wider, self.room(model))
            return self._rooms[model]

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
            while not (self._is_tried or kind in self._answered):
                if kind not in self._led:
                    self._led.add(kind)
                    return True
                if not self._changed.wait(until - time.monotonic()):
                    break
        return False
