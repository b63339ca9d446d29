"""Load the rows that reports are written from, for a batch of communities at a time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log1p
from typing import Any, Final, LiteralString
from uuid import UUID

from ingestion.stages.reports.extractive import Member, Sentence, Topic
from kb_project.sql import Columns, Row, run_sql, temporary_rows
from kb_project.text.regions import from_json
from kb_project.text.statements import Statement, StatementKind, quotable
from kb_project.text.words import one_line

# Sentences considered per community and source.
MOST_EVIDENCE: Final = 40
MOST_INTRODUCTIONS: Final = 60
# A longer span is not a sentence to quote.
LONGEST_QUOTE: Final = 1_500

MEMBERS: Final[LiteralString] = """
SELECT member.community_id, entity.id, entity.name, entity.type, entity.rank
FROM ingestion_communitymember AS member
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(ids)s::uuid[])
"""

# Each relationship inside a community counts for both ends. Weights are added in order: the last
# digit of a sum decides ties, and must not depend on the query plan.
TIES: Final[LiteralString] = """
WITH inside AS (
    SELECT a.community_id, r.source_id, r.target_id, r.weight
    FROM ingestion_communitymember AS a
    JOIN ingestion_relationship AS r
      ON r.workspace_id = %(workspace)s AND r.source_id = a.entity_id
    JOIN ingestion_communitymember AS b
      ON b.workspace_id = %(workspace)s AND b.community_id = a.community_id
     AND b.entity_id = r.target_id
    WHERE a.workspace_id = %(workspace)s AND a.community_id = ANY (%(ids)s::uuid[])
)
SELECT community_id, entity_id, sum(weight ORDER BY weight), count(*)
FROM (SELECT community_id, source_id AS entity_id, weight FROM inside
      UNION ALL
      SELECT community_id, target_id, weight FROM inside) AS ends
GROUP BY community_id, entity_id
"""

DOCUMENTS: Final[LiteralString] = """
SELECT member.community_id, count(DISTINCT mention.document_id)
FROM ingestion_communitymember AS member
JOIN ingestion_mention AS mention
  ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(ids)s::uuid[])
GROUP BY member.community_id
"""

# The spans the community's relationships rest on, statements before co-occurrences.
EVIDENCE: Final[LiteralString] = """
SELECT community_id, chunk_id, start, "end", stated FROM (
    SELECT a.community_id, evidence.chunk_id, evidence.start, evidence."end",
           bool_or(evidence.kind = 'stated') AS stated,
           row_number() OVER (
               PARTITION BY a.community_id
               ORDER BY bool_or(evidence.kind = 'stated') DESC,
                        sum(r.weight ORDER BY r.weight) DESC,
                        evidence.start, evidence."end", evidence.chunk_id) AS place
    FROM ingestion_communitymember AS a
    JOIN ingestion_relationship AS r
      ON r.workspace_id = %(workspace)s AND r.source_id = a.entity_id
    JOIN ingestion_communitymember AS b
      ON b.workspace_id = %(workspace)s AND b.community_id = a.community_id
     AND b.entity_id = r.target_id
    JOIN ingestion_evidence AS evidence
      ON evidence.workspace_id = %(workspace)s AND evidence.relationship_id = r.id
    WHERE a.workspace_id = %(workspace)s AND a.community_id = ANY (%(ids)s::uuid[])
    GROUP BY a.community_id, evidence.chunk_id, evidence.start, evidence."end"
) AS ranked
WHERE place <= %(most)s
"""

# The sentences that describe the weightiest members.
INTRODUCTIONS: Final[LiteralString] = """
SELECT community_id, (source ->> 'chunk')::uuid, (source ->> 'start')::int,
       (source ->> 'end')::int, false, entity_id, number = 1
FROM (
    SELECT member.community_id, entity.id AS entity_id, entity.description_sources,
           row_number() OVER (PARTITION BY member.community_id
                              ORDER BY entity.rank DESC, entity.id) AS place
    FROM ingestion_communitymember AS member
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
    WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(ids)s::uuid[])
) AS ranked
CROSS JOIN LATERAL jsonb_array_elements(description_sources)
    WITH ORDINALITY AS one (source, number)
WHERE place <= %(most)s
"""

# The findings of the sub-communities' reports, which were written first.
FINDINGS_OF_CHILDREN: Final[LiteralString] = """
SELECT child.parent_id, evidence.chunk_id, evidence.start, evidence."end", false
FROM ingestion_community AS child
JOIN ingestion_communityreport AS report
  ON report.workspace_id = %(workspace)s AND report.community_id = child.id
JOIN ingestion_finding AS finding
  ON finding.workspace_id = %(workspace)s AND finding.report_id = report.id
JOIN ingestion_findingevidence AS evidence
  ON evidence.workspace_id = %(workspace)s AND evidence.finding_id = finding.id
WHERE child.workspace_id = %(workspace)s AND child.parent_id = ANY (%(ids)s::uuid[])
  AND finding.ordinal < 3
"""

CHUNKS: Final[LiteralString] = """
SELECT id, start, text, regions FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND id = ANY (%(chunks)s::uuid[])
"""

# The text of each span and the entities named in it. A deleted chunk gives no row.
SPANS: Final[LiteralString] = """
SELECT chunk.id, span.start, span."end", chunk.document_id,
       substr(chunk.text, span.start - chunk.start + 1, span."end" - span.start),
       chunk.ordinal = 0 AND span.start = chunk.start, coalesce(named.entities, '{}')
FROM wanted_spans AS span
JOIN ingestion_chunk AS chunk
  ON chunk.workspace_id = %(workspace)s AND chunk.id = span.chunk_id
 AND span.start >= chunk.start AND span."end" <= chunk."end"
