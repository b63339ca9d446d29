"""Stream an answer's events (SSE): from the first one on, then as they happen.

The view checks access inside its transaction and returns; the stream then waits in the event loop,
holding neither a thread nor a connection. Every read checks again: a stream ends when its
follower's membership or token ends or their access to collections changes, and when its answer
does.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from kb_project.errors import ConflictError, NotFoundError
from kb_project.http.problems import problem
from kb_project.sql import run_sql
from retrieval.answering import sql
from retrieval.conversations.following import (
    SECONDS_WITHOUT_LISTENER,
    Event,
    Followed,
    hub,
    reader,
)
from retrieval.models import Answer
from retrieval.search.reporting import EventKind
from workspaces import access
from workspaces.models import User, Workspace
from workspaces.pages import UserRequest

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
