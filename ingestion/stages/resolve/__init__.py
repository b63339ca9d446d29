"""Resolve: decide which mentions are the same entity.

In: what was extracted from the chunks of a group's versions.  Out: entities, aliases, mentions,
relationships, evidence, fragments, claims, and suggestions for the grey zone.
Safe to repeat: each document's rows are replaced, a group of documents in one transaction.

Names are matched by their normalised form (``names``), subject to the decisions on record
(``ingestion.resolution``). Nothing else is merged automatically: look-alikes become suggestions,
names that differ in a digit never do. A workspace's chat model is asked about look-alikes
(``judging``) and about one name for two things (``homonyms``); its decisions are rows with reasons,
which people may undo. Without a model the outcome does not depend on the order in which documents
arrive. With one, a question is about the document that was added later, whichever was read first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.models import IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.resolve.applying import resolve_documents
from ingestion.stages.resolve.homonyms import judge_homonyms
from ingestion.stages.resolve.judging import Unanswered, judge_look_alikes, note_on_unanswered
from kb_project.ports import Ports


def run(jobs: Sequence[IngestionJob], ports: Ports, progress: Progress) -> list[StageOutcome]:
    workspace_id = jobs[0].workspace_id
    versions = {
        job.document_id: job.version_id for job in jobs if job.document_id and job.version_id
    }
    resolutions = resolve_documents(workspace_id, versions)
    unanswered: Unanswered = Unanswered()
    if ports.reader is not None:
        judge_homonyms(workspace_id, resolutions, ports.reader, unanswered, progress)
        judge_look_alikes(workspace_id, resolutions, ports.reader, unanswered, progress)
    names = {one.document_id: len(one.names) for one in resolutions}
    return [
        StageOutcome(names[job.document_id], note_on_unanswered(unanswered[job.document_id]))
        for job in jobs
        if job.document_id
    ]
