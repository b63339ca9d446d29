"""The web application, for uvicorn: ``kb_project.asgi:application``."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import connections
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase

from kb_project.confinement.libc import hide_memory

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
django.setup(set_prefix=False)

from kb_project.http.limits import bounded, send_busy  # noqa: E402 - needs Django to be set up

THREADS_KEPT: Final = 64
"""Idle threads kept for later requests; they hold no connection."""
FILE_PART: Final = 2**18
"""Bytes of a file read and sent at a time."""


class InOneThread(ASGIHandler):
    """Runs a request's middleware and view in one thread, one after the other.

    All views and some of the middleware are synchronous. Django's own handler switches between
    threads and the event loop for them, which is much of the cost of a short request.
    """

    _middleware_chain: Any

    def __init__(self) -> None:
        super().__init__()
        self._threads: list[ThreadPoolExecutor] = []
        self._running = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError(f"Requests are answered over HTTP only, not over {scope['type']}.")
        if self._running >= settings.MOST_REQUESTS:
            await send_busy(send)
            return
        body = bounded(scope, receive, send)
        self._running += 1
        try:
            with self._thread() as thread:
                async with ThreadSensitiveContext(executor=thread):
                    await self.handle(scope, body.receive, body.send)
        finally:
            self._running -= 1

    @contextmanager
    def _thread(self) -> Iterator[ThreadPoolExecutor]:
        """Yield a thread for one request, reused by later ones. Called in the event loop only.

        Django would start a new one for each request, with new wrappers for its connections.
        """
        thread = self._threads.pop() if self._threads else ThreadPoolExecutor(max_workers=1)
        try:
            yield thread
        finally:
            if len(self._threads) < THREADS_KEPT:
                self._threads.append(thread)
            else:
                thread.shutdown(wait=False)

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001, FBT002  Django's
        super().load_middleware(is_async=False)
        chain = self._middleware_chain

        def respond(request: HttpRequest) -> HttpResponseBase:
            response: HttpResponseBase = chain(request)
            if response.streaming:
                # Many streams wait for a long time: none of them keeps a connection meanwhile.
                connections.close_all()
                _have_awaited(response)
            return response

        self._middleware_chain = sync_to_async(respond, thread_sensitive=True)


def _have_awaited(response: HttpResponseBase) -> None:
    """Send a file part by part; Django would warn about it, and read all of it at once."""
    if isinstance(response, FileResponse) and not response.is_async:
        response.block_size = FILE_PART
        parts = cast("Iterator[bytes]", response.streaming_content)
        response.streaming_content = _awaited(parts)


async def _awaited(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    read = sync_to_async(partial(next, parts, b""), thread_sensitive=True)
    while part := await read():
        yield part


if not settings.ALLOW_DEBUGGERS:
    hide_memory()
application = InOneThread()
