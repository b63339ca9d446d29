"""Reresolve: resolve the names of many documents again, after a person's change.

In: the names or the documents that the change concerns (``NameChange``).  Out: what *resolve* makes
of each of the documents; the refresh that follows counts and describes.
Resumes after the last group of documents done. Safe to repeat.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from uuid import UUID

from ingestion.models import IngestionJob, NameChange
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.resolve.applying import GROUP, documents_naming, resolve_again
from kb_project.ports import Ports
from workspaces import access


def run(job: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id):
        change = NameChange.objects.in_workspace(workspace_id).filter(job=job).first()
        if change is None:
            return StageOutcome()
        documents = change.documents or documents_naming(workspace_id, change.keys)
    begun_at = _begun_at(change, documents)
    for first in range(begun_at, len(documents), GROUP):
        progress(first, len(documents))
        group = documents[first : first + GROUP]
        resolve_again(workspace_id, group)
        change.after = group[-1]
        with access.in_workspace(workspace_id):
            change.save(update_fields=["after"])
    with access.in_workspace(workspace_id):
        change.delete()
    return StageOutcome(written=len(documents) - begun_at)


def _begun_at(change: NameChange, documents: Sequence[UUID]) -> int:
    """The place of the first document that is not done."""
    if not change.documents:
        # The last one done may no longer name any of them.
        return bisect_right(documents, change.after)
    return documents.index(change.after) + 1 if change.after in documents else 0
