"""How to break a workspace: one statement for each check that a statement can break."""

from __future__ import annotations

from typing import Final, LiteralString

# What breaks each check's thing, and nothing else that is not a consequence of it.
BREAKS: Final[dict[str, LiteralString]] = {
    "stray_passages": """
        UPDATE ingestion_document SET trashed_at = now()
         WHERE workspace_id = %(workspace)s AND name = 'letters.txt'
    """,
    "uncut": """
        DELETE FROM ingestion_chunk WHERE workspace_id = %(workspace)s AND document_id = (
               SELECT id FROM ingestion_document
                WHERE workspace_id = %(workspace)s AND name = 'harbour.txt')
    """,
    "text": """
        UPDATE ingestion_chunk SET text = upper(text)
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_chunk
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "words": """
        DELETE FROM ingestion_posting
         WHERE workspace_id = %(workspace)s AND chunk_id = (
               SELECT id FROM ingestion_chunk
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "words_of_some": """
        UPDATE ingestion_posting SET term = 'gold'
         WHERE workspace_id = %(workspace)s AND term = 'oil'
    """,
    "words_of_all": """
        UPDATE ingestion_posting SET term = 'gold'
         WHERE workspace_id = %(workspace)s AND term = 'oil'
    """,
    "vectors": """
        DELETE FROM ingestion_chunkembedding WHERE workspace_id = %(workspace)s AND chunk_id = (
               SELECT id FROM ingestion_chunk
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "extractions": """
        DELETE FROM ingestion_chunkextraction WHERE workspace_id = %(workspace)s AND chunk_id = (
               SELECT id FROM ingestion_chunk
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "mentions": """
        UPDATE ingestion_mention SET start = start + 2, "end" = "end" + 2
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_mention
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "evidence": """
        UPDATE ingestion_evidence SET "end" = "end" + 100000
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_evidence
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "rulings": """
        DELETE FROM ingestion_mention WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_mention
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "entities": """
        INSERT INTO ingestion_entity (workspace_id, id, key, sense, name, type, description,
               description_sources, mention_count, chunk_count, degree, rank, is_changed,
               created_at)
        VALUES (%(workspace)s, gen_random_uuid(), 'ghost', 0, 'Ghost', 'person', '', '[]', 0, 0, 0,
                0, false, now())
    """,
    "mention_counts": """
        UPDATE ingestion_entity SET mention_count = 77
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "degrees": """
        UPDATE ingestion_entity SET degree = 77
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "descriptions": """
        UPDATE ingestion_entity
           SET description_sources = jsonb_build_array(
               jsonb_build_object('chunk', gen_random_uuid(), 'start', 0, 'end', 9))
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "aliases": """
        INSERT INTO ingestion_alias (workspace_id, id, entity_id, key, name)
        SELECT %(workspace)s, gen_random_uuid(), id, 'old joe', 'Old Joe' FROM ingestion_entity
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "relationships": """
        INSERT INTO ingestion_relationship (workspace_id, id, source_id, target_id, description,
               keywords, weight, evidence_count, is_changed)
        SELECT %(workspace)s, gen_random_uuid(), s.id, t.id, '', '{}', 0, 0, false
          FROM ingestion_entity AS s
          JOIN ingestion_entity AS t ON t.workspace_id = s.workspace_id AND t.id > s.id
         WHERE s.workspace_id = %(workspace)s AND NOT EXISTS (
               SELECT FROM ingestion_relationship AS r
                WHERE r.workspace_id = s.workspace_id
                  AND r.source_id = s.id AND r.target_id = t.id)
         LIMIT 1
    """,
    "evidence_counts": """
        UPDATE ingestion_relationship SET weight = weight + 5
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_relationship
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "marks": """
        WITH failed AS (UPDATE ingestion_ingestionjob SET state = 'failed'
                         WHERE workspace_id = %(workspace)s AND kind = 'workspace')
        UPDATE ingestion_entity SET is_changed = true
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "ungrouped": """
        DELETE FROM ingestion_communitymember WHERE workspace_id = %(workspace)s AND entity_id = (
               SELECT id FROM ingestion_entity
                WHERE workspace_id = %(workspace)s AND key = 'josiah gault')
    """,
    "topic_sizes": """
        UPDATE ingestion_community SET size = size + 1 WHERE workspace_id = %(workspace)s
    """,
    "topic_levels": """
        UPDATE ingestion_community SET level = level + 3 WHERE workspace_id = %(workspace)s
    """,
    "reports": """
        DELETE FROM ingestion_communityreport WHERE workspace_id = %(workspace)s
    """,
    "findings": """
        DELETE FROM ingestion_findingevidence WHERE workspace_id = %(workspace)s
    """,
    "report_references": """
        UPDATE ingestion_finding SET "references" = jsonb_build_array(
               jsonb_build_object('kind', 'entity', 'id', gen_random_uuid()))
         WHERE workspace_id = %(workspace)s
    """,
    "trees": """
        UPDATE ingestion_summarytree SET nodes = nodes + 1 WHERE workspace_id = %(workspace)s
    """,
    "stale_trees": """
        UPDATE ingestion_summarytree SET digest = 'other'
         WHERE workspace_id = %(workspace)s AND document_id IS NOT NULL
    """,
    "snapshot": """
        DELETE FROM ingestion_walksnapshot WHERE workspace_id = %(workspace)s
    """,
}
