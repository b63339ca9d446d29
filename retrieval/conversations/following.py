"""Read new events of the answers being followed, in one batch for all that wait.

When many follow at once, a transaction per read costs more than the read itself. So while one read
is under way the others collect, and go next. Every read checks again whether each person may still
see the answer.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connections

from kb_project.database.outages import DATABASE_AWAY
from kb_project.errors import NotFoundError
from kb_project.sql import run_sql
from retrieval.answering import sql
from workspaces import access
from workspaces.models import Capability

MOST_TOGETHER: Final = 50


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an answer; ``payload`` is JSON on one line."""

    sequence: int
    kind: str
    payload: str

    def as_bytes(self) -> bytes:
        """
        >>> Event(3, "done", "{}").as_bytes()
        b'id: 3\\nevent: done\\ndata: {}\\n\\n'
        """
        return f"id: {self.sequence}\nevent: {self.kind}\ndata: {self.payload}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Followed:
    """An answer, the person who follows it, and the last event they know."""

    workspace_id: UUID
    answer_id: UUID
    user_id: int
    after: int


@dataclass(slots=True)
class Reading:
    """The reads of one event loop."""

    waiting: dict[asyncio.Future[list[Event] | None], Followed] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None

    async def read(self, followed: Followed) -> list[Event] | None:
        """Return new events; None if the database is away for now. Raises NotFoundError."""
        future = asyncio.get_running_loop().create_future()
        self.waiting[future] = followed
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._serve())
        found: list[Event] | None = await future
        return found

    async def _serve(self) -> None:
        while self.waiting:
            now = dict(list(self.waiting.items())[:MOST_TOGETHER])
            for future in now:
                del self.waiting[future]
            for future, found in zip(now, await _together(list(now.values())), strict=True):
                if future.done():  # the reader has gone
                    continue
                if isinstance(found, NotFoundError):
                    future.set_exception(found)
                else:
                    future.set_result(found)


async def _together(wanted: Sequence[Followed]) -> Sequence[list[Event] | NotFoundError | None]:
    try:
        return await sync_to_async(_read, thread_sensitive=False)(wanted)
    except DATABASE_AWAY:
        return [None] * len(wanted)


def _read(wanted: Sequence[Followed]) -> list[list[Event] | NotFoundError]:
    """Read for each follower; return an error for those whose answer or membership is gone."""
    places: dict[UUID, list[int]] = defaultdict(list)
    for place, one in enumerate(wanted):
        places[one.workspace_id].append(place)
    found: dict[int, list[Event]] = {}
    try:
        for workspace_id, several in places.items():
            events = _read_in(workspace_id, [wanted[place] for place in several])
            found |= {several[place]: of_one for place, of_one in events.items()}
    finally:
        # Return to the pool: many streams wait, few read.
        connections.close_all()
    missing = NotFoundError("Answer not found, or you may not see it.")
    return [found.get(place, missing) for place in range(len(wanted))]


def _read_in(workspace_id: UUID, wanted: Sequence[Followed]) -> dict[int, list[Event]]:
    """Return events by position in ``wanted``."""
    values = {
        "workspace": workspace_id,
        "answers": [one.answer_id for one in wanted],
        "people": [one.user_id for one in wanted],
        "afters": [one.after for one in wanted],
        "may": [Capability.READ.value],
    }
    with access.in_workspace(workspace_id):
        rows = run_sql(sql.EVENTS_FOLLOWED, values)
    found: dict[int, list[Event]] = defaultdict(list)
    for place, sequence, kind, payload in rows:
        events = found[place - 1]
        if sequence is not None:
            events.append(Event(sequence, kind, payload))
    return found
