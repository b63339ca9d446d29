"""Store the events of an answer as it is made, and notify its watchers.

``retrieval.search.reporting`` describes the kinds and their payloads. Each event is a row, written
in a short transaction of its own. Pieces of text are buffered for a moment, so that an answer of a
thousand tokens has tens of rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from kb_project.jobs import notify
from kb_project.llm.halting import Halt
from kb_project.sql import run_sql
from retrieval.answering import sql
from retrieval.models import Answer
from retrieval.search.reporting import EventKind, StoppedError
from workspaces import access

CHANNEL: Final = "concordance_events"
"""Where watchers hear of new events, as ``<answer> <sequence>``."""
HELD: Final = frozenset({EventKind.STATE, EventKind.PLAN})
"""Held until the event that follows at once: each write is a transaction, and each notification
makes every watcher read."""
SECONDS_TO_GATHER: Final = 0.06
MOST_GATHERED: Final = 200
"""In characters."""


class TakenOverError(StoppedError):
    """The answer is no longer this worker's: it has already ended."""

    default_code = "taken_over"


class AnsweredBeforeError(StoppedError):
    """The question, as searched, was answered before: ``earlier`` is that answer."""

    default_code = "answered_before"

    def __init__(self, earlier: Answer, standalone: str = "") -> None:
        super().__init__("This question was answered before.")
        self.earlier = earlier
        self.standalone = standalone


class StoredReporter:
    """Implements ``retrieval.search.reporting.Reporter`` for one answer claimed by ``worker``."""

    def __init__(
        self, workspace_id: UUID, answer_id: UUID, *, worker: str, halt: Halt, sequence: int = 0
    ) -> None:
        self._place = {"workspace": workspace_id, "answer": answer_id, "worker": worker}
        self._workspace_id = workspace_id
        self._halt = halt
        self._gathered = ""
        self._held: list[tuple[EventKind, Mapping[str, Any]]] = []
        self._flushed = 0.0
        self.sequence = sequence
        self.text = ""
        self.passages: list[dict[str, Any]] = []
        self.answered_before: Callable[[str], Answer | None] = lambda _question: None

    def emit(self, kind: EventKind, payload: Mapping[str, Any]) -> None:
        if kind is EventKind.TEXT:
            self._gather(str(payload["text"]))
        else:
            self._flush_text()
            self._look_up(kind, payload)
            self._held.append((kind, payload))
            if kind not in HELD:
                self._write()
        self.check()

    def hold(self, kind: EventKind, payload: Mapping[str, Any]) -> None:
        """Hold the event and send it with the next one."""
        self._held.append((kind, payload))

    def _look_up(self, kind: EventKind, payload: Mapping[str, Any]) -> None:
        """Look up an earlier answer by the plan, which has the question as meant in its
        conversation."""
        if kind is EventKind.PLAN:
            standalone = str(payload["question"])
            earlier = self.answered_before(standalone)
            if earlier is not None:
                raise AnsweredBeforeError(earlier, standalone)

    @property
    def is_stopped(self) -> bool:
        return self._halt.is_set

    def check(self) -> None:
        if self._halt.is_set:
            raise StoppedError("Someone stopped this answer.")

    def flush(self) -> None:
        """Write all buffered text and held events."""
        self._flush_text()
        if self._held:
            self._write()

    def _flush_text(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, ""
            self._held.append((EventKind.TEXT, {"text": gathered}))
            self._write()
            self._flushed = time.monotonic()

    def _gather(self, text: str) -> None:
        self.text += text
        self._gathered += text
        is_due = time.monotonic() - self._flushed >= SECONDS_TO_GATHER
        if is_due or len(self._gathered) >= MOST_GATHERED:
            self._flush_text()

    def _write(self) -> None:
        """Write all held events, in the order they were emitted."""
        held, self._held = self._held, []
        for kind, payload in held:
            if kind is EventKind.PASSAGES:
                self.passages = list(payload["passages"])
        last = self.sequence + len(held) - 1
        values = {
            **self._place,
            "sequences": list(range(self.sequence, last + 1)),
            "kinds": [kind.value for kind, _ in held],
            "payloads": [json.dumps(payload, default=str) for _, payload in held],
            "last": last,
            "channel": CHANNEL,
        }
        with access.in_workspace(self._workspace_id):
            rows = run_sql(sql.ADD_EVENTS, values)
        if not rows:
            raise TakenOverError("Another worker finished this answer.")
        self.sequence = last + 1
        if rows[0][0]:
            self._halt.set()


def add_last(workspace_id: UUID, answer_id: UUID, kind: EventKind, payload: Any) -> int:
    """Add an event after all others, in the transaction of the change it reports; return its
    number.

    Call once the answer's row is changed: its lock keeps others from adding events meanwhile.
    """
    values = {
        "workspace": workspace_id,
        "answer": answer_id,
        "kind": kind.value,
        "payload": json.dumps(payload, default=str),
    }
    [(sequence,)] = run_sql(sql.ADD_LAST_EVENT, values)
    notify.send(CHANNEL, f"{answer_id} {sequence}")
    return int(sequence)
