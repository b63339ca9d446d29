"""The SQL of checks of documents, passages and facts: each statement returns drift.

A row is the id of what differs and, where something else needs the repair, that id. Rows that a
refresh will process (``is_changed``) and documents being read are left out: work in progress is no
drift.
"""

from __future__ import annotations

from typing import Final, LiteralString

# --- work in progress -----------------------------------------------------------------------------
# The live version of each searched document without work in progress, with the stages that are
# done. Its newest job counts: an older one may belong to a version that was live before.
DONE: Final[LiteralString] = """
WITH latest AS MATERIALIZED (
    SELECT DISTINCT ON (version_id) id, version_id FROM ingestion_ingestionjob
     WHERE workspace_id = %(workspace)s AND kind = 'document'
     ORDER BY version_id, created_at DESC, id
)
SELECT v.id, array_agg(r.stage::text)
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
  JOIN latest AS j ON j.version_id = v.id
  JOIN ingestion_stagerun AS r
    ON r.workspace_id = %(workspace)s AND r.job_id = j.id AND r.state = 'done'
 WHERE d.workspace_id = %(workspace)s AND d.disabled_at IS NULL AND d.trashed_at IS NULL
   AND d.id <> ALL (ARRAY(
       SELECT document_id FROM ingestion_ingestionjob
        WHERE workspace_id = %(workspace)s AND kind = 'document'
          AND state IN ('pending', 'running') AND document_id IS NOT NULL))
 GROUP BY v.id
"""
UNFINISHED: Final[LiteralString] = """
SELECT id, kind, state, document_id FROM ingestion_ingestionjob
 WHERE workspace_id = %(workspace)s AND state IN ('pending', 'running', 'paused')
"""
# Stages that will run without a further request: those of documents that are not paused, and those
# of refreshes and re-embedding, paused or not.
STAGES_AHEAD: Final[LiteralString] = """
SELECT DISTINCT r.stage::text
  FROM ingestion_ingestionjob AS j
  JOIN ingestion_stagerun AS r ON r.workspace_id = %(workspace)s AND r.job_id = j.id
 WHERE j.workspace_id = %(workspace)s AND r.state IN ('pending', 'running')
   AND (j.state IN ('pending', 'running') OR j.state = 'paused' AND j.kind <> 'document')
"""
LAST_REFRESH: Final[LiteralString] = """
SELECT state FROM ingestion_ingestionjob
 WHERE workspace_id = %(workspace)s AND kind = 'workspace'
   AND state NOT IN ('pending', 'running', 'paused')
 ORDER BY created_at DESC LIMIT 1
"""
MARKS: Final[LiteralString] = """
SELECT id::text, NULL FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
UNION ALL
SELECT id::text, NULL FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed
UNION ALL
SELECT id::text, NULL FROM ingestion_graphtombstone WHERE workspace_id = %(workspace)s
UNION ALL
SELECT id::text, NULL FROM ingestion_community WHERE workspace_id = %(workspace)s AND is_changed
"""

