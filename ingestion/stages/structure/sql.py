"""Statements that read from the graph what stands out, what joins topics, and what stands alone.

Each looks at every row a fixed number of times, so its cost grows with the graph and no faster.
Where few facts or entities are left, an array of their ids finds each by its key, instead of a join
with all. ``named`` may be hundreds of thousands: it is joined, since planning looks at each of an
array, but where the array spares reading an index as a whole.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Independent of the order of rows. Whatever decides a result below is part of it. Sums of bigint
# cannot overflow, and take half as long as those of numeric.
DIGEST: Final[LiteralString] = """
SELECT md5(concat_ws(' ',
    (SELECT concat(count(*), ':', sum(hash_record_extended(
         ROW (id, key, sense, type, written_by, is_made, is_confirmed), 0)))
     FROM ingestion_entity WHERE workspace_id = %(workspace)s),
    (SELECT concat(count(*), ':', sum(hash_record_extended(
         ROW (id, source_id, target_id, weight), 0)))
     FROM ingestion_relationship WHERE workspace_id = %(workspace)s),
    (SELECT concat(count(*), ':', sum(hash_record_extended(
         ROW (relationship_id, document_id, chunk_id, kind), 0)))
     FROM ingestion_evidence WHERE workspace_id = %(workspace)s),
    (SELECT concat(count(*), ':', sum(hash_record_extended(
         ROW (subject_id, object_id, document_id, chunk_id), 0)))
     FROM ingestion_claim WHERE workspace_id = %(workspace)s),
    (SELECT concat(count(*), ':', sum(
         uuid_hash_extended(entity_id, uuid_hash_extended(document_id, 0))))
     FROM ingestion_mention WHERE workspace_id = %(workspace)s),
    (SELECT concat(count(*), ':', sum(
         uuid_hash_extended(entity_id, uuid_hash_extended(community_id, 0))))
     FROM ingestion_communitymember WHERE workspace_id = %(workspace)s),
    (SELECT concat(count(*), ':', sum(hash_record_extended(ROW (document_id), 0)))
     FROM (SELECT DISTINCT document_id FROM ingestion_chunk
           WHERE workspace_id = %(workspace)s) AS searched)))
"""

# The members of some topics, and these with all that a fact or claim links to one of them.
MEMBERS: Final[LiteralString] = """
SELECT DISTINCT entity_id FROM ingestion_communitymember
 WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
"""

NEAR: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT DISTINCT entity_id FROM ingestion_communitymember
     WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
)
SELECT entity_id FROM member
 UNION
SELECT target_id FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND source_id = ANY (ARRAY(SELECT entity_id FROM member))
 UNION
SELECT source_id FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND target_id = ANY (ARRAY(SELECT entity_id FROM member))
 UNION
SELECT unnest(ARRAY[subject_id, object_id]) FROM ingestion_claim
 WHERE workspace_id = %(workspace)s
   AND ARRAY[subject_id, object_id] && ARRAY(SELECT entity_id FROM member)
"""

# Entities whose facts are in two passages: one passage, often a list of names, makes nothing
# central, and most names are in one.
TOLD: Final[LiteralString] = """
WITH link (fact, entity_id) AS MATERIALIZED (
    SELECT id, source_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND source_id = ANY (%(inside)s::uuid[])
    UNION ALL
    SELECT id, target_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND target_id = ANY (%(inside)s::uuid[])
)
SELECT entity_id
FROM (SELECT DISTINCT link.entity_id, evidence.chunk_id
      FROM link
      JOIN ingestion_evidence AS evidence
        ON evidence.workspace_id = %(workspace)s AND evidence.relationship_id = link.fact
       AND (%(topics)s::uuid[] IS NULL
            OR evidence.relationship_id = ANY (ARRAY(SELECT fact FROM link)))) AS pair
GROUP BY entity_id HAVING count(*) >= %(least)s
"""

