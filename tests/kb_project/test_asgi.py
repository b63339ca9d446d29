"""Requests as the server hands them over: middleware and view in one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import pytest
from django.db import connections, transaction
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import path

from kb_project import asgi
from kb_project.asgi import FILE_PART, InOneThread

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls(__name__),
]

seen: dict[str, Any] = {}


def note_thread(get_response: Any) -> Any:
    def middleware(request: HttpRequest) -> HttpResponseBase:
        seen["middleware"] = threading.get_ident()
        response: HttpResponseBase = get_response(request)
        return response

    return middleware


@transaction.non_atomic_requests
def plain(_request: HttpRequest) -> HttpResponse:
    seen["view"] = threading.get_ident()
    return HttpResponse("plain")


def connected(_request: HttpRequest) -> HttpResponse:
    connection = connections["default"]
    connection.ensure_connection()
    assert connection.connection is not None
    # As the pool has it: to be given back with the end of the request.
    connection.close_at = 0.0
    return HttpResponse()


def stream(_request: HttpRequest) -> StreamingHttpResponse:
    connection = connections["default"]
    connection.ensure_connection()
    assert connection.connection is not None

    async def pieces() -> AsyncIterator[bytes]:
        yield b"open" if connection.connection is not None else b"given back"

    return StreamingHttpResponse(pieces())


def file(_request: HttpRequest) -> FileResponse:
    seen["file"] = BytesIO(bytes(2 * FILE_PART + 1))
    return FileResponse(seen["file"])


@transaction.non_atomic_requests
def broken(_request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


@transaction.non_atomic_requests
async def waiting(_request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return HttpResponse("waited")


urlpatterns = [
    path("plain/", plain),
    path("connected/", connected),
    path("stream/", stream),
    path("file/", file),
    path("broken/", broken),
    path("waiting/", waiting),
]


@pytest.fixture(autouse=True)
def few_parts(settings):
    settings.MIDDLEWARE = [f"{__name__}.note_thread"]
    settings.ALLOWED_HOSTS = ["testserver"]
    seen.clear()


def get(address: str, application: InOneThread | None = None) -> tuple[int, bytes]:
    """Status and body, as the server gets them."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": address,
        "query_string": b"",
        "headers": [(b"host", b"testserver")],
    }
    sent: list[Any] = []

    async def ask() -> None:
        asked = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if asked.is_set():
                await asyncio.Event().wait()  # nobody hangs up
            asked.set()
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            await asyncio.sleep(0)
            sent.append(message)

        await (application or InOneThread())(scope, receive, send)

    asyncio.run(ask())
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:])


def test_middleware_and_view_share_a_thread_that_is_not_the_event_loops():
    assert get("/plain/") == (200, b"plain")

    assert seen["middleware"] == seen["view"] != threading.get_ident()


def test_a_thread_serves_one_request_after_the_other_and_keeps_no_connection():
    application = InOneThread()
    get("/plain/", application)
    first = seen["view"]

    get("/plain/", application)
    assert seen["view"] == first

    assert get("/connected/", application) == (200, b"")
    [thread] = application._threads
    assert thread.submit(lambda: connections["default"].connection).result() is None
    thread.shutdown()


def test_requests_at_the_same_time_have_a_thread_each_and_few_are_kept(monkeypatch):
    monkeypatch.setattr(asgi, "THREADS_KEPT", 1)
    application = InOneThread()

    with application._thread() as one, application._thread() as other:
        assert one is not other
        assert (
            one.submit(threading.get_ident).result() != other.submit(threading.get_ident).result()
        )

    assert application._threads == [other]
    with pytest.raises(RuntimeError, match="shutdown"):
        one.submit(threading.get_ident)
    other.shutdown()


def test_nothing_but_http_is_served():
    with pytest.raises(ValueError, match="not over websocket"):
        asyncio.run(InOneThread()({"type": "websocket"}, None, None))


def test_a_stream_has_given_its_connection_back_before_its_first_piece():
    assert get("/stream/") == (200, b"given back")


def test_a_file_is_sent_in_parts_without_complaint_and_closed():
    assert get("/file/") == (200, bytes(2 * FILE_PART + 1))

    assert seen["file"].closed


def test_what_fails_is_an_answer_too(settings):
    settings.DEBUG_PROPAGATE_EXCEPTIONS = False

    status, _ = get("/broken/")

    assert status == 500


def test_an_asynchronous_view_is_served_as_well():
    assert get("/waiting/") == (200, b"waited")


def test_what_is_not_there_is_not_found():
    assert get("/nowhere/")[0] == 404