# --- passages -------------------------------------------------------------------------------------
# Only passages of live versions of live documents should be searchable.
STRAY_CHUNKS: Final[LiteralString] = """
SELECT c.id::text, c.document_id
  FROM ingestion_chunk AS c
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = c.document_id
  JOIN ingestion_documentversion AS v ON v.workspace_id = %(workspace)s AND v.id = c.version_id
 WHERE c.workspace_id = %(workspace)s AND c.document_id <> ALL (%(busy)s::uuid[])
   AND (d.disabled_at IS NOT NULL OR d.trashed_at IS NOT NULL
        OR v.number <> d.live_number OR v.document_id <> c.document_id)
"""
SHELVED_TWICE: Final[LiteralString] = """
SELECT s.id::text, s.document_id
  FROM ingestion_shelvedchunk AS s
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = s.document_id
 WHERE s.workspace_id = %(workspace)s AND s.document_id <> ALL (%(busy)s::uuid[])
   AND d.disabled_at IS NULL AND d.trashed_at IS NULL
"""
UNCUT_VERSIONS: Final[LiteralString] = """
SELECT v.document_id::text, v.document_id
  FROM ingestion_documentversion AS v
 WHERE v.workspace_id = %(workspace)s AND v.id = ANY (%(chunk)s::uuid[])
   AND btrim(left(v.text, 4000), E' \\t\\r\\n') <> ''
   AND NOT EXISTS (SELECT FROM ingestion_chunk AS c
                    WHERE c.workspace_id = %(workspace)s AND c.version_id = v.id)
"""
# Each text is decompressed once, not once per passage: that is what the appended '' is for.
TEXT_DIFFERS: Final[LiteralString] = """
WITH texts AS MATERIALIZED (
    SELECT id, text || '' AS text FROM ingestion_documentversion
     WHERE workspace_id = %(workspace)s
)
SELECT c.id::text, c.document_id
  FROM ingestion_chunk AS c JOIN texts AS v ON v.id = c.version_id
 WHERE c.workspace_id = %(workspace)s
   AND c.text <> substr(v.text, c.start + 1, greatest(c."end" - c.start, 0))
"""
UNINDEXED_CHUNKS: Final[LiteralString] = """
SELECT c.id::text, c.document_id
  FROM ingestion_chunk AS c
  LEFT JOIN (SELECT chunk_id, sum(frequency) AS terms, max(frequency) AS most
               FROM ingestion_posting WHERE workspace_id = %(workspace)s
              GROUP BY chunk_id) AS p ON p.chunk_id = c.id
 WHERE c.workspace_id = %(workspace)s AND c.version_id = ANY (%(situate)s::uuid[])
   AND (c.terms IS NULL OR coalesce(p.terms, 0) <> c.terms AND coalesce(p.most, 0) < 32767)
"""
CHUNKS_WITHOUT_VECTOR: Final[LiteralString] = """
SELECT c.id::text, c.document_id
  FROM ingestion_chunk AS c
 WHERE c.workspace_id = %(workspace)s AND c.version_id = ANY (%(embed)s::uuid[])
   AND NOT EXISTS (SELECT FROM ingestion_chunkembedding AS v
                    WHERE v.workspace_id = %(workspace)s AND v.chunk_id = c.id
                      AND v.fingerprint = %(fingerprint)s)
"""
UNREAD_CHUNKS: Final[LiteralString] = """
SELECT c.id::text, c.document_id
  FROM ingestion_chunk AS c
 WHERE c.workspace_id = %(workspace)s AND c.version_id = ANY (%(extract)s::uuid[])
   AND NOT EXISTS (SELECT FROM ingestion_chunkextraction AS x
                    WHERE x.workspace_id = %(workspace)s AND x.chunk_id = c.id)
"""

