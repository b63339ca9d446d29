"""A workspace that was really read, for tests that break and mend it: made once a module."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, LiteralString

from django.db import transaction
from django.test import override_settings

from ingestion.documents import lifecycle
from ingestion.health import services as health
from ingestion.health.services import Drift, HealthReport
from ingestion.health.state import workspace_state
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, DocumentVersion
from ingestion.pipeline import batching, runner
from kb_project.ports import build_ports
from kb_project.sql import run_sql
from tests import rows
from tests.databases import empty_tables
from tests.ingestion import jobs
from workspaces import access
from workspaces.models import Workspace

WINTERS: Final = "\n\n".join(
    f"Ada Lind met Olaf Brekke in Bergen in the winter of {year}. Olaf Brekke then rowed to"
    f" Skarrow with Bo Strand, who had bought oil for the light of the island."
    for year in range(1860, 1900)
)
DOCUMENTS: Final = {
    "light.md": f"# The light\n\nAda Lind keeps the light of Skarrow.\n\n## Winters\n\n{WINTERS}",
    "harbour.txt": "Josiah Gault built the harbour of Bergen. Josiah Gault knew Ada Lind well.",
    "letters.txt": "Ingrid Holm wrote to Josiah Gault. Ingrid Holm came from Oslo.",
}


@contextmanager
def harbour(folder: Path) -> Iterator[Workspace]:
    """The workspace, with its files below ``folder``; the database is empty at the end.

    Its rows are committed: stages compare times, which stand still inside a transaction.
    """
    with override_settings(MEDIA_ROOT=str(folder), EMBEDDER="fake"):
        build_ports.cache_clear()
        try:
            workspace = rows.make_workspace()
            for name, text in DOCUMENTS.items():
                jobs.add(workspace, name, text)
            work(workspace)
            yield workspace
        finally:
            empty_tables()
            build_ports.cache_clear()


@contextmanager
def forgotten() -> Iterator[None]:
    """What is done inside never happened."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def work(workspace: Workspace) -> None:
    """Do all that waits, here and one after the other."""
    is_moving = True
    while is_moving:
        is_moving = False
        for lane in runner.LANES:
            while waiting := batching.next_group(workspace.pk, lane):
                if not runner.run_group(waiting, lane).begun:
                    break
                is_moving = True


def run(workspace: Workspace, statement: LiteralString, **values: object) -> None:
    with access.in_workspace(workspace.pk):
        run_sql(statement, {"workspace": workspace.pk, **values})


def document_id(workspace: Workspace, name: str = "light.md") -> uuid.UUID:
    with access.in_workspace(workspace.pk):
        return Document.objects.in_workspace(workspace).get(name=name).pk


def file_of(workspace: Workspace, folder: Path, name: str = "light.md") -> Path:
    with access.in_workspace(workspace.pk):
        versions = DocumentVersion.objects.in_workspace(workspace)
        return folder / versions.get(document_id=document_id(workspace, name)).blob


def bring_back(workspace: Workspace) -> None:
    """Restore what is in the trash: what says nothing there is compared with nothing."""
    with access.in_workspace(workspace.pk):
        away = list(Document.objects.in_workspace(workspace).exclude(trashed_at=None))
    if away:
        lifecycle.documents_restore(change=ChangeContext(workspace, None), documents=away)
        work(workspace)


def compared(workspace: Workspace) -> Mapping[str, frozenset[uuid.UUID]]:
    """The versions that are looked at, by the stage they are through with."""
    with workspace_state(workspace.pk) as state:
        return {stage: frozenset(versions) for stage, versions in state.done.items()}


def drift_of(report: HealthReport, check: str) -> Drift:
    found = {drift.check: drift for drift in report.drifts}
    assert check in found, f"missing {check}, found {sorted(found)}"
    return found[check]


def mended(
    workspace: Workspace, *, is_deep: bool = False, report: HealthReport | None = None
) -> HealthReport:
    """What is found after repairs, of ``report`` or of what there is, and the work they ask for."""
    report = report or health.check(workspace.pk, is_deep=is_deep)
    for _ in range(3):
        if not any(drift.is_repairable for drift in report.drifts):
            break
        health.repair(report)
        work(workspace)
        report = health.check(workspace.pk, is_deep=is_deep)
    return report
