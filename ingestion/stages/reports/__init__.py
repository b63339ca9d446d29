"""Reports: say what each topic is about, in cited sentences, from the smallest topics up.

In: communities marked as changed, with what their entities, relationships and sub-communities rest
on.  Out: one report per community: title, summary, rating with its reason, findings, and for every
sentence the chunk and the span it is taken from.
Safe to repeat: a batch of communities is written in one transaction, which takes their marks away;
what was finished before an interruption is not written again. Deeper levels come first, since a
topic also quotes what its sub-topics found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, LiteralString
from uuid import UUID, uuid5

from django.utils import timezone

from ingestion.models import Finding, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from ingestion.stages.reports import extractive, rows
from ingestion.stages.reports.extractive import Report, Sentence
from ingestion.topics import OTHER_TOPICS, other_topics_id
from kb_project.ports import Ports
from kb_project.sql import Columns, bulk_plans, copy_into, run_sql, temporary_rows
from workspaces import access

BATCH: Final = 200
WRITTEN_BY: Final = "extractive"

# A topic quotes its sub-topics, so a change below is a change of everything above it.
MARK_ANCESTORS: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT parent_id AS id FROM ingestion_community
    WHERE workspace_id = %(workspace)s AND is_changed AND parent_id IS NOT NULL
    UNION
    SELECT community.parent_id FROM ingestion_community AS community
    JOIN above ON above.id = community.id
    WHERE community.workspace_id = %(workspace)s AND community.parent_id IS NOT NULL
)
UPDATE ingestion_community SET is_changed = true
WHERE workspace_id = %(workspace)s AND NOT is_changed AND id IN (SELECT id FROM above)
"""

CHANGED: Final[LiteralString] = """
SELECT level, id FROM ingestion_community
WHERE workspace_id = %(workspace)s AND is_changed
ORDER BY level DESC, id
"""

FORGET: Final[LiteralString] = """
DELETE FROM ingestion_communityreport
WHERE workspace_id = %(workspace)s AND community_id = ANY (%(ids)s::uuid[])
"""

# A chunk deleted by somebody else since it was read is cited no more.
CITE: Final[LiteralString] = """
INSERT INTO ingestion_findingevidence
       (workspace_id, id, finding_id, chunk_id, document_id, start, "end")
SELECT %(workspace)s, new.id, new.finding_id, new.chunk_id, chunk.document_id, new.start, new."end"
FROM new_evidence AS new
JOIN ingestion_chunk AS chunk
  ON chunk.workspace_id = %(workspace)s AND chunk.id = new.chunk_id
FOR KEY SHARE OF chunk
"""

EVIDENCE_COLUMNS: Final[Columns] = {
    "id": "uuid",
    "finding_id": "uuid",
    "chunk_id": "uuid",
    "start": "int4",
    "end": "int4",
}

UNMARK: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = false
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id):
        run_sql(MARK_ANCESTORS, {"workspace": workspace_id})
        changed = [(level, id_) for level, id_ in run_sql(CHANGED, {"workspace": workspace_id})]
    done = 0
    for batch in batches(changed, BATCH):
        with access.in_workspace(workspace_id), bulk_plans():
            _rewrite(workspace_id, batch)
        done += len(batch)
        progress(done, len(changed))
    return StageOutcome(written=done)


def batches(changed: Sequence[tuple[int, UUID]], size: int) -> Iterator[list[UUID]]:
    """Ids in batches that never mix levels, in the order given."""
    for _, level in groupby(changed, key=lambda pair: pair[0]):
        ids = [id_ for _, id_ in level]
        yield from (ids[start : start + size] for start in range(0, len(ids), size))


def _rewrite(workspace_id: UUID, ids: Sequence[UUID]) -> None:
    """Write the reports of communities of one level, in place of those they had."""
    topics = rows.topics(workspace_id, ids, {other_topics_id(workspace_id): OTHER_TOPICS})
    reports = {id_: extractive.write(topic) for id_, topic in topics.items()}
    values = {"workspace": workspace_id, "ids": list(ids)}
    run_sql(FORGET, values)
    _save_reports(workspace_id, reports)
    findings = [finding for id_, report in reports.items() for finding in _findings(id_, report)]
    _save_findings(workspace_id, findings)
    run_sql(UNMARK, values)


def report_id(community_id: UUID) -> UUID:
    """A community's report keeps its id however often it is written."""
    return uuid5(community_id, "report")


def _save_reports(workspace_id: UUID, reports: Mapping[UUID, Report]) -> None:
    now = timezone.now()
    copy_into(
        "ingestion_communityreport",
        {
            "id": "uuid",
            "workspace_id": "uuid",
            "community_id": "uuid",
            "title": "text",
            "summary": "text",
            "rating": "float8",
            "rating_reason": "text",
            "written_by": "text",
            "created_at": "timestamptz",
        },
        (
            (
                *(report_id(id_), workspace_id, id_, report.title, report.summary),
                *(report.rating, report.reason, WRITTEN_BY, now),
            )
            for id_, report in reports.items()
        ),
    )


# Finding id, report id, part, ordinal, and the sentence it is.
_Row = tuple[UUID, UUID, str, int, Sentence]


def _findings(community_id: UUID, report: Report) -> Iterator[_Row]:
    of = report_id(community_id)
    parts = (
        (Finding.Part.SUMMARY.value, report.summary_sentences),
        (Finding.Part.FINDING.value, report.findings),
    )
    for part, sentences in parts:
        for ordinal, sentence in enumerate(sentences):
            yield uuid5(of, f"{part} {ordinal}"), of, part, ordinal, sentence


def _save_findings(workspace_id: UUID, findings: Sequence[_Row]) -> None:
    copy_into(
        "ingestion_finding",
        {
            "id": "uuid",
            "workspace_id": "uuid",
            "report_id": "uuid",
            "part": "text",
            "ordinal": "int2",
            "summary": "text",
            "explanation": "text",
        },
        (
            (id_, workspace_id, of, part, ordinal, sentence.text, "")
            for id_, of, part, ordinal, sentence in findings
        ),
    )
    with temporary_rows("new_evidence", EVIDENCE_COLUMNS, _evidence(findings)):
        run_sql(CITE, {"workspace": workspace_id})


def _evidence(findings: Iterable[_Row]) -> Iterator[tuple[Any, ...]]:
    for id_, _, _, _, sentence in findings:
        yield uuid5(id_, "evidence"), id_, sentence.chunk, sentence.start, sentence.end
