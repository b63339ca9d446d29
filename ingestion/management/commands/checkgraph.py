"""Compare workspaces with the data they are derived from; exit code 1 if there is drift."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from ingestion import health
from ingestion.health import Report
from ingestion.knowledge import projection
from ingestion.pipeline import inline
from kb_project.commands import DataCommand
from kb_project.graph.stores import graph_store
from workspaces.models import Workspace
from workspaces.people import queries as people_queries

ROUNDS: Final = 3
"""A repair may uncover further drift: try a few rounds, but not forever."""


@dataclass(slots=True)
class Look:
    """The result for one workspace; ``repaired`` are sentences on repairs already made."""

    workspace: Workspace
    report: Report
    difference: projection.Difference
    repaired: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return self.report.is_sound and self.difference.is_empty


class Command(DataCommand):
    help = (
        "Compare a workspace's tables with each other, and its vectors, words, graph projection,"
        " snapshot and files with them."
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
        for workspace in _chosen(options):
            look = _look(workspace, is_deep=options["deep"])
            if options["repair"]:
                look = _repaired(look)
            answer = as_answer(look)
            text = json.dumps(answer) if options["json"] else "\n".join(as_lines(answer))
            self.stdout.write(text)
            is_good = is_good and look.is_good
        if not is_good:
            sys.exit(1)


def _chosen(options: dict[str, Any]) -> list[Workspace]:
    if options.get("all"):
        return list(Workspace.objects.order_by("slug"))
    return [people_queries.workspace_at(slug=options["workspace"])]


def _look(workspace: Workspace, *, is_deep: bool) -> Look:
    report = health.check(workspace.pk, is_deep=is_deep)
    return Look(workspace, report, projection.compare(workspace.pk, graph_store()))


def _repaired(look: Look) -> Look:
    """Repair what can be repaired automatically, and do the work that follows from it."""
    done: list[str] = []
    for _ in range(ROUNDS):
        if not any(drift.is_repairable for drift in look.report.drifts):
            break
        done += health.repair(look.report)
        inline.drain(look.workspace.pk)
        look = _look(look.workspace, is_deep=look.report.is_deep)
    look.repaired = done
    return look


def as_answer(look: Look) -> dict[str, Any]:
    missing, unexpected = look.difference.missing, look.difference.unexpected
    return {
        "workspace": look.workspace.slug,
        "agrees": look.difference.is_empty,
        "waiting": len(look.difference.waiting),
        "entities": {
            "missing": as_text(missing.nodes),
            "unexpected": as_text(unexpected.nodes),
        },
        "relationships": {
            "missing": as_text(missing.edges),
            "unexpected": as_text(unexpected.edges),
        },
        "sound": look.report.is_sound,
        "drifts": [drift.as_json() for drift in look.report.drifts],
        "under_way": [one.as_json() for one in look.report.waiting],
        "repaired": look.repaired,
        "seconds": round(look.report.seconds, 3),
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
