"""Limits on connections and requests, enforced by the server before the application sees them."""

from __future__ import annotations

import asyncio
import json
from asyncio.events import TimerHandle
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kb_project.errors import InputError, KBError, UnavailableError
from kb_project.http.problems import problem

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