LEFT JOIN (
    SELECT place.chunk_id, place.start, place."end",
           array_agg(DISTINCT mention.entity_id) AS entities
    FROM wanted_spans AS place
    JOIN ingestion_mention AS mention
      ON mention.workspace_id = %(workspace)s AND mention.chunk_id = place.chunk_id
     AND mention.start >= place.start AND mention."end" <= place."end"
    GROUP BY place.chunk_id, place.start, place."end"
) AS named
  ON named.chunk_id = span.chunk_id AND named.start = span.start AND named."end" = span."end"
"""

Span = tuple[UUID, int, int]
Spans = dict[UUID, dict[Span, bool]]
"""Spans by community; the value says whether a relationship is stated there."""


def topics(
    workspace_id: UUID, ids: Sequence[UUID], titles: Mapping[UUID, str]
) -> dict[UUID, Topic]:
    """Members and sentences of each community."""
    if not ids:
        return {}
    values = {"workspace": workspace_id, "ids": list(ids)}
    ties = {(row[0], row[1]): (row[2], row[3]) for row in run_sql(TIES, values)}
    links: defaultdict[UUID, int] = defaultdict(int)
    for (community, _), (_, count) in ties.items():
        links[community] += count
    members: defaultdict[UUID, list[Member]] = defaultdict(list)
    for community, id_, name, type_, rank in run_sql(MEMBERS, values):
        # Its rank in the workspace, plus the weight of its ties to the community.
        tie = max(0.0, ties.get((community, id_), (0, 0))[0])
        members[community].append(Member(id_, name, type_, rank + log1p(tie)))
    documents = {row[0]: row[1] for row in run_sql(DOCUMENTS, values)}
    sentences = _sentences(values)
    return {
        community: Topic(
            members=tuple(members[community]),
            sentences=tuple(sentences[community]),
            links=links[community] // 2,
            documents=documents.get(community, 0),
            title=titles.get(community, ""),
        )
        for community in ids
    }


def _sentences(values: dict[str, Any]) -> defaultdict[UUID, list[Sentence]]:
    introductions = run_sql(INTRODUCTIONS, {**values, "most": MOST_INTRODUCTIONS})
    introduced: defaultdict[Span, set[UUID]] = defaultdict(set)
    for _, chunk, start, end, _, entity, is_first in introductions:
        if is_first:
            introduced[chunk, start, end].add(entity)
    spans = _stated(
        values["workspace"],
        _pooled(
            [
                *run_sql(EVIDENCE, {**values, "most": MOST_EVIDENCE}),
                *(row[:5] for row in introductions),
                *run_sql(FINDINGS_OF_CHILDREN, values),
            ]
        ),
    )
    columns: Columns = {"chunk_id": "uuid", "start": "int4", "end": "int4"}
    wanted = {span for inside in spans.values() for span in inside}
    with temporary_rows("wanted_spans", columns, sorted(wanted)):
        rows = {row[:3]: row[3:] for row in run_sql(SPANS, {"workspace": values["workspace"]})}
    # Chunks overlap: the same sentence may have been found in two of them.
    introduces: defaultdict[Span, set[UUID]] = defaultdict(set)
    for span, members in introduced.items():
        if span in rows:
            introduces[rows[span][0], *span[1:]] |= members
    found: defaultdict[UUID, list[Sentence]] = defaultdict(list)
    for community, inside in spans.items():
        seen: set[Span] = set()
        for span in sorted(inside):
            document, text, leads, entities = rows.get(span, (None, "", False, ()))
            chunk, start, end = span
            line = one_line(text)
            if line and (document, start, end) not in seen:
                seen.add((document, start, end))
                found[community].append(
                    Sentence(
                        *(chunk, document, start, end, line, frozenset(entities)),
                        introduces=frozenset(introduces[document, start, end]),
                        states=inside[span],
                        leads=leads,
                    )
                )
    return found


def _pooled(rows: Iterable[Row]) -> Spans:
    spans: Spans = {}
    for community, chunk, start, end, stated in rows:
        if 0 < end - start <= LONGEST_QUOTE:
            inside = spans.setdefault(community, {})
            span = chunk, start, end
            inside[span] = inside.get(span, False) or stated
    return spans


def _stated(workspace_id: UUID, spans: Spans) -> Spans:
    """The sentences around the spans; list entries if a community has no sentence."""
    chunks = {chunk for inside in spans.values() for chunk, _, _ in inside}
    rows = run_sql(CHUNKS, {"workspace": workspace_id, "chunks": sorted(chunks)})
    passages = {
        chunk: (start, quotable(text, from_json(json.loads(regions))))
        for chunk, start, text, regions in rows
    }
    found: list[Row] = []
    for community, inside in spans.items():
        stated: defaultdict[StatementKind, list[Row]] = defaultdict(list)
        for (chunk, start, end), is_stated in inside.items():
            offset, statements = passages.get(chunk, (0, []))
            if one := _around(start - offset, end - offset, statements):
                row = community, chunk, offset + one.start, offset + one.end, is_stated
                stated[one.kind].append(row)
        found += stated[StatementKind.SENTENCE] or stated[StatementKind.ENTRY]
    return _pooled(found)


def _around(start: int, end: int, statements: Iterable[Statement]) -> Statement | None:
    """The statement that has the largest share of a span."""
    shared = ((min(end, one.end) - max(start, one.start), one) for one in statements)
    most, best = max(shared, key=lambda pair: pair[0], default=(0, None))
    return best if most > 0 else None
