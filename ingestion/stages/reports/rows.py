"""Load the rows that reports are written from, for a batch of communities at a time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any, Final, LiteralString
from uuid import UUID

from ingestion.stages.reports.extractive import Member, Sentence, Topic
from kb_project.sql import Columns, Row, run_sql, temporary_rows
from kb_project.text.quotable import quotable
from kb_project.text.regions import from_json
from kb_project.text.statements import Statement, StatementKind

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
       (source ->> 'end')::int, false
FROM (
    SELECT member.community_id, entity.description_sources,
           row_number() OVER (PARTITION BY member.community_id
                              ORDER BY entity.rank DESC, entity.id) AS place
    FROM ingestion_communitymember AS member
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
    WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(ids)s::uuid[])
) AS ranked
CROSS JOIN LATERAL jsonb_array_elements(description_sources) AS source
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


@dataclass(frozen=True, slots=True)
class _Pool:
    """Spans per community; the value says whether a relationship is stated there."""

    spans: dict[UUID, dict[Span, bool]]

    def add(self, rows: Iterable[Row]) -> None:
        for community, chunk, start, end, stated in rows:
            if 0 < end - start <= LONGEST_QUOTE:
                known = self.spans.setdefault(community, {})
                span = chunk, start, end
                known[span] = known.get(span, False) or stated


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
    members = _members(run_sql(MEMBERS, values), ties)
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


def _members(
    rows: Iterable[Row], ties: Mapping[tuple[UUID, UUID], tuple[float, int]]
) -> defaultdict[UUID, list[Member]]:
    """An entity's pull: its rank in the workspace plus the weight of its ties to the community."""
    groups: defaultdict[UUID, list[Member]] = defaultdict(list)
    for community, id_, name, type_, rank in rows:
        tie = max(0.0, ties.get((community, id_), (0, 0))[0])
        groups[community].append(Member(id_, name, type_, rank + log1p(tie)))
    return groups


def _sentences(values: dict[str, Any]) -> defaultdict[UUID, list[Sentence]]:
    pool = _Pool({})
    pool.add(run_sql(EVIDENCE, {**values, "most": MOST_EVIDENCE}))
    pool.add(run_sql(INTRODUCTIONS, {**values, "most": MOST_INTRODUCTIONS}))
    pool.add(run_sql(FINDINGS_OF_CHILDREN, values))
    pool = _stated(values["workspace"], pool)
    rows = _read_spans(values["workspace"], pool)
    found: defaultdict[UUID, list[Sentence]] = defaultdict(list)
    for community, spans in pool.spans.items():
        # Chunks overlap: the same sentence may have been found in two of them.
        seen: set[tuple[UUID, int, int]] = set()
        for span in sorted(spans):
            sentence = _sentence(span, rows.get(span), stated=spans[span])
            if sentence and (place := (sentence.document, *span[1:])) not in seen:
                seen.add(place)
                found[community].append(sentence)
    return found


def _stated(workspace_id: UUID, pool: _Pool) -> _Pool:
    """The sentences around the spans; list entries if a community has no sentence."""
    chunks = {chunk for spans in pool.spans.values() for chunk, _, _ in spans}
    rows = run_sql(CHUNKS, {"workspace": workspace_id, "chunks": sorted(chunks)})
    passages = {row[0]: _Prose(*row[1:]) for row in rows}
    found = _Pool({})
    for community, spans in pool.spans.items():
        stated: defaultdict[StatementKind, list[Row]] = defaultdict(list)
        for (chunk, start, end), is_stated in spans.items():
            one = passages[chunk].at(start, end) if chunk in passages else None
            if one:
                place = passages[chunk].start
                row = community, chunk, place + one.start, place + one.end, is_stated
                stated[one.kind].append(row)
        found.add(stated[StatementKind.SENTENCE] or stated[StatementKind.ENTRY])
    return found


class _Prose:
    """The whole sentences and list entries of a passage."""

    def __init__(self, start: int, text: str, regions: str) -> None:
        self.start = start
        self._stated = quotable(text, from_json(json.loads(regions)))

    def at(self, start: int, end: int) -> Statement | None:
        """The statement that has the largest share of a span of the document's text."""
        start, end = start - self.start, end - self.start
        shared = ((min(end, one.end) - max(start, one.start), one) for one in self._stated)
        most, best = max(shared, key=lambda pair: pair[0], default=(0, None))
        return best if most > 0 else None


def _read_spans(workspace_id: UUID, pool: _Pool) -> dict[Span, Row]:
    wanted = {span for spans in pool.spans.values() for span in spans}
    columns: Columns = {"chunk_id": "uuid", "start": "int4", "end": "int4"}
    with temporary_rows("wanted_spans", columns, sorted(wanted)):
        rows = run_sql(SPANS, {"workspace": workspace_id})
    return {(row[0], row[1], row[2]): row[3:] for row in rows}


def _sentence(span: Span, row: Row | None, *, stated: bool) -> Sentence | None:
    if row is None:
        return None
    document, text, leads, entities = row
    line = " ".join(text.split())
    if not line:
        return None
    return Sentence(span[0], document, span[1], span[2], line, frozenset(entities), stated, leads)
