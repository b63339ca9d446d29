"""Reresolve: apply decisions about names to the many documents that use them.

In: the names that a person's change concerns (``NameChange``).  Out: what *resolve* makes of each
document that uses one of them; the refresh that follows counts and describes.
Resumes after the last group of documents done. Safe to repeat.
"""

from __future__ import annotations

from bisect import bisect_right

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
        documents = documents_naming(workspace_id, change.keys)
    begun_at = bisect_right(documents, change.after)
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