# The facts that link an entity that ``TOLD`` found with others of its topic. What more weight binds
# comes first.
CENTRAL: Final[LiteralString] = """
WITH link (fact, entity_id, other_id, weight) AS (
    SELECT id, source_id, target_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT id, target_id, source_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
), member AS (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id <> %(rest)s
      AND (%(topics)s::uuid[] IS NULL OR community_id = ANY (%(topics)s::uuid[]))
), inside AS (
    SELECT mine.community_id, link.entity_id, link.fact, link.weight
    FROM link
    JOIN member AS mine ON mine.entity_id = link.entity_id
    JOIN member AS theirs
      ON theirs.entity_id = link.other_id AND theirs.community_id = mine.community_id
    WHERE link.entity_id = ANY (%(told)s::uuid[])
), bound AS (
    SELECT community_id, entity_id, count(*) AS facts,
           round(sum(weight::numeric), 4) AS strength
    FROM inside GROUP BY community_id, entity_id HAVING count(*) >= %(least)s
), spoken AS (
    SELECT inside.community_id, inside.entity_id,
           count(DISTINCT evidence.chunk_id) AS passages,
           count(DISTINCT evidence.document_id) AS documents
    FROM inside
    JOIN ingestion_evidence AS evidence
      ON evidence.workspace_id = %(workspace)s AND evidence.relationship_id = inside.fact
     AND evidence.relationship_id = ANY (ARRAY(SELECT fact FROM inside))
    GROUP BY inside.community_id, inside.entity_id
    HAVING count(DISTINCT evidence.chunk_id) >= %(least)s
), placed AS (
    SELECT community_id, entity_id, facts, passages, documents, row_number() OVER (
        PARTITION BY community_id ORDER BY strength DESC, facts DESC, key, sense) AS place
    FROM bound
    JOIN spoken USING (community_id, entity_id)
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = entity_id
     AND entity.id = ANY (ARRAY(SELECT entity_id FROM bound))
)
SELECT community_id, entity_id, place, facts, passages, documents
FROM placed WHERE place <= %(most)s
"""

# What sentences and claims state of an entity and a member of the topic. The entity may belong to
# another topic. People and everything else are ranked apart.
DOCUMENTED: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id <> %(rest)s
      AND (%(topics)s::uuid[] IS NULL OR community_id = ANY (%(topics)s::uuid[]))
), link AS MATERIALIZED (
    SELECT id, source_id, target_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND %(topics)s::uuid[] IS NULL
    UNION ALL (
    SELECT id, source_id, target_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND %(topics)s::uuid[] IS NOT NULL
      AND source_id = ANY (ARRAY(SELECT entity_id FROM member))
    UNION
    SELECT id, source_id, target_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND %(topics)s::uuid[] IS NOT NULL
      AND target_id = ANY (ARRAY(SELECT entity_id FROM member)))
), told AS MATERIALIZED (
    SELECT link.source_id, link.target_id, link.id, evidence.document_id, evidence.chunk_id
    FROM ingestion_evidence AS evidence
    JOIN link ON link.id = evidence.relationship_id
    WHERE evidence.workspace_id = %(workspace)s AND evidence.kind = 'stated'
      AND (%(topics)s::uuid[] IS NULL
           OR evidence.relationship_id = ANY (ARRAY(SELECT id FROM link)))
), said (entity_id, other_id, fact, document_id, chunk_id) AS (
    SELECT source_id, target_id, id, document_id, chunk_id FROM told
    UNION ALL
    SELECT target_id, source_id, id, document_id, chunk_id FROM told
    UNION ALL
    SELECT subject_id, coalesce(object_id, subject_id), id, document_id, chunk_id
    FROM ingestion_claim WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT object_id, subject_id, id, document_id, chunk_id
    FROM ingestion_claim WHERE workspace_id = %(workspace)s
), figures AS (
    SELECT member.community_id, said.entity_id, count(DISTINCT fact) AS facts,
           count(DISTINCT chunk_id) AS passages, count(DISTINCT document_id) AS documents
    FROM said
    JOIN member ON member.entity_id = said.other_id
    JOIN unnest(%(named)s::uuid[]) AS named (id) ON named.id = said.entity_id
    GROUP BY member.community_id, said.entity_id
), placed AS (
    SELECT figures.*, row_number() OVER (
        PARTITION BY community_id, lower(entity.type) = 'person'
        ORDER BY documents DESC, passages DESC, facts DESC, key, sense) AS place
    FROM figures
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = figures.entity_id
     AND entity.id = ANY (ARRAY(SELECT entity_id FROM figures WHERE passages >= %(least)s))
    WHERE passages >= %(least)s
)
SELECT community_id, entity_id, place, facts, passages, documents
FROM placed WHERE place <= %(most)s
"""

# Facts between two topics of the first level, and the entities that several of them go through.
# What a single document names joins topics within that document only. Only topics that changed are
# looked at, but with every other.
BRIDGES: Final[LiteralString] = """
WITH home AS MATERIALIZED (
    SELECT entity_id, community_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (ARRAY(
          SELECT id FROM ingestion_community
          WHERE workspace_id = %(workspace)s AND level = 0 AND id <> %(rest)s))
), changed AS MATERIALIZED (
    SELECT entity_id FROM home WHERE community_id = ANY (%(topics)s::uuid[])
), across AS MATERIALIZED (
    SELECT link.source_id, link.target_id, mine.community_id AS source_home,
           theirs.community_id AS target_home
    FROM ingestion_relationship AS link
    JOIN home AS mine ON mine.entity_id = link.source_id
    JOIN home AS theirs ON theirs.entity_id = link.target_id
    WHERE link.workspace_id = %(workspace)s AND mine.community_id <> theirs.community_id
      AND (%(topics)s::uuid[] IS NULL
           OR link.source_id = ANY (ARRAY(SELECT entity_id FROM changed))
           OR link.target_id = ANY (ARRAY(SELECT entity_id FROM changed)))
), crossing AS (
    SELECT entity_id, community_id, other_id, count(*) AS facts
    FROM (SELECT source_id, source_home, target_home FROM across
          UNION ALL
          SELECT target_id, target_home, source_home FROM across
         ) AS either (entity_id, community_id, other_id)
    GROUP BY entity_id, community_id, other_id
), shared AS (
    SELECT crossing.*, sum(facts) OVER (PARTITION BY community_id, other_id) AS of_facts
    FROM crossing
), strong AS MATERIALIZED (
    SELECT shared.*
    FROM shared
    JOIN unnest(%(named)s::uuid[]) AS named (id) ON named.id = shared.entity_id
    WHERE facts >= %(least)s AND facts >= %(share)s * of_facts
), spread AS (
    SELECT entity_id FROM ingestion_mention
    WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(SELECT entity_id FROM strong))
    GROUP BY entity_id HAVING count(DISTINCT document_id) > 1
), placed AS (
    SELECT strong.*, row_number() OVER (
        PARTITION BY least(community_id, other_id), greatest(community_id, other_id)
        ORDER BY facts DESC, key, sense) AS place
    FROM strong
    JOIN spread USING (entity_id)
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = strong.entity_id
     AND entity.id = ANY (ARRAY(SELECT entity_id FROM strong))
)
SELECT entity_id, community_id, other_id, facts, of_facts::int
FROM placed WHERE place <= %(most)s
"""

# Among documents that are searched. A document alone has no others to share names with.
ALONE: Final[LiteralString] = """
WITH named AS (
    SELECT DISTINCT document_id, entity_id FROM ingestion_mention
    WHERE workspace_id = %(workspace)s
), shared AS (
    SELECT entity_id FROM named GROUP BY entity_id HAVING count(*) > 1
), linked AS (
    SELECT DISTINCT document_id FROM named JOIN shared USING (entity_id)
), searched AS (
    SELECT DISTINCT document_id FROM ingestion_chunk WHERE workspace_id = %(workspace)s
)
SELECT searched.document_id, count(named.entity_id)
FROM searched
LEFT JOIN named USING (document_id)
WHERE searched.document_id NOT IN (SELECT document_id FROM linked)
  AND (SELECT count(*) FROM searched) >= %(least)s
