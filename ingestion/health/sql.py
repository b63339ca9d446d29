"""The SQL of health: the work in progress, and for each check statements that return drift.

A row is the id of what differs and the id to repair. Rows that a refresh will process
(``is_changed``) and documents being read are left out: work in progress is no drift. Whether a
coming refresh will repair topics and summaries is the caller's question.
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
CHANGES: Final[LiteralString] = """
SELECT id::text FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
UNION ALL
SELECT id::text FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed
UNION ALL
SELECT id::text FROM ingestion_graphtombstone WHERE workspace_id = %(workspace)s
UNION ALL
SELECT id::text FROM ingestion_community WHERE workspace_id = %(workspace)s AND is_changed
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
LEFT_IN_ARCHIVE: Final[LiteralString] = """
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
SELECT DISTINCT c.document_id::text, c.document_id
  FROM ingestion_chunk AS c JOIN texts AS v ON v.id = c.version_id
 WHERE c.workspace_id = %(workspace)s
   AND c.text <> substr(v.text, c.start + 1, greatest(c."end" - c.start, 0))
"""
UNINDEXED_CHUNKS: Final[LiteralString] = """
SELECT c.id::text, c.document_id
  FROM ingestion_chunk AS c
  LEFT JOIN (SELECT chunk_id, sum(frequency) AS terms, max(frequency) AS most,
                    min(length) AS least_length, max(length) AS length
               FROM ingestion_posting WHERE workspace_id = %(workspace)s
              GROUP BY chunk_id) AS p ON p.chunk_id = c.id
 WHERE c.workspace_id = %(workspace)s AND c.version_id = ANY (%(situate)s::uuid[])
   AND (c.terms IS NULL OR coalesce(p.terms, 0) <> c.terms AND coalesce(p.most, 0) < 32767
        OR (p.least_length, p.length) <> (c.terms, c.terms))
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
    SELECT m.document_id, c.document_id AS home, m.surface,
           m.start >= c.start AND m."end" <= c."end" AND m.start < m."end" AS is_inside,
           left(substr(c.text, greatest(m.start - c.start, 0) + 1,
                       greatest(m."end" - m.start, 0)), 300) AS quote
      FROM ingestion_mention AS m JOIN texts AS c ON c.id = m.chunk_id
     WHERE m.workspace_id = %(workspace)s
)
SELECT DISTINCT home::text, home FROM placed
 WHERE NOT is_inside OR document_id <> home
    OR (quote <> surface
        AND NOT starts_with(regexp_replace(surface, '\\W+', '', 'g'),
                            regexp_replace(quote, '\\W+', '', 'g')))
"""
MISPLACED_FACTS: Final[LiteralString] = """
WITH placed AS (
    SELECT chunk_id, document_id, start, "end" FROM ingestion_evidence
     WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT chunk_id, document_id, start, "end" FROM ingestion_fragment
     WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT chunk_id, document_id, start, "end" FROM ingestion_claim
     WHERE workspace_id = %(workspace)s
)
SELECT DISTINCT c.document_id::text, c.document_id
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
SELECT a.entity_id::text, a.id
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
UNDONE_IN_FORCE: Final[LiteralString] = """
SELECT ruling.id::text, ruling.event_id
  FROM (SELECT id, event_id FROM ingestion_mentionplacement
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL
        UNION ALL
        SELECT id, event_id FROM ingestion_entityruling
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL
        UNION ALL
        SELECT id, event_id FROM ingestion_relationshipruling
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL
        UNION ALL
        SELECT id, event_id FROM ingestion_claimruling
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL
        UNION ALL
        SELECT id, event_id FROM ingestion_resolutiondecision
         WHERE workspace_id = %(workspace)s AND undone_at IS NULL AND event_id IS NOT NULL
       ) AS ruling
  JOIN ingestion_historyevent AS h ON h.workspace_id = %(workspace)s AND h.id = ruling.event_id
 WHERE h.undone_at IS NOT NULL
"""

# --- topics and summaries -------------------------------------------------------------------------
# Every entity must be in exactly one community of the root level.
UNGROUPED_ENTITIES: Final[LiteralString] = """
SELECT e.id::text, NULL
  FROM ingestion_entity AS e
  LEFT JOIN (SELECT m.entity_id, count(*) AS number
               FROM ingestion_communitymember AS m
               JOIN ingestion_community AS c
                 ON c.workspace_id = %(workspace)s AND c.id = m.community_id AND c.level = 0
              WHERE m.workspace_id = %(workspace)s
              GROUP BY m.entity_id) AS roots ON roots.entity_id = e.id
 WHERE e.workspace_id = %(workspace)s AND coalesce(roots.number, 0) <> 1
"""
MISCOUNTED_COMMUNITIES: Final[LiteralString] = """
SELECT c.id::text, NULL
  FROM ingestion_community AS c
  LEFT JOIN (SELECT community_id, count(*) AS number FROM ingestion_communitymember
              WHERE workspace_id = %(workspace)s GROUP BY community_id) AS m
    ON m.community_id = c.id
 WHERE c.workspace_id = %(workspace)s
   AND (coalesce(m.number, 0) = 0 OR m.number <> c.size)
