"""Reports as rows: written in place of those that were there."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString
from uuid import UUID, uuid5

from django.utils import timezone

from ingestion.models import Finding
from ingestion.stages.reports import extractive
from kb_project.sql import Columns, copy_into, run_sql, temporary_rows

EXTRACTIVE: Final = "extractive"

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

UNMARK: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = false
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

REPORT_COLUMNS: Final[Columns] = {
    "id": "uuid",
    "workspace_id": "uuid",
    "community_id": "uuid",
    "title": "text",
    "summary": "text",
    "rating": "float8",
    "rating_reason": "text",
    "written_by": "text",
    "problem": "jsonb",
    "substituted": "int2",
    "rejected": "jsonb",
    "created_at": "timestamptz",
}

FINDING_COLUMNS: Final[Columns] = {
    "id": "uuid",
    "workspace_id": "uuid",
    "report_id": "uuid",
    "part": "text",
    "ordinal": "int2",
    "summary": "text",
    "explanation": "text",
    "references": "jsonb",
}

EVIDENCE_COLUMNS: Final[Columns] = {
    "id": "uuid",
    "finding_id": "uuid",
    "chunk_id": "uuid",
    "start": "int4",
    "end": "int4",
}

# Chunk, start and end.
Span = tuple[UUID, int, int]


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a summary, or a finding, with the spans it rests on."""

    part: str
    summary: str
    explanation: str = ""
    references: Sequence[Mapping[str, str]] = ()
    spans: Sequence[Span] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """A report as it is stored."""

    title: str
    summary: str
    rating: float
    reason: str
    said: Sequence[Said]
    written_by: str = EXTRACTIVE
    problem: Mapping[str, str] | None = None
    substituted: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)


def quoted(report: extractive.Report, problem: Mapping[str, str] | None = None) -> Finished:
    """An extractive report; ``problem`` says why no model wrote it."""
    parts = (
        (Finding.Part.SUMMARY.value, report.summary_sentences),
        (Finding.Part.FINDING.value, report.findings),
    )
    said = [
        Said(part, one.text, spans=[(one.chunk, one.start, one.end)])
        for part, sentences in parts
        for one in sentences
    ]
    return Finished(
        report.title, report.summary, report.rating, report.reason, said, problem=problem
    )


def replace_reports(workspace_id: UUID, reports: Mapping[UUID, Finished]) -> None:
    """Write the reports of communities, by their ids, and take the communities' marks away."""
    values = {"workspace": workspace_id, "ids": sorted(reports)}
    run_sql(FORGET, values)
    now = timezone.now()
    copy_into(
        "ingestion_communityreport",
        REPORT_COLUMNS,
        ((*_report(workspace_id, id_, report), now) for id_, report in reports.items()),
    )
    _save_findings(workspace_id, [row for pair in reports.items() for row in _findings(*pair)])
    run_sql(UNMARK, values)


def report_id(community_id: UUID) -> UUID:
    """A community's report keeps its id however often it is written."""
    return uuid5(community_id, "report")


def _report(workspace_id: UUID, id_: UUID, report: Finished) -> tuple[Any, ...]:
    return (
        *(report_id(id_), workspace_id, id_, report.title, report.summary),
        *(report.rating, report.reason, report.written_by),
        *(report.problem, report.substituted, dict(report.rejected)),
    )


# Finding id, report id, ordinal in its part, and what it says.
_Row = tuple[UUID, UUID, int, Said]


def _findings(community_id: UUID, report: Finished) -> Iterator[_Row]:
    """A finding's id follows from what it says: citations of it outlive a rewritten report."""
    of = report_id(community_id)
    ordinals: Counter[str] = Counter()
    copies: Counter[str] = Counter()
    for one in report.said:
        digest = hashlib.sha256(f"{one.summary}\0{one.explanation}".encode()).hexdigest()
        name = f"{one.part} {digest}"
        yield uuid5(of, f"{name} {copies[name]}"), of, ordinals[one.part], one
        copies[name] += 1
        ordinals[one.part] += 1


def _save_findings(workspace_id: UUID, findings: Sequence[_Row]) -> None:
    copy_into(
        "ingestion_finding",
        FINDING_COLUMNS,
        (
            (
                *(id_, workspace_id, of, one.part, ordinal),
                *(one.summary, one.explanation, list(one.references)),
            )
            for id_, of, ordinal, one in findings
        ),
    )
    with temporary_rows("new_evidence", EVIDENCE_COLUMNS, _evidence(findings)):
        run_sql(CITE, {"workspace": workspace_id})


def _evidence(findings: Iterable[_Row]) -> Iterator[tuple[Any, ...]]:
    for id_, _, _, one in findings:
        for number, (chunk, start, end) in enumerate(one.spans):
            yield uuid5(id_, f"evidence {number}"), id_, chunk, start, end