# --- facts ----------------------------------------------------------------------------------------
# Whitespace between the words of a name is stored as one space.
MISPLACED_MENTIONS: Final[LiteralString] = """
WITH texts AS MATERIALIZED (
    SELECT id, document_id, start, "end", text || '' AS text FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s
), placed AS (
    SELECT m.id, m.document_id, c.document_id AS home, m.surface,
           m.start >= c.start AND m."end" <= c."end" AND m.start < m."end" AS is_inside,
           left(substr(c.text, greatest(m.start - c.start, 0) + 1,
                       greatest(m."end" - m.start, 0)), 300) AS said
      FROM ingestion_mention AS m JOIN texts AS c ON c.id = m.chunk_id
     WHERE m.workspace_id = %(workspace)s
)
SELECT id::text, home FROM placed
 WHERE NOT is_inside OR document_id <> home
    OR (said <> surface
        AND NOT starts_with(regexp_replace(surface, '\\W+', '', 'g'),
                            regexp_replace(said, '\\W+', '', 'g')))
"""
MISPLACED_FACTS: Final[LiteralString] = """
WITH placed AS (
    SELECT id, chunk_id, document_id, start, "end" FROM ingestion_evidence
     WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT id, chunk_id, document_id, start, "end" FROM ingestion_fragment
     WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT id, chunk_id, document_id, start, "end" FROM ingestion_claim
     WHERE workspace_id = %(workspace)s
)
SELECT p.id::text, c.document_id
  FROM placed AS p JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = p.chunk_id
 WHERE p.document_id <> c.document_id OR p.start < c.start OR p."end" > c."end"
    OR p.start >= p."end"
"""
UNSUPPORTED_ENTITIES: Final[LiteralString] = """
SELECT e.id::text, e.id FROM ingestion_entity AS e
 WHERE e.workspace_id = %(workspace)s AND NOT e.is_changed AND NOT e.is_made
   AND NOT EXISTS (SELECT FROM ingestion_mention AS m
                    WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id)
"""
MISCOUNTED_ENTITIES: Final[LiteralString] = """
SELECT e.id::text, e.id
  FROM ingestion_entity AS e
  LEFT JOIN (SELECT entity_id, count(*) AS mentions, count(DISTINCT chunk_id) AS chunks
               FROM ingestion_mention WHERE workspace_id = %(workspace)s
              GROUP BY entity_id) AS m ON m.entity_id = e.id
 WHERE e.workspace_id = %(workspace)s AND NOT e.is_changed
   AND (m.entity_id IS NOT NULL OR e.is_made)
   AND (e.mention_count, e.chunk_count) <> (coalesce(m.mentions, 0), coalesce(m.chunks, 0))
"""
# An entity with a relationship that waits for the refresh will be recounted with it.
MISLINKED_ENTITIES: Final[LiteralString] = """
WITH link AS MATERIALIZED (
    SELECT source_id, target_id, is_changed FROM ingestion_relationship
     WHERE workspace_id = %(workspace)s
), ends (entity_id, other_id, is_changed) AS MATERIALIZED (
    SELECT source_id, target_id, is_changed FROM link
    UNION ALL SELECT target_id, source_id, is_changed FROM link
), neighbours AS (
    SELECT entity_id, count(DISTINCT other_id) AS degree, bool_or(is_changed) AS is_changed
      FROM ends GROUP BY entity_id
)
SELECT e.id::text, e.id
  FROM ingestion_entity AS e LEFT JOIN neighbours AS n ON n.entity_id = e.id
 WHERE e.workspace_id = %(workspace)s AND NOT e.is_changed AND NOT coalesce(n.is_changed, false)
   AND (e.degree <> coalesce(n.degree, 0)
        OR abs(e.rank - (ln(1 + e.chunk_count) + ln(1 + coalesce(n.degree, 0)))) > 1e-6)
"""
UNQUOTABLE_ENTITIES: Final[LiteralString] = """
SELECT DISTINCT e.id::text, e.id
  FROM ingestion_entity AS e
 CROSS JOIN LATERAL jsonb_array_elements(e.description_sources) AS s
 WHERE e.workspace_id = %(workspace)s AND NOT e.is_changed
   AND NOT EXISTS (SELECT FROM ingestion_chunk AS c
                    WHERE c.workspace_id = %(workspace)s AND c.id = (s ->> 'chunk')::uuid)
"""
UNSUPPORTED_ALIASES: Final[LiteralString] = """
SELECT a.id::text, a.id
  FROM ingestion_alias AS a
  JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = a.entity_id
 WHERE a.workspace_id = %(workspace)s AND NOT e.is_changed
   AND NOT (e.is_made AND a.key = e.key)
   AND NOT EXISTS (SELECT FROM ingestion_mention AS m
                    WHERE m.workspace_id = %(workspace)s AND m.entity_id = a.entity_id
                      AND m.surface = a.name)
   AND NOT EXISTS (SELECT FROM ingestion_mention AS m
                    WHERE m.workspace_id = %(workspace)s AND m.entity_id = a.entity_id
                      AND m.label = a.name)
   AND NOT EXISTS (SELECT FROM ingestion_entityruling AS r
                    WHERE r.workspace_id = %(workspace)s AND r.undone_at IS NULL
                      AND r.field IN ('name', 'alias') AND r.value = a.name)
"""
UNSUPPORTED_RELATIONSHIPS: Final[LiteralString] = """
SELECT r.id::text, r.id FROM ingestion_relationship AS r
 WHERE r.workspace_id = %(workspace)s AND NOT r.is_changed AND NOT r.is_made
   AND NOT EXISTS (SELECT FROM ingestion_evidence AS v
                    WHERE v.workspace_id = %(workspace)s AND v.relationship_id = r.id)
"""
# The weight of a relationship without evidence is set by the person who made it.
MISCOUNTED_RELATIONSHIPS: Final[LiteralString] = """
SELECT r.id::text, r.id
  FROM ingestion_relationship AS r
  LEFT JOIN (SELECT relationship_id, count(*) AS number, sum(strength ORDER BY strength) AS weight
               FROM ingestion_evidence WHERE workspace_id = %(workspace)s
              GROUP BY relationship_id) AS v ON v.relationship_id = r.id
 WHERE r.workspace_id = %(workspace)s AND NOT r.is_changed
   AND (v.relationship_id IS NOT NULL OR r.is_made)
   AND (r.evidence_count <> coalesce(v.number, 0)
        OR NOT r.is_made AND abs(r.weight - v.weight) > 1e-6)
"""

