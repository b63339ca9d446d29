"""evaluate: measure how well each mode finds the known evidence of questions.

Uses a data set in a folder, in a temporary workspace, or a workspace's own question set.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from kb_project.errors import InputError
from retrieval.evaluation import dataset, results, runner
from retrieval.evaluation.measuring import Plan
from retrieval.search.modes import MODES


class Command(DataCommand):
    help = "Measure search modes on a data set, or on a question set of a workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "dataset", type=Path, nargs="?", help="Folder with documents and questions."
        )
        parser.add_argument(
            "--set", default="", metavar="NAME", help="A question set of --workspace."
        )
        parser.add_argument(
            "--workspace", default="", metavar="SLUG", help="The workspace of --set."
        )
        parser.add_argument(
            "--modes", default=",".join(MODES), help="Search modes, separated by commas."
        )
        parser.add_argument(
            "--k", default="2,5,8,10", help="Numbers of passages, separated by commas."
        )
        parser.add_argument(
            "--answers",
            action="store_true",
            help="Also answer the questions, and judge answers to those with an expected answer.",
        )
        parser.add_argument(
            "--keep",
            default="",
            metavar="SLUG",
            help="Keep the temporary workspace under this slug.",
        )
        parser.add_argument("--json", action="store_true", help="Print the report as JSON.")

    def handle(self, *_args: Any, **options: Any) -> None:
        # A terminated run deletes its workspace too.
        signal.signal(signal.SIGTERM, _stop)
        report = self._report(options)
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(results.lines(report)))

    def _report(self, options: dict[str, Any]) -> dict[str, Any]:
        plan = Plan(_names(options["modes"]), _numbers(options["k"]))
        if bool(options["dataset"]) == bool(options["set"]):
            raise InputError("Name either a folder, or a question set with --set and --workspace.")
        if options["set"]:
            return runner.evaluate_workspace(
                options["workspace"],
                options["set"],
                plan,
                answers=options["answers"],
                say=self._say,
            )
        return runner.evaluate(
            dataset.load(options["dataset"]),
            plan,
            keep=options["keep"],
            answers=options["answers"],
            on_progress=self._progress,
        )

    def _say(self, sentence: str) -> None:
        self.stderr.write(sentence)

    def _progress(self, done: int, total: int) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r{done} of {total} documents", ending="")


def _names(listed: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))


def _numbers(listed: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(number) for number in listed.split(",") if number.strip()}))
    except ValueError as error:
        raise InputError(f"'{listed}' is not a list of numbers.", code="invalid_top_k") from error


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(143)
