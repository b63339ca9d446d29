"""Rebuild a workspace's graph projection from the tables."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from typing import Any

from ingestion.knowledge import projection
from kb_project.commands import DataCommand
from kb_project.ports import graph_store
from kb_project.text.words import counted
from workspaces.people import queries as people_queries


class Command(DataCommand):
    help = "Drop a workspace's graph projection and rebuild it from the tables."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = people_queries.workspace_at(slug=options["workspace"])
        started = time.monotonic()
        counts = projection.rebuild(workspace.pk, graph_store())
        answer = {
            "workspace": workspace.slug,
            "entities": counts.nodes,
            "relationships": counts.edges,
            "seconds": round(time.monotonic() - started, 3),
        }
        sentence = (
            f"{workspace.slug}: {counts.nodes:,} entities and terms,"
            f" {counted(counts.edges, 'relationship')}"
            f" in {answer['seconds']} s"
        )
        self.stdout.write(json.dumps(answer) if options["json"] else sentence)
