"""Reading documents again after a change of how this workspace reads.

A document stays as it was read: nothing is asked, and nothing paid, because somebody changed the
settings. Here somebody says so. What was found before stays until the new reading takes its place,
document by document; a model's answers that are in the cache are not paid for again.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ingestion import groups, pipeline, pipeline_sql, selectors
from ingestion import rereading_sql as sql
from ingestion.estimates import Estimate
from ingestion.models import Community
from ingestion.stages.extract import NOTHING_FOUND, UNREAD, method_by
from ingestion.stages.resolve.asking import NO_ANSWER
from ingestion.stages.situate.asking import UNSITUATED
from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

logger = logging.getLogger(__name__)

AGAIN: Final = ("extract", "resolve")
# New contexts need new vectors.
SITUATED_AGAIN: Final = ("situate", "embed")
PARSED_AGAIN: Final = ("parse", "chunk", "situate", "embed")
LEAST_TEXT: Final = 200
"""Bytes, as stored, of a text that certainly states something."""


@dataclass(frozen=True, slots=True)
class ReadOtherwise:
    """A document's job; ``situates`` where its passages are to be situated anew, too, ``parses``
    where its file is to be read anew, as before prose was told from furniture."""

    job_id: uuid.UUID
    document_id: uuid.UUID
    situates: bool
    parses: bool


@dataclass(frozen=True, slots=True)
class Present:
    """How the workspace reads now."""

    method: str
    uses_model: bool


def read_otherwise_ids(*, workspace: Workspace) -> list[uuid.UUID]:
    """The documents that were read in another way than this workspace reads now, oldest first.

    Those that are being read, or that have stopped, are left out. Raises RefusedError where the
    model's stored key cannot be read.
    """
    return [each.document_id for each in _read_otherwise(workspace, _present(workspace))]


def reading_again_estimate(*, workspace: Workspace) -> Estimate:
    """What it takes to read them again."""
    present = _present(workspace)
    found = _read_otherwise(workspace, present)
    return selectors.estimate_for_reading_again(
        workspace=workspace,
        documents={each.document_id: each.situates for each in found},
        method=present.method,
    )


def documents_read_again(
    *, workspace: Workspace, documents: Sequence[uuid.UUID] | None = None
) -> int:
    """Have them read again: all, or those among some; returns how many. None are no error.

    Once a model reads where none did, it also writes the reports anew that no model wrote.
    """
    present = _present(workspace)
    with access.in_workspace(workspace.pk):
        # One press at a time; then no document's end is overlooked.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        _lock(workspace, _read_otherwise(workspace, present, documents))
        found = _read_otherwise(workspace, present, documents)
        if found:
            _reopen(workspace, found)
        if found and present.uses_model:
            _mark_reports(workspace)
    logger.info("documents read again workspace=%s documents=%s", workspace.pk, len(found))
    return len(found)


def told(number: int) -> str:
    """
    >>> told(1), told(0)
    ('1 document is being read again.', "Every document was read with this workspace's settings.")
    """
    if not number:
        return "Every document was read with this workspace's settings."
    return f"{number:,} document{' is' if number == 1 else 's are'} being read again."


def _present(workspace: Workspace) -> Present:
    ports = ports_for(workspace.pk)
    return Present(method_by(ports), ports.chat is not None)


def _read_otherwise(
    workspace: Workspace, present: Present, documents: Sequence[uuid.UUID] | None = None
) -> list[ReadOtherwise]:
    values = {
        "workspace": workspace.pk,
        "method": present.method,
        "uses_model": present.uses_model,
        "least_text": LEAST_TEXT,
        "documents": None if documents is None else list(documents),
    }
    with access.in_workspace(workspace.pk):
        return [ReadOtherwise(*row) for row in run_sql(sql.READ_OTHERWISE, values)]


def _lock(workspace: Workspace, found: Sequence[ReadOtherwise]) -> None:
    jobs = [each.job_id for each in found]
    run_sql(pipeline_sql.LOCK_JOBS, {"workspace": workspace.pk, "jobs": jobs})


def _reopen(workspace: Workspace, found: Sequence[ReadOtherwise]) -> None:
    jobs = [each.job_id for each in found]
    situated = [each.job_id for each in found if each.situates]
    _forget(workspace, jobs, [f"%{UNREAD}%", f"{NO_ANSWER}%", NOTHING_FOUND])
    _forget(workspace, situated, [f"%{UNSITUATED}%"])
    values = {
        "workspace": workspace.pk,
        "jobs": jobs,
        "stages": list(AGAIN),
        "situated": situated,
        "stages_of_situated": list(SITUATED_AGAIN),
        "parsed": [each.job_id for each in found if each.parses],
        "stages_of_parsed": list(PARSED_AGAIN),
    }
    run_sql(sql.REPEAT_STAGES, values)
    groups.call_for(workspace.pk, jobs, pipeline.MAIN)


def _forget(workspace: Workspace, jobs: Sequence[uuid.UUID], patterns: Sequence[str]) -> None:
    values = {"workspace": workspace.pk, "jobs": list(jobs), "patterns": list(patterns)}
    run_sql(sql.FORGET_WARNINGS, values)


def _mark_reports(workspace: Workspace) -> None:
    """For the refresh that the last document asks for."""
    reports = selectors.unwritten_reports(workspace=workspace)
    marked = Community.objects.in_workspace(workspace)
    marked.filter(pk__in=reports.values("community_id")).update(is_changed=True)
