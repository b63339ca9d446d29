"""Limits on connections, requests and their bodies, enforced before any view runs.

Django spools a body to disk before it looks at the request. So its size and pace are watched
between the server and Django: a body that announces too many bytes is refused unread, one that
turns out to have them is refused there, and so is one that arrives too slowly. Django then gets an
empty request with the refusal, and answers it in the usual shape.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from asyncio.events import TimerHandle
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kb_project.errors import InputError, KBError, UnavailableError
from kb_project.http.api_requests import LARGEST as LARGEST_JSON
from kb_project.http.problems import problem

# --- connections and requests ---------------------------------------------------------------------
MOST_HEADER_BYTES: Final = 64 * 1024
RETRY_AFTER: Final = 2
"""Seconds after which a refused client may try again."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1, with limits on the number of connections, and on headers.

    uvicorn itself waits for headers for ever, and reads as many of them as are sent.
    """

    _timer: TimerHandle | None = None
    _unread: int = 0
    _reads_headers: bool = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        if len(self.connections) > settings.MOST_CONNECTIONS:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, busy())
        else:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._unread = self._unread + len(data) if self._reads_headers else 0
        if self._unread > MOST_HEADER_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _headers_too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reads_headers = True
        if self._timer is None:
            self._await_headers()

    def on_headers_complete(self) -> None:
        self._reads_headers = False
        self._stop_timer()
        super().on_headers_complete()

    def _await_headers(self) -> None:
        self._timer = self.loop.call_later(settings.HEADER_SECONDS, self._too_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        if not self._is_answering():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, _headers_too_slow())
        else:  # the next request's headers may wait until this one is answered
            self._await_headers()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _refuse(self, status: HTTPStatus, error: KBError) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.write(plain_refusal(status, error))
            self.transport.close()


def busy() -> UnavailableError:
    return UnavailableError(
        "The server has too many requests at once.",
        code="busy",
        kept="Nothing was changed.",
        next_step="Try again in a few seconds.",
    )


def _headers_too_large() -> InputError:
    return InputError("The request's headers are too large.", code="headers_too_large")


def _headers_too_slow() -> InputError:
    return InputError("The request's headers took too long to arrive.", code="headers_too_slow")


def refusal_of(status: int, error: KBError) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return headers and body of an answer that Django does not make."""
    body = json.dumps({**problem(error), "status": status}).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **({"retry-after": str(RETRY_AFTER)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}),
    }
    return [(name.encode(), value.encode()) for name, value in headers.items()], body


def plain_refusal(status: HTTPStatus, error: KBError) -> bytes:
    headers, body = refusal_of(status, error)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", body])


