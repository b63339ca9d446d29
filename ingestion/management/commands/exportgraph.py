"""Export a workspace's graph to a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from ingestion.exchange import exporting
from ingestion.exchange.records import Scope
from kb_project.commands import DataCommand
from workspaces.people import queries as people_queries


class Command(DataCommand):
    help = "Export a workspace's entities and facts, all of them or a part, with their evidence."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="where to write; nothing is overwritten")
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument(
            "--format",
            choices=list(exporting.FORMATS),
            help="if omitted, what the file's name ends with; csv is a .zip of both tables",
        )
        parser.add_argument("--document", type=UUID, metavar="ID", help="only what it states")
        parser.add_argument("--topic", type=UUID, metavar="ID", help="only its entities")
        parser.add_argument("--type", default="", help="only entities of this type")
        parser.add_argument(
            "--entity", type=UUID, metavar="ID", action="append", help="only these entities"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = people_queries.workspace_at(slug=options["workspace"])
        scope = Scope(
            document=options["document"],
            topic=options["topic"],
            entities=tuple(options["entity"] or ()),
            type=options["type"],
        )
        path: Path = options["file"]
        chosen = options["format"] or exporting.format_for(path.name)
        part = path.with_name(f".{path.name}.part")
        if path.exists():
            raise CommandError(f"{path} exists already. Nothing was exported.")
        try:
            with part.open("wb") as file:
                exporting.graph_write(workspace=workspace, format=chosen, scope=scope, file=file)
            part.replace(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
        exporting.record_export(workspace=workspace, user=None, format=chosen, scope=scope)
        size = path.stat().st_size
        answer = {"workspace": workspace.slug, "file": str(path), "bytes": size}
        sentence = f"{workspace.slug}: {size:,} bytes written to {path}"
        self.stdout.write(json.dumps(answer) if options["json"] else sentence)
