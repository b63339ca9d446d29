"""worker: do waiting work until stopped."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandParser
from django.utils.module_loading import import_string

from kb_project.checks import OF_THE_INSTALLATION


def lanes() -> dict[str, str]:
    """Return the function that serves each lane: ``work(lane, say=…)``, until SIGTERM or SIGINT.

    Apps name theirs in ``AppConfig.lanes``.
    """
    return {
        lane: function
        for config in apps.get_app_configs()
        for lane, function in getattr(config, "lanes", {}).items()
    }


class Command(BaseCommand):
    requires_system_checks = (OF_THE_INSTALLATION,)
    help = (
        "Run the worker for a lane: 'main' reads documents, 'embedding' computes their vectors,"
        " 'refreshing' updates graph, topics and reports, 'answering' answers questions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--lane", choices=lanes(), default="main")

    def handle(self, *_args: Any, lane: str, **_options: Any) -> None:
        import_string(lanes()[lane])(lane, say=self._say)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()  # or every forked child would print it again
