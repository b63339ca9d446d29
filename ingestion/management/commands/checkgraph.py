"""Compare a workspace's graph projection with the tables; the exit code is 1 when they differ."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from ingestion import projection
from kb_project.graph.stores import graph_store
from workspaces.models import Workspace


class Command(BaseCommand):
    help = "Compare the graph projection of a workspace with the tables, by id."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = Workspace.objects.filter(slug=options["workspace"]).first()
        if workspace is None:
            raise CommandError(f"There is no workspace '{options['workspace']}'.")
        difference = projection.compare(workspace.pk, graph_store())
        answer = as_answer(workspace.slug, difference)
        self.stdout.write(json.dumps(answer) if options["json"] else "\n".join(as_lines(answer)))
        if not difference.is_empty:
            sys.exit(1)


def as_answer(slug: str, difference: projection.Difference) -> dict[str, Any]:
    missing, unexpected = difference.missing, difference.unexpected
    return {
        "workspace": slug,
        "agrees": difference.is_empty,
        "waiting": difference.waiting,
        "entities": {
            "missing": as_text(missing.nodes),
            "unexpected": as_text(unexpected.nodes),
        },
        "relationships": {
            "missing": as_text(missing.edges),
            "unexpected": as_text(unexpected.edges),
        },
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
        yield f"{answer['waiting']} changes wait for the next refresh"
    if not answer["agrees"]:
        yield "'rebuildgraph' makes them agree"
