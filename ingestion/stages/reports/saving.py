"""Store reports, replacing earlier ones."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, LiteralString
from uuid import UUID, uuid5

from django.utils import timezone

from ingestion.models import Finding
from ingestion.resolution import locks
from ingestion.stages.reports import extractive
from ingestion.stages.reports.context import Context
from ingestion.stages.reports.extractive import Topic
from kb_project.errors import Problem
from kb_project.prompt import Prompt
from kb_project.sql import Columns, copy_into, run_sql, temporary_rows

EXTRACTIVE: Final = "extractive"
FORGET: Final[LiteralString] = """
DELETE FROM ingestion_communityreport
WHERE workspace_id = %(workspace)s AND community_id = ANY (%(ids)s::uuid[])
"""

# A chunk deleted since it was read is no longer cited.
CITE: Final[LiteralString] = """
INSERT INTO ingestion_findingevidence
       (workspace_id, id, finding_id, report_id, chunk_id, document_id, start, "end")
SELECT %(workspace)s, new.id, new.finding_id, new.report_id, new.chunk_id, chunk.document_id,
       new.start, new."end"
FROM new_evidence AS new
JOIN ingestion_chunk AS chunk
  ON chunk.workspace_id = %(workspace)s AND chunk.id = new.chunk_id
 AND chunk.id = ANY (ARRAY(SELECT chunk_id FROM new_evidence))
FOR KEY SHARE OF chunk
"""

# The last thing a person did; an added document changes nothing until it is read.
LAST_CHANGE: Final[LiteralString] = """
SELECT coalesce(max(sequence), 0) FROM ingestion_historyevent
WHERE workspace_id = %(workspace)s AND kind <> 'document_added'
"""

# What a person changed since it was read stays marked for the next refresh.
UNMARK: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = false
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
  AND NOT EXISTS (SELECT FROM ingestion_historyevent
                  WHERE workspace_id = %(workspace)s AND kind <> 'document_added'
                    AND sequence > %(seen)s)
"""
HOLD_CHUNKS: Final[LiteralString] = """
SELECT id FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND id = ANY (%(chunks)s::uuid[])
ORDER BY id FOR KEY SHARE
"""

# What each report was made from, and how many of its places are left.
DIGESTS: Final[LiteralString] = """
WITH report AS MATERIALIZED (
    SELECT id, community_id, digest FROM ingestion_communityreport
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(ids)s::uuid[])
      AND problem IS NULL
), finding AS MATERIALIZED (
    SELECT id, report_id FROM ingestion_finding
    WHERE workspace_id = %(workspace)s AND report_id = ANY (ARRAY(SELECT id FROM report))
), place AS MATERIALIZED (
    SELECT finding_id FROM ingestion_findingevidence
    WHERE workspace_id = %(workspace)s AND finding_id = ANY (ARRAY(SELECT id FROM finding))
)
SELECT report.community_id, report.digest, count(place.finding_id)
FROM report
LEFT JOIN finding ON finding.report_id = report.id
LEFT JOIN place ON place.finding_id = finding.id
GROUP BY report.community_id, report.digest
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
    "digest": "text",
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
    "report_id": "uuid",
    "chunk_id": "uuid",
    "start": "int4",
    "end": "int4",
}

# Chunk, start and end.
Span = tuple[UUID, int, int]


@dataclass(frozen=True, slots=True)
class CitedText:
    """A sentence of a summary, or a finding, with its spans."""

    part: str
    summary: str
    explanation: str = ""
    references: Sequence[Mapping[str, str]] = ()
    spans: Sequence[Span] = ()


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as it is stored; ``digest`` identifies everything it was made from."""

    title: str
    summary: str
    rating: float
    reason: str
    texts: Sequence[CitedText]
    written_by: str = EXTRACTIVE
    problem: Problem | None = None
    substituted: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""

    @property
    def chunks(self) -> set[UUID]:
        return {chunk for one in self.texts for chunk, _, _ in one.spans}

    @property
    def places(self) -> int:
        return sum(len(one.spans) for one in self.texts)


def quoted(report: extractive.Report, digest: str, problem: Problem | None = None) -> StoredReport:
    """An extractive report; ``problem`` says why the model did not write it."""
    sentences = [
        *((Finding.Part.SUMMARY.value, one) for one in report.summary_sentences),
        *((Finding.Part.FINDING.value, one) for one in report.findings),
    ]
    texts = [
        CitedText(part, one.text, spans=[(one.chunk, one.start, one.end)])
        for part, one in sentences
    ]
    return StoredReport(
        report.title,
        report.summary,
        report.rating,
        report.reason,
        texts,
        problem=problem,
        digest=digest,
    )


