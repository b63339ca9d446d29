"""How to break a workspace: statements, each named by the check that must find it."""

from __future__ import annotations

from typing import Final, LiteralString

# The name of the check, then of the damage. Each breaks nothing else but what follows from it.
BREAKS: Final[dict[str, LiteralString]] = {
    "archive: still searched": """
        UPDATE ingestion_document SET trashed_at = now()
         WHERE workspace_id = %(workspace)s AND name = 'letters.txt'
    """,
    "archive: archived as well": """
        INSERT INTO ingestion_shelvedchunk (workspace_id, id, document_id, version_id, ordinal,
               start, "end", text, context, tokens, terms, heading_path)
        SELECT workspace_id, id, document_id, version_id, ordinal, start, "end", text, context,
               tokens, terms, heading_path
          FROM ingestion_chunk WHERE workspace_id = %(workspace)s LIMIT 1
    """,
    "archive: only archived": """
        WITH moved AS (
            INSERT INTO ingestion_shelvedchunk (workspace_id, id, document_id, version_id, ordinal,
                   start, "end", text, context, tokens, terms, heading_path)
            SELECT c.workspace_id, c.id, c.document_id, c.version_id, c.ordinal, c.start, c."end",
                   c.text, c.context, c.tokens, c.terms, c.heading_path
              FROM ingestion_chunk AS c JOIN ingestion_document AS d ON d.id = c.document_id
             WHERE c.workspace_id = %(workspace)s AND d.name = 'harbour.txt')
        DELETE FROM ingestion_chunk WHERE workspace_id = %(workspace)s AND document_id = (
               SELECT id FROM ingestion_document
                WHERE workspace_id = %(workspace)s AND name = 'harbour.txt')
    """,
    "passages: none": """
        DELETE FROM ingestion_chunk WHERE workspace_id = %(workspace)s AND document_id = (
               SELECT id FROM ingestion_document
                WHERE workspace_id = %(workspace)s AND name = 'harbour.txt')
    """,
    "passages: other text": """
        UPDATE ingestion_chunk SET text = upper(text)
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_chunk
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "words: too few": """
        DELETE FROM ingestion_posting
         WHERE workspace_id = %(workspace)s AND chunk_id = (
               SELECT id FROM ingestion_chunk
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "words: others": """
        UPDATE ingestion_posting SET term = 'gold'
         WHERE workspace_id = %(workspace)s AND term = 'oil'
    """,
    "words: others, deep": """
        UPDATE ingestion_posting SET term = 'gold'
         WHERE workspace_id = %(workspace)s AND term = 'oil'
    """,
    "words: other lengths": """
        UPDATE ingestion_posting SET length = length + 1
         WHERE workspace_id = %(workspace)s AND term = 'oil'
    """,
    "counts: passages": """
        INSERT INTO ingestion_corpuscount (workspace_id, id, passages, terms)
        VALUES (%(workspace)s, gen_random_uuid(), 3, -7)
    """,
    "counts: vectors": """
        DELETE FROM ingestion_corpuscount WHERE workspace_id = %(workspace)s AND vectors <> 0
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
    "facts: misplaced mention": """
        UPDATE ingestion_mention SET start = start + 2, "end" = "end" + 2
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_mention
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "facts: misplaced quote": """
        UPDATE ingestion_evidence SET "end" = "end" + 100000
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_evidence
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "facts: missing mention": """
        DELETE FROM ingestion_mention WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_mention
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "entities: in no document": """
        INSERT INTO ingestion_entity (workspace_id, id, key, sense, name, type, description,
               description_sources, mention_count, chunk_count, degree, rank, is_changed,
               created_at)
        VALUES (%(workspace)s, gen_random_uuid(), 'ghost', 0, 'Ghost', 'person', '', '[]', 0, 0, 0,
                0, false, now())
    """,
    "entities: mentions": """
        UPDATE ingestion_entity SET mention_count = 77
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "entities: degree": """
        UPDATE ingestion_entity SET degree = 77
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "entities: description": """
        UPDATE ingestion_entity
           SET description_sources = jsonb_build_array(
               jsonb_build_object('chunk', gen_random_uuid(), 'start', 0, 'end', 9))
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "entities: alias": """
        INSERT INTO ingestion_alias (workspace_id, id, entity_id, key, name)
        SELECT %(workspace)s, gen_random_uuid(), id, 'old joe', 'Old Joe' FROM ingestion_entity
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "entities: relationship in no document": """
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
    "entities: weight": """
        UPDATE ingestion_relationship SET weight = weight + 5
         WHERE workspace_id = %(workspace)s AND id = (
               SELECT id FROM ingestion_relationship
                WHERE workspace_id = %(workspace)s ORDER BY id LIMIT 1)
    """,
    "refresh": """
        WITH failed AS (UPDATE ingestion_ingestionjob SET state = 'failed'
                         WHERE workspace_id = %(workspace)s AND kind = 'workspace')
        UPDATE ingestion_entity SET is_changed = true
         WHERE workspace_id = %(workspace)s AND key = 'josiah gault'
    """,
    "topics: ungrouped": """
        DELETE FROM ingestion_communitymember WHERE workspace_id = %(workspace)s AND entity_id = (
               SELECT id FROM ingestion_entity
                WHERE workspace_id = %(workspace)s AND key = 'josiah gault')
    """,
    "topics: size": """
        UPDATE ingestion_community SET size = size + 1 WHERE workspace_id = %(workspace)s
    """,
    "topics: level": """
        UPDATE ingestion_community SET level = level + 3 WHERE workspace_id = %(workspace)s
    """,
    "topics: no report": """
        DELETE FROM ingestion_communityreport WHERE workspace_id = %(workspace)s
    """,
    "topics: no evidence": """
        DELETE FROM ingestion_findingevidence WHERE workspace_id = %(workspace)s
    """,
    "topics: missing reference": """
        UPDATE ingestion_finding SET "references" = jsonb_build_array(
               jsonb_build_object('kind', 'entity', 'id', gen_random_uuid()))
         WHERE workspace_id = %(workspace)s
    """,
    "summaries: nodes": """
        UPDATE ingestion_summarytree SET nodes = nodes + 1 WHERE workspace_id = %(workspace)s
    """,
    "summaries: outdated": """
        UPDATE ingestion_summarytree SET digest = 'other'
         WHERE workspace_id = %(workspace)s AND document_id IS NOT NULL
    """,
    "snapshot": """
        DELETE FROM ingestion_walksnapshot WHERE workspace_id = %(workspace)s
    """,
}
