"""backup FILE: write the installation, or one workspace, into one portable file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ingestion.management.output import INTERRUPTED, Progress, interruptible
from kb_project.backup import writing
from kb_project.backup.archive import WORKSPACE, Manifest
from kb_project.commands import DataCommand
from workspaces import audit
from workspaces.models import AuditAction, Workspace


class Command(DataCommand):
    help = "Back up everything, or one workspace, to a file that 'restore' reads."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--workspace", default="", metavar="SLUG", help="Back up only this workspace."
        )
        parser.add_argument(
            "--with-secrets",
            action="store_true",
            help="Include the stored keys of model endpoints, encrypted with this server's"
            " SECRET_KEY.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object at the end.")

    def handle(self, *_args: Any, **options: Any) -> None:
        started, path = time.monotonic(), options["file"]
        try:
            with interruptible():
                made = writing.write(
                    path,
                    options["workspace"],
                    with_secrets=options["with_secrets"],
                    report=Progress(self.stderr),
                )
        except KeyboardInterrupt:
            raise CommandError("Stopped. No backup was made.", returncode=INTERRUPTED) from None
        for workspace in Workspace.objects.filter(pk__in=made.workspaces):
            audit.record(
                AuditAction.WORKSPACE_BACKED_UP,
                workspace=workspace,
                user=None,
                after={"kind": made.kind, "has_secrets": made.has_secrets},
            )
        summary = as_summary(path, made, time.monotonic() - started)
        lines = as_lines(summary)
        self.stdout.write(json.dumps(summary) if options["json"] else "\n".join(lines))


def as_summary(path: Path, made: Manifest, seconds: float) -> dict[str, Any]:
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "kind": made.kind,
        "workspaces": sorted(made.workspaces.values()),
        "rows": made.rows,
        "files": len(made.files()),
        "missing": len(made.missing),
        "has_secrets": made.has_secrets,
        "seconds": round(seconds, 3),
    }


def as_lines(summary: dict[str, Any]) -> list[str]:
    what = "The whole installation"
    if summary["kind"] == WORKSPACE:
        what = f"The workspace {summary['workspaces'][0]}"
    lines = [
        f"{what} is in {summary['file']}: {summary['rows']:,} rows and {summary['files']:,} files,"
        f" {summary['bytes'] / 1e6:,.1f} MB, in {summary['seconds']} s."
    ]
    if summary["missing"]:
        lines.append(
            f"{summary['missing']} files are not included: they were missing from the media"
            " folder, for example because a document was deleted for good during the backup."
        )
    if not summary["has_secrets"]:
        lines.append(
            "Stored keys of model endpoints are not included; use --with-secrets to include them."
        )
    else:
        lines.append(
            "The backup contains model keys that only this server's SECRET_KEY"
            " decrypts: keep that too."
        )
    return lines
