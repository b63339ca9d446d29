"""Passages a model could not read, and statements of a model that no passage supports."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from ingestion.models import (
    ChunkExtraction,
    Document,
    DocumentVersion,
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
)
from ingestion.pipeline import runner, transitions
from ingestion.stages.extract import UNREAD
from kb_project.errors import ConflictError
from workspaces.models import Workspace

logger = logging.getLogger(__name__)

EXCERPT: Final = 160
# The stages repeated for a passage; the document's other stages stay done.
AGAIN: Final = ("extract", "resolve")

# Rejection reasons in words: for one fact, and for several.
REASONS: Final = {
    "quote_not_found": (
        "fact cites words that are not in its passage",
        "facts cite words that are not in their passage",
    ),
    "name_not_usable": (
        "name is too long or has no letter",
        "names are too long or have no letter",
    ),
    "unknown_end": (
        "fact or claim is about something that its passage does not name",
        "facts or claims are about something that their passage does not name",
    ),
    "self_loop": ("fact relates an entity to itself", "facts relate an entity to itself"),
    "too_many": (
        "fact exceeds the limit for one passage",
        "facts exceed the limit for one passage",
    ),
    "nothing_said": ("claim is empty", "claims are empty"),
    "gleaning_failed": (
        "second reading failed; the findings of the first are kept",
        "second readings failed; the findings of the first are kept",
    ),
}


@dataclass(frozen=True, slots=True)
class UnreadPassage:
    """A passage without facts, and why. ``number`` counts from 1; ``text`` is its beginning."""

    chunk_id: uuid.UUID
    number: int
    start: int
    end: int
    page: int | None
    heading_path: tuple[str, ...]
    text: str
    problem: dict[str, str]


def passages_with_problems(*, workspace: Workspace, document: Document) -> list[UnreadPassage]:
    """Return the unread passages in document order."""
    rows = _unread(workspace, document).select_related("chunk").order_by("chunk__ordinal")
    return [_passage(row) for row in rows]


def _passage(row: ChunkExtraction) -> UnreadPassage:
    chunk = row.chunk
    beginning = " ".join(chunk.text[: 2 * EXCERPT].split())
    return UnreadPassage(
        chunk_id=chunk.pk,
        number=chunk.ordinal + 1,
        start=chunk.start,
        end=chunk.end,
        page=chunk.page_first,
        heading_path=tuple(chunk.heading_path),
        text=beginning if len(beginning) <= EXCERPT else beginning[: EXCERPT - 1] + "…",
        problem=row.problem or {},
    )


def rejections_of(*, workspace: Workspace, document: Document) -> dict[str, int]:
    """Count the rejected statements of a model by reason, most frequent first."""
    counts: Counter[str] = Counter()
    for rejected in (
        _extractions(workspace, document).exclude(rejected={}).values_list("rejected", flat=True)
    ):
        counts.update(rejected)
    return dict(counts.most_common())


def rejection_sentence(reason: str, number: int) -> str:
    """
    >>> rejection_sentence("self_loop", 2)
    '2 facts relate an entity to itself.'
    """
    one, several = REASONS.get(reason, ("fact was rejected", "facts were rejected"))
    return f"{number} {one if number == 1 else several}."


def passages_retry(
    *, workspace: Workspace, document: Document, chunk_ids: Sequence[uuid.UUID] | None = None
) -> IngestionJob:
    """Have the model read unread passages again: all of them, or those given.

    Everything else stays as it is; the document's facts and the topics update automatically. Raises
    ConflictError if no such passage is unread, or while the document is being read.
    """
    with transaction.atomic():
        job = _job_of(workspace, document)
        unread = _unread(workspace, document)
        if chunk_ids is not None:
            unread = unread.filter(chunk_id__in=chunk_ids)
        ids = list(unread.values_list("chunk_id", flat=True))
        if not ids or job is None:
            raise ConflictError(
                f"'{document.title}' has no unread passage to retry.",
                code="nothing_to_retry",
                kept="It is unchanged.",
            )
        _check_idle(document, job)
        # An empty method means not read yet. What was found before stays until then.
        rows = ChunkExtraction.objects.in_workspace(workspace).filter(chunk_id__in=ids)
        rows.update(method="", problem=None)
        _forget_warning(job)
        transitions.repeat(job, AGAIN)
        runner.wake(workspace.pk, job.pk, runner.MAIN)
    logger.info("passages retried document=%s passages=%s", document.pk, len(ids))
    return job


def _extractions(workspace: Workspace, document: Document) -> QuerySet[ChunkExtraction]:
    return ChunkExtraction.objects.in_workspace(workspace).filter(
        chunk__workspace=workspace, chunk__document=document
    )


def _unread(workspace: Workspace, document: Document) -> QuerySet[ChunkExtraction]:
    return _extractions(workspace, document).filter(problem__isnull=False)


def _job_of(workspace: Workspace, document: Document) -> IngestionJob | None:
    jobs = IngestionJob.objects.in_workspace(workspace).select_for_update()
    of_live = jobs.filter(document=document, kind=JobKind.DOCUMENT).filter(
        version__number=document.live_number
    )
    return of_live.order_by("-created_at").first()


def _check_idle(document: Document, job: IngestionJob) -> None:
    runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job, stage__in=AGAIN)
    if runs.filter(state__in=[RunState.PENDING, RunState.RUNNING]).exists():
        raise ConflictError(
            f"'{document.title}' is being read.",
            code="already_under_way",
            kept="It is unchanged.",
            next_step="Try again when the document is ready.",
        )


def _forget_warning(job: IngestionJob) -> None:
    """The retry counts unread passages again."""
    if job.version_id is None:
        return
    versions = DocumentVersion.objects.in_workspace(job.workspace_id).filter(pk=job.version_id)
    for version in versions.select_for_update(no_key=True).only("pk", "warnings"):
        kept = [warning for warning in version.warnings if UNREAD not in warning]
        versions.update(warnings=kept)