"""
# A community must be one level below its parent, which contains all of its members.
MISNESTED_COMMUNITIES: Final[LiteralString] = """
SELECT c.id::text, NULL
  FROM ingestion_community AS c
  LEFT JOIN ingestion_community AS p ON p.workspace_id = %(workspace)s AND p.id = c.parent_id
 WHERE c.workspace_id = %(workspace)s
   AND (c.level > 0 AND p.id IS NULL OR c.level = 0 AND c.parent_id IS NOT NULL
        OR p.level <> c.level - 1)
UNION
SELECT c.id::text, NULL
  FROM ingestion_community AS c
  JOIN ingestion_communitymember AS m ON m.workspace_id = %(workspace)s AND m.community_id = c.id
 WHERE c.workspace_id = %(workspace)s AND c.parent_id IS NOT NULL
   AND NOT EXISTS (SELECT FROM ingestion_communitymember AS above
                    WHERE above.workspace_id = %(workspace)s
                      AND above.community_id = c.parent_id AND above.entity_id = m.entity_id)
"""
UNREPORTED_COMMUNITIES: Final[LiteralString] = """
SELECT c.id::text, c.id FROM ingestion_community AS c
 WHERE c.workspace_id = %(workspace)s AND NOT c.is_changed
   AND NOT EXISTS (SELECT FROM ingestion_communityreport AS r
                    WHERE r.workspace_id = %(workspace)s AND r.community_id = c.id)
"""
# Every sentence of an extractive report must have evidence, and every span must be inside its
# passage.
UNSUPPORTED_FINDINGS: Final[LiteralString] = """
SELECT r.community_id::text, r.community_id
  FROM ingestion_finding AS f
  JOIN ingestion_communityreport AS r ON r.workspace_id = %(workspace)s AND r.id = f.report_id
  JOIN ingestion_community AS c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
 WHERE f.workspace_id = %(workspace)s AND NOT c.is_changed AND r.written_by = 'extractive'
   AND NOT EXISTS (SELECT FROM ingestion_findingevidence AS v
                    WHERE v.workspace_id = %(workspace)s AND v.finding_id = f.id)
UNION ALL
SELECT r.community_id::text, r.community_id
  FROM ingestion_findingevidence AS v
  JOIN ingestion_chunk AS k ON k.workspace_id = %(workspace)s AND k.id = v.chunk_id
  JOIN ingestion_finding AS f ON f.workspace_id = %(workspace)s AND f.id = v.finding_id
  JOIN ingestion_communityreport AS r ON r.workspace_id = %(workspace)s AND r.id = f.report_id
  JOIN ingestion_community AS c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
 WHERE v.workspace_id = %(workspace)s AND NOT c.is_changed
   AND (v.report_id <> f.report_id OR v.document_id <> k.document_id OR v.start < k.start
        OR v."end" > k."end" OR v.start >= v."end")
"""
MISSING_REFERENCES: Final[LiteralString] = """
WITH cited AS (
    SELECT r.community_id, t.kind, t.target
      FROM ingestion_finding AS f
      JOIN ingestion_communityreport AS r ON r.workspace_id = %(workspace)s AND r.id = f.report_id
      JOIN ingestion_community AS c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
     CROSS JOIN LATERAL (SELECT x ->> 'kind' AS kind, (x ->> 'id')::uuid AS target
                           FROM jsonb_array_elements(f."references") AS x) AS t
     WHERE f.workspace_id = %(workspace)s AND NOT c.is_changed
), there (kind, id) AS (
    SELECT 'entity', id FROM ingestion_entity WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'relationship', id FROM ingestion_relationship WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'claim', id FROM ingestion_claim WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'report', id FROM ingestion_communityreport WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT 'report', id FROM ingestion_community WHERE workspace_id = %(workspace)s
)
SELECT DISTINCT cited.community_id::text, cited.community_id FROM cited
 WHERE NOT EXISTS (SELECT FROM there WHERE there.kind = cited.kind AND there.id = cited.target)
"""
# Trees of documents with fewer than two passages, nodes without children, wrong numbers of nodes.
BROKEN_TREES: Final[LiteralString] = """
SELECT t.id::text, NULL
  FROM ingestion_summarytree AS t
  LEFT JOIN (SELECT document_id, count(*) AS number FROM ingestion_summarynode
              WHERE workspace_id = %(workspace)s GROUP BY document_id) AS n
    ON n.document_id IS NOT DISTINCT FROM t.document_id
 WHERE t.workspace_id = %(workspace)s AND coalesce(n.number, 0) <> t.nodes
UNION ALL
SELECT t.id::text, NULL
  FROM ingestion_summarytree AS t
  LEFT JOIN (SELECT document_id, count(*) AS number FROM ingestion_chunk
              WHERE workspace_id = %(workspace)s GROUP BY document_id) AS c
    ON c.document_id = t.document_id
 WHERE t.workspace_id = %(workspace)s AND t.document_id IS NOT NULL AND coalesce(c.number, 0) < 2
UNION ALL
SELECT n.id::text, NULL FROM ingestion_summarynode AS n
 WHERE n.workspace_id = %(workspace)s
   AND NOT EXISTS (SELECT FROM ingestion_summaryedge AS e
                    WHERE e.workspace_id = %(workspace)s AND e.parent_id = n.id)
"""

# --- repairs --------------------------------------------------------------------------------------
FORGET_WORDS: Final[LiteralString] = """
DELETE FROM ingestion_posting
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])))
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
