"""Trace the records a passage refers to down to the places in documents it rests on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from ingestion.stages.reports.context import Kind, Record
from kb_project.sql import Columns, run_sql, temporary_rows
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import terms

MOST_PLACES: Final = 4
"""Places cited for one passage."""
MOST_CANDIDATES: Final = 8
"""Places considered for one record."""
NEARNESS: Final = 0.5
"""A further place must share at least this part of the words that the best place shares."""
LONGEST_QUOTE: Final = 1_500

# The model's notes on an entity, by passage.
FRAGMENTS: Final[LiteralString] = """
SELECT entity_id, chunk_id, start, "end" FROM (
    SELECT entity_id, chunk_id, start, "end",
           row_number() OVER (PARTITION BY entity_id ORDER BY document_id, start, id) AS place
    FROM ingestion_fragment
    WHERE workspace_id = %(workspace)s AND entity_id = ANY (%(ids)s::uuid[])
) AS ranked
WHERE place <= %(most)s
"""

# The sentences of a description, and those that link the entity to another.
INTRODUCTIONS: Final[LiteralString] = """
SELECT entity.id, (source ->> 'chunk')::uuid, (source ->> 'start')::int, (source ->> 'end')::int
FROM ingestion_entity AS entity
CROSS JOIN LATERAL jsonb_array_elements(description_sources) AS source
WHERE entity.workspace_id = %(workspace)s AND entity.id = ANY (%(ids)s::uuid[])
"""

LINKS: Final[LiteralString] = """
WITH ends AS MATERIALIZED (
    SELECT source_id AS entity_id, id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND source_id = ANY (%(ids)s::uuid[])
    UNION ALL
    SELECT target_id, id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND target_id = ANY (%(ids)s::uuid[])
)
SELECT entity_id, chunk_id, start, "end" FROM (
    SELECT ends.entity_id, evidence.chunk_id, evidence.start, evidence."end",
           row_number() OVER (
               PARTITION BY ends.entity_id
               ORDER BY evidence.kind = 'stated' DESC, ends.weight DESC,
                        evidence.document_id, evidence.start, evidence.id) AS place
    FROM ends
    JOIN ingestion_evidence AS evidence
      ON evidence.workspace_id = %(workspace)s AND evidence.relationship_id = ends.id
     AND evidence.relationship_id = ANY (ARRAY(SELECT id FROM ends))
) AS ranked
WHERE place <= %(most)s
"""

# For entities without any of these, the places that name them.
MENTIONS: Final[LiteralString] = """
SELECT entity_id, chunk_id, start, "end" FROM (
    SELECT entity_id, chunk_id, start, "end",
           row_number() OVER (PARTITION BY entity_id ORDER BY document_id, start, id) AS place
    FROM ingestion_mention
    WHERE workspace_id = %(workspace)s AND entity_id = ANY (%(ids)s::uuid[])
) AS ranked
WHERE place <= %(most)s
"""

EVIDENCE: Final[LiteralString] = """
SELECT relationship_id, chunk_id, start, "end" FROM (
    SELECT relationship_id, chunk_id, start, "end",
           row_number() OVER (
               PARTITION BY relationship_id
               ORDER BY kind = 'stated' DESC, strength DESC, document_id, start, id) AS place
    FROM ingestion_evidence
    WHERE workspace_id = %(workspace)s AND relationship_id = ANY (%(ids)s::uuid[])
) AS ranked
WHERE place <= %(most)s
"""

CLAIMS: Final[LiteralString] = """
SELECT id, chunk_id, start, "end" FROM ingestion_claim
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

# The evidence of a sub-topic's report, which was written first.
REPORTS: Final[LiteralString] = """
WITH finding AS MATERIALIZED (
    SELECT id, report_id, part, ordinal FROM ingestion_finding
    WHERE workspace_id = %(workspace)s AND report_id = ANY (%(ids)s::uuid[])
)
SELECT report_id, chunk_id, start, "end" FROM (
    SELECT finding.report_id, evidence.chunk_id, evidence.start, evidence."end",
           row_number() OVER (
               PARTITION BY finding.report_id
               ORDER BY finding.part DESC, finding.ordinal, evidence.document_id, evidence.start,
                        evidence.id) AS place
    FROM finding
    JOIN ingestion_findingevidence AS evidence
      ON evidence.workspace_id = %(workspace)s AND evidence.finding_id = finding.id
     AND evidence.finding_id = ANY (ARRAY(SELECT id FROM finding))
) AS ranked
WHERE place <= 3 * %(most)s
"""

