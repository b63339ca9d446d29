"""Compare workspaces with the data they are derived from; exit code 1 if there is drift."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import UUID

from ingestion.health import services as health
from ingestion.knowledge import projection
from ingestion.pipeline import inline
from kb_project.commands import DataCommand
from kb_project.ports import graph_store
from workspaces.models import Workspace
from workspaces.people import queries as people_queries

ROUNDS: Final = 3
"""A repair may uncover further drift: try a few rounds, but not forever."""


class Command(DataCommand):
    help = (
        "Check that a workspace's tables agree with each other, and with its vectors, search terms,"
        " graph projection, snapshot and files."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--workspace", metavar="SLUG")
        which.add_argument("--all", action="store_true", help="every workspace, one after another")
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object per workspace"
        )
        parser.add_argument(
            "--deep",
            action="store_true",
            help="also compare every document with its extractions",
        )
        parser.add_argument(
            "--repair",
            action="store_true",
            help="repair drift, do the work that follows, and check again",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        is_good = True
        if options.get("all"):
            workspaces = list(Workspace.objects.filter(source=None).order_by("slug"))
        else:
            workspaces = [people_queries.workspace_at(slug=options["workspace"])]
        for workspace in workspaces:
            report = health.check(workspace.pk, is_deep=options["deep"])
            repaired: list[str] = []
            if options["repair"]:
                report, repaired = _repair(report)
            difference = projection.compare(workspace.pk, graph_store())
            answer = as_answer(workspace, report, difference, repaired)
            text = json.dumps(answer) if options["json"] else "\n".join(as_lines(answer))
            self.stdout.write(text)
            is_good = is_good and report.is_sound and difference.is_empty
        if not is_good:
            sys.exit(1)


def _repair(report: health.HealthReport) -> tuple[health.HealthReport, list[str]]:
    """Repair what can be repaired, and do the work that follows from it.

    Returns the report afterwards, and sentences on what was repaired.
    """
    repaired: list[str] = []
    for _ in range(ROUNDS):
        if not any(drift.is_repairable for drift in report.drifts):
            break
        repaired += health.repair(report)
        inline.drain(report.workspace_id)
        report = health.check(report.workspace_id, is_deep=report.is_deep)
    return report, repaired


def as_answer(
    workspace: Workspace,
    report: health.HealthReport,
    difference: projection.ProjectionDifference,
    repaired: list[str],
) -> dict[str, Any]:
    missing, unexpected = difference.missing, difference.unexpected
    return {
        "workspace": workspace.slug,
        "agrees": difference.is_empty,
        "waiting": len(difference.waiting),
        "entities": {
            "missing": as_text(missing.nodes),
            "unexpected": as_text(unexpected.nodes),
        },
        "relationships": {
            "missing": as_text(missing.edges),
            "unexpected": as_text(unexpected.edges),
        },
        "sound": report.is_sound,
        "drifts": [drift.as_json() for drift in report.drifts],
        "under_way": [one.as_json() for one in report.waiting],
        "repaired": repaired,
        "seconds": round(report.seconds, 3),
    }


def as_text(ids: Iterable[UUID]) -> list[str]:
    return sorted(map(str, ids))


def as_lines(answer: dict[str, Any]) -> Iterator[str]:
    agrees = "agrees with" if answer["agrees"] else "differs from"
    yield f"{answer['workspace']}: the projection {agrees} the tables"
    for kind in ("entities", "relationships"):
        for which, ids in answer[kind].items():
            yield from (f"{which} {kind}: {one}" for one in ids)
    if answer["waiting"]:
        yield f"{answer['waiting']} changes are waiting for the next refresh"
    if not answer["agrees"]:
        yield "run 'rebuildgraph' to make them agree"
    yield from (f"repaired: {sentence}" for sentence in answer["repaired"])
    for drift in answer["drifts"]:
        yield f"drift: {drift['sentence']} ({drift['check']}: {', '.join(drift['samples'])})"
        yield f"  {drift['next_step']}"
    yield from (f"in progress: {one['sentence']}" for one in answer["under_way"])
    if answer["sound"]:
        yield "no other drift was found"
    elif any(drift["is_repairable"] for drift in answer["drifts"]):
        yield "run 'checkgraph --repair' to repair what can be repaired automatically"
