"""The format of log lines: time, level, event, then keys. The current job is in a ContextVar."""

from __future__ import annotations

import logging
from contextvars import ContextVar

import structlog
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
