"""Statements of the communities stage: the graph as numbers, and what has to be written."""

from __future__ import annotations

from typing import Final, LiteralString

# Entities are numbered by name, so that equal documents have equal topics in any workspace. All ids
# come packed: a million rows would be five million objects, and a join with the numbers takes
# longer than to look them up here.
ENTITIES: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(id), ''::bytea), '')
FROM (SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s
      ORDER BY key, sense) AS named
"""
LINKS: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(source_id), ''::bytea), ''),
       coalesce(string_agg(uuid_send(target_id), ''::bytea), ''),
       coalesce(string_agg(float8send(weight), ''::bytea), '')
FROM ingestion_relationship WHERE workspace_id = %(workspace)s
"""

# The first and the last sentence of all relationships, or of those of some entities. Overlapping
# chunks repeat a sentence; its offset in the document identifies it. Which is the first and the
# last depends on when documents were added, not on their ids: one that is added again has another.
_LINKED: Final[LiteralString] = """
WITH document AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY created_at, id) * %(places)s AS place
      FROM ingestion_document WHERE workspace_id = %(workspace)s
), link AS MATERIALIZED (
    SELECT id, source_id, target_id FROM ingestion_relationship WHERE workspace_id = %(workspace)s
"""
_TOLD: Final[LiteralString] = """
)
SELECT coalesce(string_agg(uuid_send(source_id), ''::bytea), ''),
       coalesce(string_agg(uuid_send(target_id), ''::bytea), ''),
       coalesce(string_agg(int8send(first) || int8send(last), ''::bytea), '')
FROM (SELECT source_id, target_id, min(document.place + evidence.start) AS first,
             max(document.place + evidence.start) AS last
        FROM link
        JOIN ingestion_evidence AS evidence
          ON evidence.workspace_id = %(workspace)s AND evidence.relationship_id = link.id
"""
_GROUPED: Final[LiteralString] = """
        JOIN document ON document.id = evidence.document_id
       GROUP BY source_id, target_id) AS told
"""
_OF_SOME: Final[LiteralString] = """
       AND source_id = ANY (%(entities)s::uuid[])
"""
_ABOUT_THESE: Final[LiteralString] = """
         AND evidence.relationship_id = ANY (ARRAY(SELECT id FROM link))
"""
SENTENCES: Final[LiteralString] = _LINKED + _TOLD + _GROUPED
SENTENCES_OF: Final[LiteralString] = _LINKED + _OF_SOME + _TOLD + _ABOUT_THESE + _GROUPED

# Members are read of those alone whose parts do not have them all: a fifth of all memberships.
COMMUNITIES: Final[LiteralString] = """
WITH community AS MATERIALIZED (
    SELECT id, level, parent_id, size FROM ingestion_community WHERE workspace_id = %(workspace)s
), unread AS (
    SELECT parent_id AS id, sum(size) AS size FROM community GROUP BY parent_id
), read AS MATERIALIZED (
    SELECT community.id FROM community LEFT JOIN unread USING (id)
     WHERE unread.size IS DISTINCT FROM community.size
)
SELECT uuid_send(id), level, uuid_send(parent_id), size, members
FROM community
LEFT JOIN (SELECT community_id, string_agg(uuid_send(entity_id), ''::bytea) AS members
             FROM read
             JOIN ingestion_communitymember AS member
               ON member.workspace_id = %(workspace)s AND member.community_id = read.id
              AND member.community_id = ANY (ARRAY(SELECT id FROM read))
            GROUP BY community_id) AS membership ON community_id = community.id
ORDER BY level DESC
"""

REMOVE: Final[LiteralString] = """
DELETE FROM ingestion_community
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

MOVE: Final[LiteralString] = """
UPDATE ingestion_community AS community
SET level = moved.level, parent_id = moved.parent_id, size = moved.size
FROM moved_communities AS moved
WHERE community.workspace_id = %(workspace)s AND community.id = moved.id
"""

MARK: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = true
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[]) AND NOT is_changed
"""

# Those that a report is to be written on, for whoever comes to them after the reports do.
NOTE_CHANGED: Final[LiteralString] = """
UPDATE ingestion_structurestate
SET topics = ARRAY(SELECT unnest(topics)
                    UNION
                   SELECT id FROM ingestion_community
                    WHERE workspace_id = %(workspace)s AND is_changed)
WHERE workspace_id = %(workspace)s
"""

LEAVE: Final[LiteralString] = """
DELETE FROM ingestion_communitymember AS member
USING left_members AS gone
WHERE member.workspace_id = %(workspace)s
  AND member.community_id = gone.community_id AND member.entity_id = gone.entity_id
  AND member.entity_id = ANY (ARRAY(SELECT entity_id FROM left_members))
"""

# An entity deleted since it was read joins nothing; the others cannot be deleted until this
# transaction ends.
JOIN: Final[LiteralString] = """
INSERT INTO ingestion_communitymember (workspace_id, community_id, entity_id)
SELECT %(workspace)s, new.community_id, new.entity_id
FROM new_members AS new
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = new.entity_id
 AND entity.id = ANY (ARRAY(SELECT entity_id FROM new_members))
FOR KEY SHARE OF entity
"""
