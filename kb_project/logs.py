"""The format of log lines: time, level, event, then keys. The current job is in a ContextVar.

Lines for requests leave out the tokens that addresses may hold.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from typing import Final

import structlog
from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware
from structlog.typing import EventDict, WrappedLogger

current_job: ContextVar[str] = ContextVar("current_job", default="")


def add_job(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    job = current_job.get()
    if job:
        event["job"] = job
    return event


def formatter() -> logging.Formatter:
    """Return the formatter of every handler; also configures structlog, once, at start-up."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
        add_job,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return structlog.stdlib.ProcessorFormatter(
        processor=structlog.processors.KeyValueRenderer(
            key_order=["timestamp", "level", "event"], drop_missing=True
        ),
        foreign_pre_chain=shared,
    )


# --- requests -------------------------------------------------------------------------------------
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