PASSAGES: Final[LiteralString] = """
SELECT id, start, text FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

# A deleted chunk gives no row, nor does a span that is no longer inside its chunk.
QUOTES: Final[LiteralString] = """
SELECT wanted.chunk_id, wanted.start, wanted."end", chunk.document_id,
       substr(chunk.text, wanted.start - chunk.start + 1, wanted."end" - wanted.start)
FROM wanted_places AS wanted
JOIN ingestion_chunk AS chunk
  ON chunk.workspace_id = %(workspace)s AND chunk.id = wanted.chunk_id
 AND chunk.id = ANY (ARRAY(SELECT chunk_id FROM wanted_places))
 AND wanted.start >= chunk.start AND wanted."end" <= chunk."end"
"""

STATEMENTS: Final[Mapping[Kind, Sequence[LiteralString]]] = {
    Kind.ENTITY: (FRAGMENTS, INTRODUCTIONS, LINKS),
    Kind.RELATIONSHIP: (EVIDENCE,),
    Kind.CLAIM: (CLAIMS,),
    Kind.REPORT: (REPORTS,),
}


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A span of a document; ``terms`` are the searchable words in it."""

    chunk: UUID
    start: int
    end: int
    document: UUID
    terms: frozenset[str]


Span = tuple[UUID, int, int]


def load(workspace_id: UUID, records: Iterable[Record]) -> dict[UUID, list[EvidenceSpan]]:
    """Where the records are found, by record id; records found nowhere have no entry."""
    wanted: defaultdict[Kind, set[UUID]] = defaultdict(set)
    for record in records:
        wanted[record.kind].add(record.id)
    spans: defaultdict[UUID, list[Span]] = defaultdict(list)

    def find(statement: LiteralString, ids: set[UUID]) -> None:
        values = {"workspace": workspace_id, "ids": sorted(ids), "most": MOST_CANDIDATES}
        for id_, chunk, start, end in run_sql(statement, values) if ids else ():
            if 0 < end - start <= LONGEST_QUOTE:
                spans[id_].append((chunk, start, end))

    for span in _sentences(workspace_id, wanted.pop(Kind.PASSAGE, set())):
        spans[span[0]].append(span)
    for kind, ids in wanted.items():
        for statement in STATEMENTS[kind]:
            find(statement, ids)
    find(MENTIONS, {id_ for id_ in wanted[Kind.ENTITY] if not spans.get(id_)})
    columns: Columns = {"chunk_id": "uuid", "start": "int4", "end": "int4"}
    distinct = {span for found in spans.values() for span in found}
    with temporary_rows("wanted_places", columns, sorted(distinct)):
        rows = run_sql(QUOTES, {"workspace": workspace_id})
    known = {
        (chunk, start, end): EvidenceSpan(chunk, start, end, document, frozenset(terms(text)))
        for chunk, start, end, document, text in rows
    }
    located = {id_: [known[s] for s in found if s in known] for id_, found in spans.items()}
    return {id_: found for id_, found in located.items() if found}


def _sentences(workspace_id: UUID, ids: set[UUID]) -> Iterator[Span]:
    """Every sentence of the passages."""
    rows = run_sql(PASSAGES, {"workspace": workspace_id, "ids": sorted(ids)}) if ids else ()
    for chunk, start, text in rows:
        for begin, end in sentence_spans(text):
            if end - begin <= LONGEST_QUOTE:
                yield chunk, start + begin, start + end


def best(
    text: str, references: Iterable[Record], found: Mapping[UUID, list[EvidenceSpan]]
) -> list[EvidenceSpan]:
    """The few places that best match ``text``; none twice, none overlapping.

    The best is always included, however little it shares; the others must come close to it.
    """
    wanted = frozenset(terms(text))
    candidates = [
        (-len(wanted & place.terms), order, place.start, place)
        for order, record in enumerate(references)
        for place in found.get(record.id, ())
    ]
    candidates.sort(key=lambda one: one[:3])
    least = NEARNESS * -candidates[0][0] if candidates else 0
    chosen: list[EvidenceSpan] = []
    for shared, _, _, place in candidates:
        if len(chosen) == MOST_PLACES or -shared < least:
            break
        # Overlapping chunks may both contain the same words.
        if not any(
            place.document == other.document and place.start < other.end and other.start < place.end
            for other in chosen
        ):
            chosen.append(place)
    return chosen
