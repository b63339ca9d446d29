"""Statements on who and what passages state something about."""

from __future__ import annotations

from typing import Final, LiteralString

# One passage for each entity that states something of it and a member of the topic.
QUOTES: Final[LiteralString] = """
WITH link (id, entity_id, other_id) AS (
    SELECT id, source_id, target_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND source_id = ANY (%(ids)s::uuid[])
    UNION ALL
    SELECT id, target_id, source_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND target_id = ANY (%(ids)s::uuid[])
), said (entity_id, other_id, chunk_id, start, "end", strength) AS (
    SELECT link.entity_id, link.other_id, evidence.chunk_id, evidence.start, evidence."end",
           evidence.strength
    FROM link
    JOIN ingestion_evidence AS evidence
      ON evidence.workspace_id = %(workspace)s AND evidence.relationship_id = link.id
     AND evidence.kind = 'stated'
    UNION ALL
    SELECT subject_id, coalesce(object_id, subject_id), chunk_id, start, "end", 0
    FROM ingestion_claim
    WHERE workspace_id = %(workspace)s AND subject_id = ANY (%(ids)s::uuid[])
    UNION ALL
    SELECT object_id, subject_id, chunk_id, start, "end", 0
    FROM ingestion_claim
    WHERE workspace_id = %(workspace)s AND object_id = ANY (%(ids)s::uuid[])
)
SELECT DISTINCT ON (said.entity_id) said.entity_id, said.chunk_id, said.start, said."end"
FROM said
JOIN ingestion_communitymember AS member
  ON member.workspace_id = %(workspace)s AND member.community_id = %(community)s
 AND member.entity_id = said.other_id
ORDER BY said.entity_id, said.strength DESC, abs(said."end" - said.start - %(length)s),
         said.chunk_id, said.start
"""

# Of these passages: who and what they state something about, with one quote for each.
STATED_IN: Final[LiteralString] = """
WITH stated AS (
    SELECT evidence.chunk_id, evidence.document_id, evidence.start, evidence."end",
           evidence.strength, link.source_id, link.target_id, link.id AS fact
    FROM ingestion_evidence AS evidence
    JOIN ingestion_relationship AS link
      ON link.workspace_id = %(workspace)s AND link.id = evidence.relationship_id
    WHERE evidence.workspace_id = %(workspace)s AND evidence.kind = 'stated'
      AND evidence.chunk_id = ANY (%(chunks)s::uuid[])
    UNION ALL
    SELECT chunk_id, document_id, start, "end", 0, subject_id, object_id, id
    FROM ingestion_claim
    WHERE workspace_id = %(workspace)s AND chunk_id = ANY (%(chunks)s::uuid[])
), said AS (
    SELECT stated.*, abs("end" - start - %(length)s) AS misfit, source_id AS entity_id FROM stated
    UNION ALL
    SELECT stated.*, abs("end" - start - %(length)s), target_id FROM stated
    WHERE target_id IS NOT NULL
)
SELECT entity_id, count(DISTINCT fact), count(DISTINCT chunk_id), count(DISTINCT document_id),
       (array_agg(chunk_id ORDER BY strength DESC, misfit, chunk_id, start))[1],
       (array_agg(start ORDER BY strength DESC, misfit, chunk_id, start))[1],
       (array_agg("end" ORDER BY strength DESC, misfit, chunk_id, start))[1]
FROM said GROUP BY entity_id HAVING count(DISTINCT chunk_id) >= %(least)s
"""
