"""worker: do waiting work until told to stop."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser
from django.utils.module_loading import import_string

WORK: Final = {
    "main": "ingestion.pipeline.worker.work",
    "embedding": "ingestion.pipeline.worker.work",
    "answering": "retrieval.answering.worker.work",
}
"""The function that serves each lane: ``work(lane, say=…)``, until SIGTERM or SIGINT."""


class Command(BaseCommand):
    help = (
        "Run the worker of a lane: 'main' reads documents, 'embedding' computes their vectors,"
        " 'answering' answers questions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--lane", choices=WORK, default="main")

    def handle(self, *_args: Any, lane: str, **_options: Any) -> None:
        import_string(WORK[lane])(lane, say=self._say)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()  # or every forked child would print it again