# --- people's decisions ---------------------------------------------------------------------------
RULINGS_OF_UNDONE: Final[LiteralString] = """
SELECT said.id::text, said.event_id
  FROM (SELECT id, event_id FROM ingestion_mentionplacement
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL
        UNION ALL
        SELECT id, event_id FROM ingestion_entityruling
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL
        UNION ALL
        SELECT id, event_id FROM ingestion_relationshipruling
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL
        UNION ALL
        SELECT id, event_id FROM ingestion_resolutiondecision
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL AND event_id IS NOT NULL) AS said
  JOIN ingestion_historyevent AS h ON h.workspace_id = %(workspace)s AND h.id = said.event_id
 WHERE h.undone_at IS NOT NULL
"""

# --- repairs --------------------------------------------------------------------------------------
MARK_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT id FROM ingestion_entity
        WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
        ORDER BY id FOR NO KEY UPDATE))
"""
MARK_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT id FROM ingestion_relationship
        WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
        ORDER BY id FOR NO KEY UPDATE))
"""
MARK_COMMUNITIES: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""
REMOVE_ALIASES: Final[LiteralString] = """
DELETE FROM ingestion_alias WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""
FORGET_WORDS: Final[LiteralString] = """
DELETE FROM ingestion_posting
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])))
"""
FORGET_LENGTHS: Final[LiteralString] = """
UPDATE ingestion_chunk SET terms = NULL
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
"""
# The newest job of each document's live version, unless the document is being read or archived.
JOBS_OF: Final[LiteralString] = """
SELECT DISTINCT ON (d.id) d.id, j.id
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
  JOIN ingestion_ingestionjob AS j
    ON j.workspace_id = %(workspace)s AND j.version_id = v.id AND j.kind = 'document'
 WHERE d.workspace_id = %(workspace)s AND d.id = ANY (%(documents)s::uuid[])
   AND d.disabled_at IS NULL AND d.trashed_at IS NULL
   AND NOT EXISTS (SELECT FROM ingestion_ingestionjob AS other
                    WHERE other.workspace_id = %(workspace)s AND other.document_id = d.id
                      AND other.kind = 'document' AND other.state IN ('pending', 'running'))
 ORDER BY d.id, j.created_at DESC
"""