GROUP BY searched.document_id
"""

CLEAR: Final[tuple[LiteralString, ...]] = (
    """
    DELETE FROM ingestion_topicstanding WHERE workspace_id = %(workspace)s
       AND (%(topics)s::uuid[] IS NULL OR community_id = ANY (%(topics)s::uuid[]))
    """,
    """
    DELETE FROM ingestion_topicbridge WHERE workspace_id = %(workspace)s
       AND (%(topics)s::uuid[] IS NULL OR community_id = ANY (%(topics)s::uuid[])
            OR other_id = ANY (%(topics)s::uuid[]))
    """,
    "DELETE FROM ingestion_lonedocument WHERE workspace_id = %(workspace)s",
)

# What was deleted since it was read is left out; the rest cannot be deleted until this transaction
# ends.
SAVE_STANDINGS: Final[LiteralString] = """
INSERT INTO ingestion_topicstanding
    (workspace_id, kind, community_id, entity_id, place, facts, passages, documents)
SELECT %(workspace)s, new.kind, new.community_id, new.entity_id, new.place, new.facts,
       new.passages, new.documents
FROM new_standings AS new
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = new.entity_id
JOIN ingestion_community AS community
  ON community.workspace_id = %(workspace)s AND community.id = new.community_id
ORDER BY new.entity_id
FOR KEY SHARE OF entity, community
"""

SAVE_BRIDGES: Final[LiteralString] = """
INSERT INTO ingestion_topicbridge
    (workspace_id, entity_id, community_id, other_id, facts, of_facts)
SELECT %(workspace)s, new.entity_id, new.community_id, new.other_id, new.facts, new.of_facts
FROM new_bridges AS new
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = new.entity_id
JOIN ingestion_community AS mine
  ON mine.workspace_id = %(workspace)s AND mine.id = new.community_id
JOIN ingestion_community AS theirs
  ON theirs.workspace_id = %(workspace)s AND theirs.id = new.other_id
ORDER BY new.entity_id
FOR KEY SHARE OF entity, mine, theirs
"""

SAVE_ALONE: Final[LiteralString] = """
INSERT INTO ingestion_lonedocument (workspace_id, document_id, names)
SELECT %(workspace)s, new.document_id, new.names
FROM new_alone AS new
JOIN ingestion_document AS document
  ON document.workspace_id = %(workspace)s AND document.id = new.document_id
ORDER BY new.document_id
FOR KEY SHARE OF document
"""
