"""Statements on what passages say about entities, and on watched topics."""

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


# --- watched topics -------------------------------------------------------------------------------
MEMBERS: Final[LiteralString] = """
SELECT community_id, entity_id FROM ingestion_communitymember
WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
"""

# The version that a mention is in, since a new one is not searched until it has been processed.
VERSIONS: Final[LiteralString] = """
SELECT DISTINCT member.community_id, chunk.version_id
FROM ingestion_communitymember AS member
JOIN ingestion_mention AS mention
  ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
JOIN ingestion_chunk AS chunk
  ON chunk.workspace_id = %(workspace)s AND chunk.id = mention.chunk_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(topics)s::uuid[])
"""

FACTS: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
)
SELECT source.community_id, link.id
FROM member AS source
JOIN ingestion_relationship AS link
  ON link.workspace_id = %(workspace)s AND link.source_id = source.entity_id
JOIN member AS target
  ON target.community_id = source.community_id AND target.entity_id = link.target_id
UNION ALL
SELECT member.community_id, claim.id
FROM member
JOIN ingestion_claim AS claim
  ON claim.workspace_id = %(workspace)s AND claim.subject_id = member.entity_id
"""

_ENTITIES: Final = "WITH entity (topic, id) AS ("
_VERSIONS: Final = "), version (topic, id) AS ("
_FACTS: Final = "), fact (topic, id) AS ("
_DIGESTS: Final[LiteralString] = """), part AS (
    SELECT topic, 'e' || count(*) || ' ' || bit_xor(hashtextextended(id::text, 0)) AS state
    FROM entity GROUP BY topic
    UNION ALL
    SELECT topic, 'v' || count(*) || ' ' || bit_xor(hashtextextended(id::text, 0))
    FROM version GROUP BY topic
    UNION ALL
    SELECT topic, 'f' || count(*) || ' ' || bit_xor(hashtextextended(id::text, 0))
    FROM fact GROUP BY topic
    UNION ALL
    SELECT community_id, 'r' || md5(title) || md5(summary) FROM ingestion_communityreport
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
)
SELECT topic, md5(string_agg(state, ' ' ORDER BY state)) FROM part GROUP BY topic
"""
# A digest of each topic's state: compared without reading the ids.
SIGNATURES: Final[LiteralString] = (
    _ENTITIES + MEMBERS + _VERSIONS + VERSIONS + _FACTS + FACTS + _DIGESTS
)

# An entity's name as it is in any edition of a workspace, where its id differs.
NAMES: Final[LiteralString] = """
SELECT md5(entity.key || chr(31) || entity.sense)
FROM ingestion_communitymember AS member
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = %(topic)s
ORDER BY entity.rank DESC, entity.id LIMIT %(most)s
"""

OF_NAMES: Final[LiteralString] = """
SELECT id FROM ingestion_entity
WHERE workspace_id = %(workspace)s AND md5(key || chr(31) || sense) = ANY (%(names)s)
"""

HOLDING: Final[LiteralString] = """
SELECT member.community_id, member.entity_id, community.size
FROM ingestion_communitymember AS member
JOIN ingestion_community AS community
  ON community.workspace_id = %(workspace)s AND community.id = member.community_id
WHERE member.workspace_id = %(workspace)s AND member.entity_id = ANY (%(entities)s::uuid[])
"""
