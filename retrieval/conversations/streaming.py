"""Stream an answer's events (SSE): from the first one on, then as they happen.

The view checks access inside its transaction and returns; the stream then waits in the event loop,
holding neither a thread nor a connection. Every read checks again: a stream ends when its
follower's membership or token ends or their access to collections changes, and when its answer
does.

When many follow at once, a transaction per read costs more than the read itself. So while one read
is under way the others collect, and go next. Every read checks again whether each person may still
see the answer: as a member, with the same access to collections, and with their token, if any.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final
from uuid import UUID
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import connections
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from kb_project.database.outages import DATABASE_AWAY, Listener
from kb_project.errors import ConflictError, NotFoundError
from kb_project.http.problems import problem
from kb_project.sql import run_sql
from retrieval.answering import events, sql
from retrieval.models import Answer
from retrieval.search.reporting import EventKind
from workspaces import access
from workspaces.editions import source_id
from workspaces.models import Capability, User, Workspace
from workspaces.pages import UserRequest

# --- following ------------------------------------------------------------------------------------
MOST_TOGETHER: Final = 50
SECONDS_WITHOUT_LISTENER: Final = 1.0
"""Between two reads while the listening connection is lost."""


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
        self._streams: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._listener: Listener | None = None

    def streams_of(self, user_id: int) -> int:
        """Return how many streams the person follows in this process."""
        return self._streams[user_id]

    @contextmanager
    def watching(self, answer_id: UUID, user_id: int = 0) -> Iterator[Watcher]:
        watcher = Watcher(asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._watchers[answer_id].add(watcher)
            self._streams[user_id] += 1
            self._listen()
        try:
            yield watcher
        finally:
            with self._lock:
                self._streams[user_id] -= 1
                self._streams += Counter()  # forget who follows none
                self._watchers[answer_id].discard(watcher)
                if not self._watchers[answer_id]:
                    del self._watchers[answer_id]

    @property
    def is_listening(self) -> bool:
        return self._listener is not None and self._listener.is_listening

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = Listener(events.CHANNEL, hear=self._hear, connected=self._wake_all)
            self._listener.start()

    def _hear(self, message: str) -> None:
        try:
            answer_id = UUID(message.partition(" ")[0])
        except ValueError:
            return
        with self._lock:
            watchers = list(self._watchers.get(answer_id, ()))
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
    """An answer, the person who follows it, and the last event they know.

    ``token_id`` is the token they signed in with, if they did.
    """

    workspace_id: UUID
    answer_id: UUID
    user_id: int
    after: int
    token_id: UUID | None = None


@dataclass(slots=True)
class EventReader:
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


_readers: WeakKeyDictionary[asyncio.AbstractEventLoop, EventReader] = WeakKeyDictionary()


def reader() -> EventReader:
    """Return the reader of the running event loop."""
    return _readers.setdefault(asyncio.get_running_loop(), EventReader())


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
            read = _read_in(workspace_id, [wanted[place] for place in several])
            found |= {several[place]: of_one for place, of_one in read.items()}
    finally:
        # Return to the pool: many streams wait, few read.
        connections.close_all()
    missing = NotFoundError("Answer not found, or you may not see it.")
    return [found.get(place, missing) for place in range(len(wanted))]


def _read_in(workspace_id: UUID, wanted: Sequence[Followed]) -> dict[int, list[Event]]:
    """Return events by position in ``wanted``, of those who may still see them."""
    source = source_id(workspace_id)
    whom = {
        "workspace": workspace_id,
        "source": source,
        "people": [one.user_id for one in wanted],
        "tokens": [one.token_id for one in wanted],
        "may": [Capability.READ.value],
    }
    # Members, tokens and grants are the source's, answers the edition's.
    with access.in_workspace(source):
        places = [place - 1 for (place,) in run_sql(sql.FOLLOWERS, whom)]
        values = {
            "workspace": workspace_id,
            "answers": [wanted[place].answer_id for place in places],
            "afters": [wanted[place].after for place in places],
            "places": places,
        }
        with access.in_workspace(workspace_id):
            rows = run_sql(sql.EVENTS_FOLLOWED, values)
    found: dict[int, list[Event]] = defaultdict(list)
    for place, sequence, kind, payload in rows:
        events = found[place]
        if sequence is not None:
            events.append(Event(sequence, kind, payload))
    return found


# --- streaming ------------------------------------------------------------------------------------
HEARTBEAT_SECONDS: Final = 15.0
SECONDS_TO_LOOK_AGAIN: Final = 3
HEARTBEAT: Final = b": still here\n\n"
LAST: Final = frozenset({EventKind.DONE, EventKind.FAILED, EventKind.STOPPED})
NEVER: Final = -1


@login_required
@require_GET
def answer_events(request: UserRequest, workspace_id: str, answer_id: UUID) -> HttpResponseBase:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    after = after_of(request.headers, request.GET)
    return stream_of(workspace=workspace, user=request.user, answer_id=answer_id, after=after)


def stream_of(*, workspace: Workspace, user: User, answer_id: UUID, after: int) -> HttpResponseBase:
    """Return the response that streams the events after ``after``. Raises NotFoundError.

    A client that reconnects after the last event gets 204, which tells a browser to stop. A person
    who follows many answers in this process gets 429: pages then look again every few seconds.
    """
    if hub().streams_of(user.pk) >= settings.STREAMS_A_PERSON:
        return _too_many()
    is_finished = _is_finished(workspace.pk, answer_id)
    if is_finished and after != NEVER and not events_after(workspace.pk, answer_id, after):
        return HttpResponse(status=204)
    token_id = user.token.pk if user.token else None
    response = StreamingHttpResponse(
        followed(Followed(workspace.pk, answer_id, user.pk, after, token_id)),
        content_type="text/event-stream",
    )
    # A buffering proxy would hold the answer back.
    response.headers["X-Accel-Buffering"] = "no"
    response.headers["Cache-Control"] = "no-store"
    return response


def _too_many() -> HttpResponse:
    error = ConflictError(
        f"You are following {settings.STREAMS_A_PERSON} answers already.",
        code="too_many_streams",
        kept="The answer is still being written.",
        next_step="Close other pages that wait for an answer, or look again in a few seconds.",
    )
    response = JsonResponse({**problem(error), "status": 429}, status=429)
    response.headers["Retry-After"] = str(SECONDS_TO_LOOK_AGAIN)
    return response


def _is_finished(workspace_id: UUID, answer_id: UUID) -> bool:
    """Return whether the answer has ended, in plain SQL, as every asker comes here next. Raises
    NotFoundError."""
    rows = run_sql(sql.ANSWER_STATE, {"workspace": workspace_id, "answer": answer_id})
    if not rows:
        raise NotFoundError("There is no such answer in this workspace.")
    return Answer(state=rows[0][0]).is_finished


def after_of(headers: Mapping[str, str], query: Mapping[str, str]) -> int:
    """Return the last event the client knows; an unreadable value counts as none.

    >>> after_of({"Last-Event-ID": "7"}, {"after": "3"}), after_of({}, {"after": "x"})
    (7, -1)
    """
    said = headers.get("Last-Event-ID") or query.get("after", "")
    is_number = said.isascii() and said.isdigit() and len(said) < 10
    return int(said) if is_number else NEVER


async def followed(answer: Followed) -> AsyncIterator[bytes]:
    """Yield the events after a known one until the last, with a comment whenever it is quiet for
    long."""
    heard = time.monotonic()
    with hub().watching(answer.answer_id, answer.user_id) as watcher:
        if hub().streams_of(answer.user_id) > settings.STREAMS_A_PERSON:
            return  # opened at the same moment as others: the next try is refused
        yield HEARTBEAT
        while True:
            try:
                events = await reader().read(answer)
            except NotFoundError:
                return
            for event in events or ():
                answer, heard = replace(answer, after=event.sequence), time.monotonic()
                yield event.as_bytes()
                if event.kind in LAST:
                    return
            if events is None or not hub().is_listening:
                await watcher.wait(SECONDS_WITHOUT_LISTENER)
            else:
                await watcher.wait(max(0.1, heard + HEARTBEAT_SECONDS - time.monotonic()))
            if time.monotonic() - heard >= HEARTBEAT_SECONDS:
                heard = time.monotonic()
                yield HEARTBEAT


def events_after(workspace_id: UUID, answer_id: UUID, after: int) -> list[Event]:
    values = {"workspace": workspace_id, "answer": answer_id, "after": after}
    with access.in_workspace(workspace_id):
        return [Event(*row) for row in run_sql(sql.EVENTS_AFTER, values)]
