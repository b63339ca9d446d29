"""Chunk: cut documents' texts into overlapping spans.

In: the texts of parsed versions.  Out: Chunk rows whose offsets point into them. Only passages that
the previous version did not have are new, all others stay (``publish``).
Safe to repeat: chunk ids follow from version and offsets. Existing chunks are kept as they are, in
the transaction that removes those no longer there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.models import IngestionJob
from ingestion.stage import Progress, StageOutcome, versions_of
from ingestion.stages.chunk.cutting import cut_up
from ingestion.stages.chunk.publish import Cut, earlier_of, publish_cuts
from kb_project.ports import Ports
from workspaces import access


def run(jobs: Sequence[IngestionJob], ports: Ports, _progress: Progress) -> list[StageOutcome]:
    versions = versions_of(jobs)
    cuts = [
        Cut(job, version, cut_up(version, earlier_of(version)))
        for job, version in zip(jobs, versions, strict=True)
    ]
    with access.in_workspace(versions[0].workspace_id):
        publish_cuts(versions[0].workspace_id, cuts, uses_model=ports.reader is not None)
    return [StageOutcome(written=len(cut.chunks)) for cut in cuts]
