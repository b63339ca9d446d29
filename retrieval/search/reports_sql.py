"""Hand-written SQL for topics' reports; ``%(documents)s`` is the scope, NULL for everything."""

from __future__ import annotations

from typing import Final, LiteralString

# Any change to what is read of a workspace's reports changes a value of this row. Its last value is
# the number of topics without a report.
STAMP_OF_REPORTS: Final[LiteralString] = """
SELECT
    (SELECT count(*) FROM ingestion_communityreport WHERE workspace_id = %(workspace)s),
    (SELECT max(created_at)::text FROM ingestion_communityreport
     WHERE workspace_id = %(workspace)s),
    (SELECT count(*) FROM ingestion_findingevidence WHERE workspace_id = %(workspace)s),
    (SELECT coalesce(sum(hashtextextended(concat_ws(' ', id, parent_id, level, size), 0)), 0)::text
     FROM ingestion_community WHERE workspace_id = %(workspace)s),
    (SELECT count(*) FROM ingestion_community c
     WHERE c.workspace_id = %(workspace)s AND NOT EXISTS (
         SELECT FROM ingestion_communityreport r
         WHERE r.workspace_id = %(workspace)s AND r.community_id = c.id))
"""

REPORTS: Final[LiteralString] = """
SELECT r.id, c.id, c.parent_id, c.level, c.size, r.title, r.summary, r.rating
FROM ingestion_communityreport r
JOIN ingestion_community c ON c.workspace_id = %(workspace)s AND c.id = r.community_id
WHERE r.workspace_id = %(workspace)s
ORDER BY c.level, c.size DESC, r.title, r.id
"""

# Sentences of the summary before the other findings.
FINDINGS: Final[LiteralString] = """
SELECT report_id, id, part = 'summary', summary, explanation FROM ingestion_finding
WHERE workspace_id = %(workspace)s
ORDER BY report_id, part DESC, ordinal, id
"""

PLACES_OF_FINDINGS: Final[LiteralString] = """
SELECT finding_id, chunk_id, document_id FROM ingestion_findingevidence
WHERE workspace_id = %(workspace)s
ORDER BY finding_id, document_id, start, id
"""

# Topics whose members are all excluded.
TOPICS_OF_ONLY: Final[LiteralString] = """
SELECT community_id FROM ingestion_communitymember
WHERE workspace_id = %(workspace)s
GROUP BY community_id HAVING bool_and(entity_id = ANY(%(entities)s::uuid[]))
"""

# The number of passages in the scope that name members of each topic.
PASSAGES_OF_TOPICS: Final[LiteralString] = """
SELECT member.community_id, count(DISTINCT mention.chunk_id)
FROM ingestion_communitymember AS member
JOIN ingestion_mention AS mention
  ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY(%(topics)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR mention.document_id = ANY(%(documents)s::uuid[]))
GROUP BY member.community_id
"""

# Entities named in some passages that belong to some topics, those in most passages first.
NAMES_IN_BOTH: Final[LiteralString] = """
SELECT entity.name
FROM ingestion_mention AS mention
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = mention.entity_id
WHERE mention.workspace_id = %(workspace)s AND mention.chunk_id = ANY(%(chunks)s::uuid[])
  AND NOT mention.entity_id = ANY(%(exclude)s::uuid[])
  AND mention.entity_id IN (
      SELECT entity_id FROM ingestion_communitymember
      WHERE workspace_id = %(workspace)s AND community_id = ANY(%(topics)s::uuid[]))
GROUP BY entity.id, entity.name, entity.rank
ORDER BY count(DISTINCT mention.chunk_id) DESC, entity.rank DESC, entity.name, entity.id
LIMIT %(count)s
"""
