"""Everything an ingest leaves behind, in words that do not depend on ids or times."""

from __future__ import annotations

from typing import Any, Final, LiteralString

import psycopg

CONTENT: Final[dict[str, LiteralString]] = {
    "documents": """
        SELECT name, title, state, media_type, sha256 FROM ingestion_document
    """,
    "chunks": """
        SELECT d.name, c.ordinal, c.start, c."end", c.text, c.context, c.terms, c.tokens
          FROM ingestion_chunk c JOIN ingestion_document d ON d.id = c.document_id
    """,
    "postings": """
        SELECT d.name, c.ordinal, p.term, p.frequency
          FROM ingestion_posting p JOIN ingestion_chunk c ON c.id = p.chunk_id
          JOIN ingestion_document d ON d.id = c.document_id
    """,
    "vectors": """
        SELECT d.name, c.ordinal, v.fingerprint, v.vector::text
          FROM ingestion_chunkembedding v JOIN ingestion_chunk c ON c.id = v.chunk_id
          JOIN ingestion_document d ON d.id = c.document_id
    """,
    "entities": """
        SELECT key, sense, name, type, description, mention_count, chunk_count, degree,
               round(rank::numeric, 6), is_changed
          FROM ingestion_entity
    """,
    "aliases": """
        SELECT e.key, a.key, a.name FROM ingestion_alias a
          JOIN ingestion_entity e ON e.id = a.entity_id
    """,
    "mentions": """
        SELECT d.name, m.start, m."end", m.surface, m.type, m.source, e.key, c.ordinal
          FROM ingestion_mention m JOIN ingestion_entity e ON e.id = m.entity_id
          JOIN ingestion_chunk c ON c.id = m.chunk_id
          JOIN ingestion_document d ON d.id = m.document_id
    """,
    "relationships": """
        SELECT s.key, t.key, r.description, r.keywords, round(r.weight::numeric, 6),
               r.evidence_count, r.is_changed
          FROM ingestion_relationship r JOIN ingestion_entity s ON s.id = r.source_id
          JOIN ingestion_entity t ON t.id = r.target_id
    """,
    "evidence": """
        SELECT s.key, t.key, d.name, v.start, v."end", v.predicate, v.kind, v.strength
          FROM ingestion_evidence v JOIN ingestion_relationship r ON r.id = v.relationship_id
          JOIN ingestion_entity s ON s.id = r.source_id
          JOIN ingestion_entity t ON t.id = r.target_id
          JOIN ingestion_document d ON d.id = v.document_id
    """,
    "suggestions": """
        SELECT least(l.key, r.key), greatest(l.key, r.key), score, reason, state
          FROM ingestion_mergesuggestion s JOIN ingestion_entity l ON l.id = s.left_id
          JOIN ingestion_entity r ON r.id = s.right_id
    """,
    "communities": """
        SELECT c.level, array_agg(e.key ORDER BY e.key)
          FROM ingestion_community c JOIN ingestion_communitymember m ON m.community_id = c.id
          JOIN ingestion_entity e ON e.id = m.entity_id GROUP BY c.id, c.level
    """,
    "reports": """
        SELECT r.title, r.summary, round(r.rating::numeric, 6), r.written_by,
               (SELECT array_agg(e.key ORDER BY e.key) FROM ingestion_communitymember m
                  JOIN ingestion_entity e ON e.id = m.entity_id
                 WHERE m.community_id = r.community_id)
          FROM ingestion_communityreport r
    """,
    "findings": """
        SELECT r.title, f.part, f.ordinal, f.summary, f.explanation, d.name, v.start, v."end"
          FROM ingestion_finding f JOIN ingestion_communityreport r ON r.id = f.report_id
          LEFT JOIN ingestion_findingevidence v ON v.finding_id = f.id
          LEFT JOIN ingestion_document d ON d.id = v.document_id
    """,
    "walk": "SELECT chunks, entities FROM ingestion_walksnapshot",
}


def content(connection: psycopg.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a database with one workspace in it, as somebody above row-level security."""
    return {
        name: sorted(connection.execute(query).fetchall(), key=repr)
        for name, query in CONTENT.items()
    }


def assert_same(
    found: dict[str, list[tuple[Any, ...]]], expected: dict[str, list[tuple[Any, ...]]]
) -> None:
    """Row by row; the message shows the first rows that are missing and unexpected."""
    for name, rows in expected.items():
        missing = [row for row in rows if row not in found[name]][:3]
        unexpected = [row for row in found[name] if row not in rows][:3]
        assert found[name] == rows, (name, "missing", missing, "unexpected", unexpected)
