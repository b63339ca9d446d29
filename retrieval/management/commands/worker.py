"""worker: does the work that waits, until it is told to stop."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from ingestion import worker as documents
from retrieval.answering import worker as answers

ANSWERING: Final = "answering"


class Command(BaseCommand):
    help = (
        "Do the work of a lane: 'main' reads documents, 'embedding' makes their vectors,"
        " 'answering' answers questions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        lanes = (*documents.LANES, ANSWERING)
        parser.add_argument("--lane", choices=lanes, default=documents.MAIN)

    def handle(self, *_args: Any, lane: str, **_options: Any) -> None:
        if lane == ANSWERING:
            answers.work(say=self._say)
        else:
            documents.work(lane, say=self._say)

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()  # or every forked child would print it again
