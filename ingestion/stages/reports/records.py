"""Load the records that a model's report is written from, for a batch of communities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

from ingestion.stages.reports.context import Edge, Kind, Material, Node, Part, Record, Statement
from kb_project.sql import Row, run_sql

ENTITIES: Final[LiteralString] = """
SELECT member.community_id, entity.id, entity.name, entity.type, entity.description,
       entity.degree, entity.mention_count
FROM ingestion_communitymember AS member
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(ids)s::uuid[])
"""

RELATIONSHIPS: Final[LiteralString] = """
SELECT a.community_id, r.id, r.source_id, r.target_id, r.description
FROM ingestion_communitymember AS a
JOIN ingestion_relationship AS r
  ON r.workspace_id = %(workspace)s AND r.source_id = a.entity_id
JOIN ingestion_communitymember AS b
  ON b.workspace_id = %(workspace)s AND b.community_id = a.community_id
 AND b.entity_id = r.target_id
WHERE a.workspace_id = %(workspace)s AND a.community_id = ANY (%(ids)s::uuid[])
"""

# Overlapping chunks may yield the same claim: it counts once.
CLAIMS: Final[LiteralString] = """
SELECT DISTINCT ON (member.community_id, claim.subject_id, claim.description, claim.status)
       member.community_id, claim.id, claim.subject_id, claim.type, claim.status,
       claim.period_start, claim.period_end, claim.description
FROM ingestion_communitymember AS member
JOIN ingestion_claim AS claim
  ON claim.workspace_id = %(workspace)s AND claim.subject_id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(ids)s::uuid[])
ORDER BY member.community_id, claim.subject_id, claim.description, claim.status,
         claim.document_id, claim.start, claim.id
"""

PARTS: Final[LiteralString] = """
SELECT child.parent_id, array_agg(member.entity_id), report.id, report.title, report.summary, (
           SELECT string_agg(concat_ws(' ', finding.summary, nullif(finding.explanation, '')),
                             ' ' ORDER BY finding.ordinal)
           FROM ingestion_finding AS finding
           WHERE finding.workspace_id = %(workspace)s AND finding.report_id = report.id
             AND finding.part = 'finding')
FROM ingestion_community AS child
JOIN ingestion_communitymember AS member
  ON member.workspace_id = %(workspace)s AND member.community_id = child.id
LEFT JOIN ingestion_communityreport AS report
  ON report.workspace_id = %(workspace)s AND report.community_id = child.id
WHERE child.workspace_id = %(workspace)s AND child.parent_id = ANY (%(ids)s::uuid[])
GROUP BY child.parent_id, child.id, report.id, report.title, report.summary
ORDER BY child.id
"""


def materials(workspace_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Material]:
    """The records of each community."""
    values = {"workspace": workspace_id, "ids": list(ids)}
    entities = _by_community(run_sql(ENTITIES, values))
    relationships = _by_community(run_sql(RELATIONSHIPS, values))
    claims = _by_community(run_sql(CLAIMS, values))
    parts = _by_community(run_sql(PARTS, values))
    return {
        id_: _material(entities[id_], relationships[id_], claims[id_], parts[id_]) for id_ in ids
    }


def _material(
    entities: Iterable[Row], relationships: Iterable[Row], claims: Iterable[Row], parts: list[Row]
) -> Material:
    nodes = [_node(*row) for row in entities]
    names = {node.record.id: node.name for node in nodes}
    return Material(
        nodes=tuple(nodes),
        edges=tuple(_edge(names, *row) for row in relationships),
        claims=tuple(_claim(names, *row) for row in claims),
        parts=tuple(Part(frozenset(members), _report(*report)) for members, *report in parts),
    )


def _node(id_: UUID, name: str, kind: str, description: str, degree: int, mentions: int) -> Node:
    text = f"{name} ({kind}): {description}" if description else f"{name} ({kind})"
    return Node(Record.of(Kind.ENTITY, id_, text, (name,)), name, degree, mentions)


def _edge(
    names: Mapping[UUID, str], id_: UUID, source: UUID, target: UUID, description: str
) -> Edge:
    ends = names[source], names[target]
    text = f"{ends[0]} -> {ends[1]}: {description}" if description else " -> ".join(ends)
    return Edge(Record.of(Kind.RELATIONSHIP, id_, text, ends), source, target)


def _claim(names: Mapping[UUID, str], id_: UUID, subject: UUID, *told: str) -> Statement:
    kind, status, start, end, description = told
    period = "–".join(dict.fromkeys(part for part in (start, end) if part))
    facts = ", ".join(part for part in (kind, status, period) if part)
    text = f"{names[subject]} ({facts}): {description}"
    return Statement(Record.of(Kind.CLAIM, id_, text, (names[subject],)), subject)


def _report(id_: UUID | None, title: str, summary: str, findings: str | None) -> Record | None:
    if id_ is None:
        return None
    text = " ".join(part for part in (f"{title}.", summary, findings) if part)
    return Record.of(Kind.REPORT, id_, text)


def _by_community(rows: Iterable[Row]) -> defaultdict[UUID, list[Any]]:
    groups: defaultdict[UUID, list[Any]] = defaultdict(list)
    for community, *row in rows:
        groups[community].append(row)
    return groups