def last_change(workspace_id: UUID) -> int:
    """The number of the last change by a person; none follows until the transaction ends."""
    locks.join(workspace_id)
    [(number,)] = run_sql(LAST_CHANGE, {"workspace": workspace_id})
    return int(number)


def keep(workspace_id: UUID, digests: Mapping[UUID, str], seen: int) -> set[UUID]:
    """The communities whose report was made from the same input: they need no new one.

    Clears their marks.
    """
    locks.join(workspace_id)
    values = {"workspace": workspace_id, "ids": sorted(digests)}
    same = {
        id_
        for id_, digest, places in run_sql(DIGESTS, values)
        if digest == stored_digest(digests[id_], places)
    }
    run_sql(UNMARK, {"workspace": workspace_id, "ids": sorted(same), "seen": seen})
    return same


def replace_reports(workspace_id: UUID, wanted: Mapping[UUID, StoredReport], seen: int) -> int:
    """Write the reports of communities, by community id, and clear the communities' marks.

    A report whose evidence was deleted meanwhile is not written and keeps its mark; all marks stay
    if a person changed anything after change ``seen``. Returns how many were written.
    """
    locks.join(workspace_id)
    chunks = set().union(*(report.chunks for report in wanted.values()))
    held = run_sql(HOLD_CHUNKS, {"workspace": workspace_id, "chunks": sorted(chunks)})
    gone = chunks.difference(id_ for (id_,) in held)
    reports = {id_: report for id_, report in wanted.items() if not gone & report.chunks}
    values = {"workspace": workspace_id, "ids": sorted(reports), "seen": seen}
    run_sql(FORGET, values)
    now = timezone.now()
    copy_into(
        "ingestion_communityreport",
        REPORT_COLUMNS,
        ((*_report(workspace_id, id_, report), now) for id_, report in reports.items()),
    )
    _save_findings(workspace_id, [row for pair in reports.items() for row in _findings(*pair)])
    run_sql(UNMARK, values)
    return len(reports)


def report_id(community_id: UUID) -> UUID:
    """A community's report keeps its id however often it is rewritten."""
    return uuid5(community_id, "report")


def _report(workspace_id: UUID, id_: UUID, report: StoredReport) -> tuple[Any, ...]:
    return (
        *(report_id(id_), workspace_id, id_, report.title, report.summary),
        *(report.rating, report.reason, report.written_by),
        *(report.problem, report.substituted, dict(report.rejected)),
        stored_digest(report.digest, report.places),
    )


# Finding id, report id, ordinal in its part, and what it says.
_Row = tuple[UUID, UUID, int, CitedText]


def _findings(community_id: UUID, report: StoredReport) -> Iterator[_Row]:
    """A finding's id is derived from its text, so citations survive a rewritten report."""
    of = report_id(community_id)
    ordinals: Counter[str] = Counter()
    copies: Counter[str] = Counter()
    for one in report.texts:
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
    for id_, of, _, one in findings:
        for number, (chunk, start, end) in enumerate(one.spans):
            yield uuid5(id_, f"evidence {number}"), id_, of, chunk, start, end


# --- digests of what reports are made from --------------------------------------------------------
FORM: Final = "4"
"""Incremented when the same input would give a different report."""


def digest_of_topic(topic: Topic) -> str:
    """For a report made of the documents' own sentences."""
    members = sorted((str(one.id), one.name, one.type, repr(one.pull)) for one in topic.members)
    sentences = sorted(
        (
            *(str(one.chunk), one.start, one.end, one.text, one.states, one.leads),
            sorted(map(str, one.entities)),
            sorted(map(str, one.introduces)),
            one.under,
        )
        for one in topic.sentences
    )
    unread = [topic.size] if topic.size > len(members) else []
    return _digest(members, sentences, topic.links, topic.documents, topic.title, *unread)


def digest_of_prompt(author: str, prompt: Prompt, made: Context) -> str:
    """For a model's report: the prompt, and the records it may cite."""
    records = [(label, str(record.id)) for label, record in made.labels.items()]
    return _digest(author, prompt.system, prompt.user, records)


def _digest(*parts: object) -> str:
    return sha256("\n".join([FORM, *map(repr, parts)]).encode("utf-8", "replace")).hexdigest()


def stored_digest(digest: str, places: int) -> str:
    """Digest with the number of places: a report that lost a place is no longer the same.

    >>> stored_digest("a" * 64, 12)[-6:]
    'aaa 12'
    """
    return f"{digest[:48]} {places}"
