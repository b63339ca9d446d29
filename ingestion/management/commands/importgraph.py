"""Import a graph from a file into a workspace."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ingestion.exchange import importing, presenters
from ingestion.exchange.planning import plan_of
from ingestion.exchange.plans import Choices, Conflicts
from ingestion.history.recording import ChangeContext
from kb_project.commands import DataCommand
from kb_project.text.words import counted
from workspaces import access
from workspaces.people import queries as people_queries


class Command(DataCommand):
    help = "Import entities and facts from GraphML, node-link JSON or CSV, as one change."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument(
            "--conflicts",
            choices=[one.value for one in Conflicts],
            default=Conflicts.LEAVE_OUT.value,
            help="what becomes of entities that may be one that is here already",
        )
        parser.add_argument(
            "--make-missing", action="store_true", help="create entities that only facts name"
        )
        parser.add_argument("--preview", action="store_true", help="import nothing, only say what")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = people_queries.workspace_at(slug=options["workspace"])
        path: Path = options["file"]
        choices = Choices(Conflicts(options["conflicts"]), options["make_missing"])
        try:
            with path.open("rb") as file:
                graph = importing.graph_read(file, path.name)
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        event = None
        if options["preview"]:
            with access.in_workspace(workspace.pk):
                plan = plan_of(workspace, graph, choices)
        else:
            change = ChangeContext(workspace, None, via="command")
            event, plan = importing.graph_import(
                change=change, graph=graph, choices=choices, name=path.name
            )
        if options["json"]:
            answer = {
                "workspace": workspace.slug,
                "counts": plan.counts,
                "event": str(event.pk) if event else None,
            }
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(f"{workspace.slug}: {presenters.summary_of(plan)}")
        for note in (*presenters.notes_of(plan), *_left_out(plan.counts)):
            self.stdout.write(note)


def _left_out(counts: dict[str, int]) -> list[str]:
    words = {"matched": "already here", "conflict": "in conflict", "left_out": "left out"}
    rows = {"entities": ("entity", "entities"), "facts": ("fact", "facts")}
    return [
        f"{counted(number, *rows[kind])} {words[outcome]}."
        for kind in rows
        for outcome in words
        if (number := counts[f"{kind}_{outcome}"])
    ]
