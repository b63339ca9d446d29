"""The result of a stage, and how it reports progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString

from django.utils import timezone

from ingestion.models import (
    DocumentVersion,
    IngestionJob,
)
from kb_project.errors import KBError, found
from workspaces import access

# The server analyses growing tables by itself within a minute or two. By then a workspace of a
# thousand documents is filled, with plans made for an empty one: nested loops over all its rows.
# Returns the number of tables analysed.
REFRESH_STATISTICS: Final[LiteralString] = "SELECT ingestion_refresh_statistics()"


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """``written`` counts rows made; ``warnings`` are sentences for the document's row.

    ``failed`` is what stopped this one job of a group while the others went on.
    """

    written: int = 0
    warnings: tuple[str, ...] = ()
    failed: KBError | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Reports a stage's progress. Calling it renews the lease and raises if cancelled.

    It may end the turn, too; ``hold`` does not, in the middle of work that would be lost.
    """

    report: Callable[[int, int], None]
    holding: Callable[[int, int], None] | None = None

    def __call__(self, done: int, total: int) -> None:
        self.report(done, total)

    def hold(self, done: int, total: int) -> None:
        (self.holding or self.report)(done, total)


def _ignore(_done: int, _total: int) -> None:
    return None


NO_PROGRESS = Progress(report=_ignore)


LONG: Final = 5.0
"""Seconds for a whole workspace from which on a stage looks only at what changed."""
ALL_AFTER: Final = timedelta(days=1)


def is_long_and_recent(seconds: float, when: datetime) -> bool:
    """Whether looking at a whole workspace took long, and was done within a day."""
    return seconds >= LONG and timezone.now() - when < ALL_AFTER


def version_of(job: IngestionJob) -> DocumentVersion:
    """The version a document's job works on, with its document. Raises NotFoundError.

    It is read once per job object: the stages of a lane share it, and parsing fills it in.
    """
    if job.version_id and not IngestionJob.version.is_cached(job):
        with access.in_workspace(job.workspace_id):
            job.version = (
                DocumentVersion.objects.in_workspace(job.workspace_id)
                .select_related("document")
                .filter(pk=job.version_id)
                .first()
            )
    return found(job.version, "version of a document")


def versions_of(jobs: Sequence[IngestionJob]) -> list[DocumentVersion]:
    """The versions that documents' jobs of one workspace work on, in one query.

    Raises NotFoundError. Like that of ``version_of``, they are shared by the stages of a lane.
    """
    unread = [job for job in jobs if job.version_id and not IngestionJob.version.is_cached(job)]
    if unread:
        with access.in_workspace(jobs[0].workspace_id):
            rows = (
                DocumentVersion.objects.in_workspace(jobs[0].workspace_id)
                .select_related("document")
                .in_bulk([job.version_id for job in unread])
            )
        for job in unread:
            job.version = rows.get(job.version_id)
    return [found(job.version, "version of a document") for job in jobs]
