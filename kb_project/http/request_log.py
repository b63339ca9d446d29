"""Lines of the log for requests, without the tokens that addresses may hold."""

from __future__ import annotations

import re
from typing import Final

from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware

# As ``secrets.token_urlsafe(32)`` writes them, and longer ones.
TOKEN: Final = re.compile(r"(?<=/)[0-9A-Za-z_-]{43,}(?=/|$)")


class RequestLogMiddleware(RequestMiddleware):
    """Logs each request, with a token in its path as "…": it would open what it was sent for."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {hidden(request.get_full_path())}"


def hidden(path: str) -> str:
    """
    >>> hidden("/invitations/00000000-0000-4000-8000-000000000000/" + "x" * 43 + "/")
    '/invitations/00000000-0000-4000-8000-000000000000/…/'
    """
    return TOKEN.sub("…", path)
