"""Import a graph from a file into a workspace."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError

from ingestion.exchange import importing, presenters
from ingestion.exchange.planning import plan_of
from ingestion.exchange.plans import (
    Choices,
    Conflicts,
    Outcome,
    Plan,
    PlannedEntity,
    PlannedFact,
)
from ingestion.history.recording import ChangeContext
from kb_project.commands import DataCommand
from kb_project.text.words import counted
from workspaces import access
from workspaces.people import queries as people_queries

TO_LOOK_AT: Final = (Outcome.CONFLICT, Outcome.LEFT_OUT)
"""Outcomes of rows that are shown with the reason."""


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
        parser.add_argument(
            "--preview", action="store_true", help="import nothing, only say what would be"
        )
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
            planned: list[PlannedEntity | PlannedFact] = [*plan.entities, *plan.facts]
            answer = {
                "workspace": workspace.slug,
                "counts": plan.counts,
                "event": str(event.pk) if event else None,
                "left_out": [
                    _row_of(row) | {"outcome": row.outcome.value, "reason": row.reason}
                    for row in planned
                    if row.outcome in TO_LOOK_AT
                ],
            }
            self.stdout.write(json.dumps(answer))
            return
        said = "Imported:" if event else "Importing this file creates"
        self.stdout.write(f"{workspace.slug}: {said} {presenters.made_by(plan)}.")
        for note in (*presenters.notes_of(plan), *_left_out(plan)):
            self.stdout.write(note)


def _left_out(plan: Plan) -> Iterator[str]:
    """Count the rows of each outcome that creates nothing, with the reasons of the first ones."""
    words = {"matched": "already here", "conflict": "in conflict", "left_out": "left out"}
    rows = {"entities": ("entity", "entities"), "facts": ("fact", "facts")}
    for kind, planned in (("entities", plan.entities), ("facts", plan.facts)):
        for group in presenters.groups_of(planned):
            if group.outcome == Outcome.NEW:
                continue
            yield f"{counted(group.total, *rows[kind])} {words[group.outcome]}."
            if group.outcome not in TO_LOOK_AT:
                continue
            for row in group.rows:
                place, *names = _row_of(row).values()
                yield f"  row {place}, {' → '.join(names)}: {row.reason}"
            if group.more:
                yield f"  and {group.more:,} more; --json lists all"


def _row_of(row: PlannedEntity | PlannedFact) -> dict[str, Any]:
    if isinstance(row, PlannedEntity):
        return {"row": row.row, "name": row.name}
    return {"row": row.row, "source": row.source, "target": row.target}