async def send_busy(send: Any) -> None:
    headers, body = refusal_of(HTTPStatus.SERVICE_UNAVAILABLE, busy())
    start = {"type": "http.response.start", "status": 503, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


# --- bodies ---------------------------------------------------------------------------------------
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGEST_FORM: Final = 1024**2
LARGEST_UNKNOWN: Final = 256 * 1024
"""Bytes from someone who shows neither a session nor a token: enough to sign in."""
LARGEST_GRAPH: Final = 64 * 1024**2
"""Bytes of a graph to import."""
AROUND_FILES: Final = LARGEST_FORM
"""Bytes of a form beside its files."""
SECONDS_TO_START: Final = 15.0
"""Of a body's pace: how long it may take besides the time that its bytes allow."""
SECONDS_TO_LINGER: Final = 1.0
"""After a refusal, what still arrives is thrown away for a moment: a client that is sending would
otherwise see a broken connection in place of the answer."""
REFUSAL: Final = "concordance.refusal"
"""Where a request's refusal is in its scope."""

_DOCUMENTS = r"/(?:w|api/v1/workspaces)/[^/]+/documents/"
_WITH_FILES = re.compile(rf"{_DOCUMENTS}(?:upload/|[^/]+/versions/(?:estimate/)?)?")
_WITH_GRAPH = re.compile(r"/(?:w|api/v1/workspaces)/[^/]+/graph/imports/")
_WITH_QUESTIONS = re.compile(
    r"/(?:w|api/v1/workspaces)/[^/]+/evaluation/sets/[^/]+/(?:import|file)/"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a body is not read to its end."""

    status: int
    error: KBError


def most_bytes(path: str, headers: dict[bytes, bytes]) -> int:
    """Return the bytes that a request's body may have.

    >>> most_bytes("/accounts/login/", {}) == LARGEST_UNKNOWN
    True
    """
    cookies = headers.get(b"cookie", b"").decode("latin-1")
    if b"authorization" not in headers and f"{settings.SESSION_COOKIE_NAME}=" not in cookies:
        return LARGEST_UNKNOWN
    if _WITH_FILES.fullmatch(path):
        return int(settings.UPLOAD_REQUEST_BYTES) + AROUND_FILES
    if _WITH_GRAPH.fullmatch(path):
        return LARGEST_GRAPH + AROUND_FILES
    is_json = b"json" in headers.get(b"content-type", b"").lower()
    if _WITH_QUESTIONS.fullmatch(path) or (is_json and path.startswith("/api/")):
        return LARGEST_JSON
    return LARGEST_FORM


@dataclass(slots=True)
class BoundedBody:
    """A request between the server and Django: ``receive`` and ``send`` are for Django."""

    scope: MutableMapping[str, Any]
    from_server: Receive
    to_server: Send
    most: int
    started: float = field(default_factory=time.monotonic)
    received: int = 0
    is_complete: bool = False

    async def receive(self) -> Message:
        if self.refusal is not None:
            return await self._nothing()
        if self.is_complete:
            return await self.from_server()
        try:
            async with asyncio.timeout(self._seconds_left()):
                message = await self.from_server()
        except TimeoutError:
            return await self._refuse(_too_slow())
        if message["type"] != "http.request":
            return message
        self.received += len(message.get("body", b""))
        if self.received > self.most:
            return await self._refuse(_too_large(self.most))
        self.is_complete = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if self.refusal is None:
            await self.to_server(message)
        elif message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            await self.to_server({**message, "headers": headers})
        else:
            await self.to_server({**message, "more_body": True})
            if not message.get("more_body", False):
                await self._linger()
                await self.to_server({"type": "http.response.body", "body": b""})

    @property
    def refusal(self) -> Refusal | None:
        found: Refusal | None = self.scope.get(REFUSAL)
        return found

    async def _refuse(self, refusal: Refusal) -> Message:
        self.scope[REFUSAL] = refusal
        return await self._nothing()

    async def _nothing(self) -> Message:
        """Return an empty body once. Then Django asks whether the client has gone, for which
        nothing more is read."""
        if self.is_complete:
            await asyncio.Event().wait()
        self.is_complete = True
        return {"type": "http.request", "body": b"", "more_body": False}

    def _seconds_left(self) -> float:
        at_this_pace = SECONDS_TO_START + self.received / settings.BODY_BYTES_A_SECOND
        allowed = min(at_this_pace, settings.BODY_SECONDS)
        return max(0.0, self.started + allowed - time.monotonic())

    async def _linger(self) -> None:
        try:
            async with asyncio.timeout(SECONDS_TO_LINGER):
                while (await self.from_server()).get("more_body", False):
                    pass
        except TimeoutError:
            return


def bounded(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> BoundedBody:
    """Watch a request's body; refuse it now if it announces too many bytes."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    most = most_bytes(scope["path"], headers)
    announced = headers.get(b"content-length", b"0")
    body = BoundedBody(scope, receive, send, most)
    if not announced.isdigit() or int(announced) > most:
        scope[REFUSAL] = _too_large(most)
    return body


def _too_large(most: int) -> Refusal:
    size = f"{most // 1024**2} MB" if most >= 1024**2 else f"{most // 1024} KB"
    error = InputError(
        f"The request is larger than {size}.",
        code="body_too_large",
        kept="Nothing was changed.",
        next_step="Send less at once."
        if most > LARGEST_UNKNOWN
        else "Sign in first, or send less at once.",
    )
    return Refusal(413, error)


def _too_slow() -> Refusal:
    error = InputError(
        "The request took too long to arrive.",
        code="body_too_slow",
        kept="Nothing was changed.",
        next_step="Try again on a better connection, or send less at once.",
    )
    return Refusal(408, error)


class RefusalMiddleware:
    """Answers requests whose body was refused: a page for people, an object for programs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        refusal: Refusal | None = getattr(request, "scope", {}).get(REFUSAL)
        if refusal is None:
            return self.get_response(request)
        said = {**problem(refusal.error), "status": refusal.status}
        if request.path.startswith("/api/"):
            return JsonResponse(said, status=refusal.status)
        is_fragment = getattr(request, "htmx", False)
        template = "components/error_panel.html" if is_fragment else "400.html"
        return render(request, template, {"problem": said}, status=refusal.status)
