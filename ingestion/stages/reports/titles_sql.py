"""SQL of what topics are named after, and of their titles. See ``sql`` for its rules."""

from __future__ import annotations

from typing import Final, LiteralString

from ingestion.stages.reports.sql import MEMBER

_WITH_BESIDE: Final[LiteralString] = """
SELECT level, parent_id, id, title, is_changed, size, titled_at, beside
FROM (SELECT *, count(*) OVER (PARTITION BY parent_id) AS beside FROM ingestion_community
      WHERE workspace_id = %(workspace)s
"""
# The topics beside those that changed, and of very many, these alone; then those below some topics,
# and those above what changed.
CHANGED: Final[LiteralString] = (
    _WITH_BESIDE
    + """
        AND (parent_id IS NULL OR parent_id = ANY (ARRAY(
             SELECT DISTINCT parent_id FROM ingestion_community
             WHERE workspace_id = %(workspace)s AND (is_changed OR title = '')
               AND parent_id IS NOT NULL)))) AS topic
WHERE beside <= %(most)s OR is_changed OR title = ''
ORDER BY level, parent_id NULLS FIRST, id
"""
)
BELOW: Final[LiteralString] = (
    _WITH_BESIDE
    + """
        AND parent_id = ANY (%(ids)s::uuid[])) AS topic
ORDER BY parent_id, id
"""
)
ABOVE: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT parent_id AS id FROM ingestion_community
    WHERE workspace_id = %(workspace)s AND (is_changed OR title = '') AND parent_id IS NOT NULL
    UNION
    SELECT community.parent_id FROM ingestion_community AS community
    JOIN above ON above.id = community.id
    WHERE community.workspace_id = %(workspace)s AND community.parent_id IS NOT NULL
)
SELECT id, parent_id, title FROM ingestion_community
WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT id FROM above))
ORDER BY level
"""

# The members of the communities that titles are made from: all of them, but for very large topics.
CHIEF: Final[LiteralString] = (
    MEMBER
    + """
SELECT community_id, entity_id FROM (
    SELECT member.community_id, entity.id AS entity_id,
           row_number() OVER (PARTITION BY member.community_id
                              ORDER BY entity.rank DESC, entity.mention_count DESC, entity.name,
                                       entity.id) AS place
    FROM member
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
     AND entity.id = ANY (ARRAY(SELECT entity_id FROM member))) AS ranked
WHERE place <= %(most_members)s
"""
)
# The same of those topics that have %(most_members)s members among the first of all entities: of
# tens of thousands, few are read.
CHIEF_OF_LARGE: Final[LiteralString] = """
WITH first AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY rank DESC, mention_count DESC, name, id) AS number
    FROM ingestion_entity WHERE workspace_id = %(workspace)s
    ORDER BY rank DESC, mention_count DESC, name, id LIMIT %(first)s
), placed AS MATERIALIZED (
    SELECT community_id, entity_id,
           row_number() OVER (PARTITION BY community_id ORDER BY number) AS place,
           count(*) OVER (PARTITION BY community_id) AS found
    FROM ingestion_communitymember AS member
    JOIN first ON first.id = member.entity_id
    WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(SELECT id FROM first))
      AND community_id = ANY (%(ids)s::uuid[])
)
SELECT community_id, entity_id FROM placed
WHERE place <= %(most_members)s AND found >= %(most_members)s
"""

# Packed: a hundred thousand rows would be as many ids and lists.
MENTIONS: Final[LiteralString] = """
SELECT chief.community_id,
       string_agg(uuid_send(mention.chunk_id) || int4send(mention.start), ''::bytea)
FROM unnest(%(chief_of)s::uuid[], %(chiefs)s::uuid[]) AS chief (community_id, entity_id)
JOIN ingestion_mention AS mention
  ON mention.workspace_id = %(workspace)s AND mention.entity_id = chief.entity_id
 AND mention.entity_id = ANY (%(chiefs)s::uuid[])
GROUP BY chief.community_id
"""

# The members with most relationships inside their topic; a relationship counts for both ends.
NAMES: Final[LiteralString] = (
    MEMBER
    + """, ends AS MATERIALIZED (
    SELECT source_id AS entity_id, target_id AS other_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND source_id = ANY (%(chiefs)s::uuid[])
    UNION ALL
    SELECT target_id, source_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND target_id = ANY (%(chiefs)s::uuid[])
), tied AS (
    SELECT chief.community_id, chief.entity_id,
           coalesce(sum(ends.weight ORDER BY ends.weight)
                    FILTER (WHERE there.entity_id IS NOT NULL), 0) AS inside,
           coalesce(sum(ends.weight ORDER BY ends.weight), 0) AS everywhere
    FROM unnest(%(chief_of)s::uuid[], %(chiefs)s::uuid[]) AS chief (community_id, entity_id)
    LEFT JOIN ends ON ends.entity_id = chief.entity_id
    LEFT JOIN member AS there
      ON there.entity_id = ends.other_id AND there.community_id = chief.community_id
    GROUP BY chief.community_id, chief.entity_id
), placed AS (
    SELECT tied.*, name, type, sum(inside) OVER (PARTITION BY community_id) / 2 AS links,
           row_number() OVER (PARTITION BY community_id
                              ORDER BY inside DESC, rank DESC, mention_count DESC, name,
                                       entity_id) AS place
    FROM tied
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = entity_id
     AND entity.id = ANY (%(chiefs)s::uuid[])
)
SELECT community_id, links, name, type, inside, everywhere FROM placed
WHERE place <= %(most_names)s
ORDER BY community_id, place
"""
)

SAVE_TITLES: Final[LiteralString] = """
UPDATE ingestion_community AS community SET title = named.title
FROM unnest(%(ids)s::uuid[], %(titles)s::text[]) AS named (id, title)
WHERE community.workspace_id = %(workspace)s AND community.id = named.id
  AND community.id = ANY (%(ids)s::uuid[])
"""

MARK_TITLED: Final[LiteralString] = """
UPDATE ingestion_community SET titled_at = now()
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

# A title says what sets a topic apart, so it may change when another topic does.
MARK_RENAMED: Final[LiteralString] = """
WITH report AS MATERIALIZED (
    SELECT community_id, title FROM ingestion_communityreport
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(ids)s::uuid[])
      AND written_by = 'extractive'
)
UPDATE ingestion_community AS community SET is_changed = true
FROM report
WHERE community.workspace_id = %(workspace)s AND community.id = report.community_id
  AND community.id = ANY (%(ids)s::uuid[])
  AND NOT community.is_changed AND report.title <> community.title
"""
