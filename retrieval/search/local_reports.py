"""The reports of a local search's context: of the topics with most of the entities found.

Ordered by the number of these entities and then by rating, as in GraphRAG. For a scoped question a
report contains only what rests on the scope, under the names of its entities: its title and summary
may speak of other documents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from retrieval.search import graph_sql
from retrieval.search.entities_records import SOURCES, Known
from retrieval.search.found import Record, RecordKind
from retrieval.search.local_links import tokens
from retrieval.search.query import Query

MOST: Final = 10
"""Reports read; fewer fit into their share of the context."""
NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of a report and the passages it rests on."""

    is_summary: bool
    text: str
    chunks: tuple[UUID, ...]
    is_inside: bool


def report_records(
    query: Query, chosen: Sequence[UUID], known: Mapping[UUID, Known], budget: float
) -> list[Record]:
    """Return reports in order, as many as fit into the budget; at least one."""
    rows = _rows(query, chosen)
    findings = _findings(query, [row[0] for row in rows])
    records: list[Record] = []
    for report_id, title, summary, rating, members in rows:
        inside = [one for one in findings[report_id] if one.is_inside]
        sources = tuple(dict.fromkeys(chunk for one in inside for chunk in one.chunks))[:SOURCES]
        if not sources:
            continue
        if query.documents is not None:
            named = [known[one].name for one in chosen if one in members and one in known]
            title, summary = ", ".join(named[:NAMED]), ""
        text = "\n".join(dict.fromkeys([summary, *_said(inside, summary)])).strip()
        budget -= tokens(text)
        if records and budget < 0:
            break
        score = len(members) + float(rating) / 100
        records.append(Record(RecordKind.REPORT, report_id, title, text, sources, score))
    return records


def _said(findings: Sequence[Finding], summary: str) -> list[str]:
    """Return the findings, and the summary's own sentences if it is not included as a whole."""
    return [one.text for one in findings if not (one.is_summary and summary)]


def _rows(query: Query, chosen: Sequence[UUID]) -> list[tuple[UUID, str, str, float, list[UUID]]]:
    rows = run_sql(
        graph_sql.REPORTS_ON,
        {"workspace": query.workspace_id, "entities": list(chosen), "count": MOST},
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]


def _findings(query: Query, reports: Sequence[UUID]) -> defaultdict[UUID, list[Finding]]:
    found: defaultdict[UUID, list[Finding]] = defaultdict(list)
    if not reports:
        return found
    rows = run_sql(
        graph_sql.FINDINGS_OF,
        {
            "workspace": query.workspace_id,
            "documents": query.document_list,
            "reports": list(reports),
        },
    )
    for report_id, part, summary, explanation, chunks, is_inside in rows:
        text = f"{summary} {explanation}".strip()
        found[report_id].append(Finding(part == "summary", text, tuple(chunks), is_inside))
    return found
