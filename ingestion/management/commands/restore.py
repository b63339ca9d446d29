"""restore FILE: restore what 'backup' wrote, all of it or nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ingestion import post_restore
from ingestion.management.output import INTERRUPTED, Progress, interruptible
from kb_project.backup import archive, restoring
from kb_project.backup.archive import Manifest
from kb_project.backup.restoring import Restored
from kb_project.commands import DataCommand
from workspaces import audit
from workspaces.models import AuditAction, Workspace


class Command(DataCommand):
    help = "Restore a whole installation into an empty one, or add one workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--into", default="", metavar="SLUG", help="Restore under this address."
        )
        parser.add_argument(
            "--as-new", action="store_true", help="Restore as a new workspace, with new ids."
        )
        parser.add_argument(
            "--check", action="store_true", help="Check the backup and write nothing."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object at the end.")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            with interruptible():
                summary = self._check(options) if options["check"] else self._restore(options)
        except KeyboardInterrupt:
            raise CommandError("Stopped. Nothing was written.", returncode=INTERRUPTED) from None
        lines = checked_lines(summary) if options["check"] else restored_lines(summary)
        self.stdout.write(json.dumps(summary) if options["json"] else "\n".join(lines))

    def _check(self, options: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        with archive.opened(options["file"]) as opened:
            manifest = restoring.check(opened, Progress(self.stderr))
        return as_checked(manifest, time.monotonic() - started)

    def _restore(self, options: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        with archive.opened(options["file"]) as opened:
            done = restoring.restore(
                opened,
                post_restore.HOOKS,
                slug=options["into"],
                as_new=options["as_new"],
                report=Progress(self.stderr),
            )
        for workspace in Workspace.objects.filter(pk__in=done.workspaces):
            audit.record(
                AuditAction.WORKSPACE_READ_BACK,
                workspace=workspace,
                user=None,
                after={"address": workspace.slug, "backup_of": opened.manifest.created},
            )
        woken = sum(post_restore.wake(id_) for id_ in done.workspaces)
        return as_restored(done, woken, time.monotonic() - started)


def as_checked(manifest: Manifest, seconds: float) -> dict[str, Any]:
    return {
        "kind": manifest.kind,
        "created": manifest.created,
        "version": manifest.version,
        "workspaces": sorted(manifest.workspaces.values()),
        "rows": manifest.rows,
        "files": len(manifest.files()),
        "missing": len(manifest.missing),
        "has_secrets": manifest.has_secrets,
        "seconds": round(seconds, 3),
    }


def as_restored(done: Restored, woken: int, seconds: float) -> dict[str, Any]:
    return {
        "workspaces": {slug: str(id_) for id_, slug in done.workspaces.items()},
        "rows": done.rows,
        "files": done.files,
        "missing": done.missing,
        "people_made": sorted(done.made),
        "jobs_woken": woken,
        "lacks_keys": done.lacks_keys,
        "seconds": round(seconds, 3),
    }


def checked_lines(summary: dict[str, Any]) -> Iterator[str]:
    yield (
        f"The backup is intact: {summary['kind']}, {summary['rows']:,} rows and"
        f" {summary['files']:,} files, made {summary['created']} by version {summary['version']}."
    )
    yield f"Workspaces: {', '.join(summary['workspaces']) or 'none'}"
    yield "Nothing was written."


def restored_lines(summary: dict[str, Any]) -> Iterator[str]:
    names = ", ".join(summary["workspaces"]) or "no workspace"
    yield (
        f"Restored {names}: {summary['rows']:,} rows and {summary['files']:,} files"
        f" in {summary['seconds']} s."
    )
    if summary["people_made"]:
        yield (
            "Accounts were created for these people, who must set a password before they can"
            f" sign in: {', '.join(summary['people_made'])}"
        )
    if summary["missing"]:
        yield f"{summary['missing']} files were not in the backup, so their documents have no file."
    if summary["jobs_woken"]:
        yield f"{summary['jobs_woken']} unfinished jobs continue with the next worker."
    if summary["lacks_keys"]:
        yield (
            "Keys of model endpoints are not in the backup: enter those that your models need on"
            " the Models page."
        )
