"""worker: does the work that waits, until it is told to stop."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingestion import pipeline, worker


class Command(BaseCommand):
    help = "Do the work of a lane: 'main' reads documents, 'embedding' makes their vectors."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--lane", choices=pipeline.LANES, default=pipeline.MAIN)

    def handle(self, *_args: Any, lane: str, **_options: Any) -> None:
        worker.work(lane, say=self._say)

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()  # or every forked child would print it again
