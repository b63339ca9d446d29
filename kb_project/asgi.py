"""The web application, for uvicorn: ``kb_project.asgi:application``."""

from __future__ import annotations

import os
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")


class InOneThread(ASGIHandler):
    """Middleware and view of a request in one thread, one after the other.

    All views and some of the middleware are synchronous. Django's own handler goes to the event
    loop and back between them, and changing threads is much of what a short request costs.
    """

    _middleware_chain: Any

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001, FBT002  Django's
        super().load_middleware(is_async=False)
        chain = self._middleware_chain

        def respond(request: HttpRequest) -> HttpResponseBase:
            response: HttpResponseBase = chain(request)
            if response.streaming:
                # Many streams wait for long: none of them keeps a connection meanwhile.
                connections.close_all()
            return response

        self._middleware_chain = sync_to_async(respond, thread_sensitive=True)


django.setup(set_prefix=False)
application = InOneThread()
