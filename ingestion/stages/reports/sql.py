"""SQL of what reports on a batch of communities are made from.

Each table is read by keys that come as arrays, and what they find is joined by hashing: a batch
costs its own rows, whatever the planner believes about the sizes of tables. Arrays rather than
joins, because the stage runs inside ``bulk_plans``: without nested loops, a join with a table reads
all of the workspace's rows for every batch.
"""

from __future__ import annotations

from typing import Final, LiteralString

# The memberships in the communities %(ids)s. Most statements begin with it.
MEMBER: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(ids)s::uuid[])
)"""

# The relationships inside each community.
INSIDE: Final[LiteralString] = (
    MEMBER
    + """, near AS MATERIALIZED (
    SELECT id, source_id, target_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND source_id = ANY (ARRAY(SELECT entity_id FROM member))
), inside AS MATERIALIZED (
    SELECT a.community_id, near.*
    FROM member AS a
    JOIN near ON near.source_id = a.entity_id
    JOIN member AS b ON b.community_id = a.community_id AND b.entity_id = near.target_id
)"""
)

# They are asked for once a batch: half of a large workspace may be inside its roots.
FIND_INSIDE: Final[LiteralString] = (
    INSIDE
    + """
INSERT INTO found_inside SELECT community_id, id, source_id, target_id, weight FROM inside
"""
)

# --- reports made of the documents' sentences -----------------------------------------------------
# The size of each community, and its first members: by rank those whose descriptions are read, and
# by rank and ties those that are named. Of the largest, only these few are sorted by name. Each
# relationship inside counts for both ends.
FIRST_MEMBERS: Final[LiteralString] = (
    MEMBER
    + """, tie AS (
    SELECT community_id, entity_id, sum(weight) AS weight
    FROM (SELECT community_id, source_id AS entity_id, weight FROM found_inside
          UNION ALL
          SELECT community_id, target_id, weight FROM found_inside) AS ends
    GROUP BY community_id, entity_id
), scored AS (
    SELECT community_id, entity_id, entity.rank,
           (entity.rank + ln(1 + greatest(0, tie.weight)))
           * coalesce((%(worths)s::jsonb ->> entity.type)::float8, 1) AS score
    FROM member
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
     AND entity.id = ANY (ARRAY(SELECT entity_id FROM member))
    LEFT JOIN tie USING (community_id, entity_id)
), placed AS (
    SELECT community_id, entity_id, score, count(*) OVER (PARTITION BY community_id) AS size,
           row_number() OVER (PARTITION BY community_id ORDER BY rank DESC, entity_id) AS by_rank,
           rank() OVER (PARTITION BY community_id ORDER BY score DESC) AS by_score
    FROM scored
), first AS MATERIALIZED (
    SELECT * FROM placed WHERE by_rank <= %(introduced)s OR by_score <= %(chief)s
)
SELECT community_id, entity_id, size, by_rank <= %(introduced)s,
       row_number() OVER (PARTITION BY community_id ORDER BY score DESC, name, entity_id)
       <= %(chief)s
FROM first
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = entity_id
 AND entity.id = ANY (ARRAY(SELECT entity_id FROM first))
"""
)

# The members of small communities and, of the others, those that %(named)s has: tens of thousands
# would say nothing. With each, the weight of its ties. What is returned is added in order: the last
# digit of a sum decides ties, and must not depend on the plan.
MEMBERS: Final[LiteralString] = """
WITH chosen AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(small)s::uuid[])
    UNION ALL
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(large)s::uuid[])
      AND entity_id = ANY (%(named)s::uuid[])
), ends AS (
    SELECT chosen.community_id, chosen.entity_id, weight
    FROM chosen JOIN found_inside AS inside
      ON inside.community_id = chosen.community_id AND inside.source_id = entity_id
    UNION ALL
    SELECT chosen.community_id, chosen.entity_id, weight
    FROM chosen JOIN found_inside AS inside
      ON inside.community_id = chosen.community_id AND inside.target_id = entity_id
)
SELECT community_id, entity_id, name, type, rank, tied.weight
FROM chosen
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = entity_id
 AND entity.id = ANY (ARRAY(SELECT entity_id FROM chosen))
LEFT JOIN (SELECT community_id, entity_id, sum(weight ORDER BY weight) AS weight
           FROM ends GROUP BY community_id, entity_id) AS tied USING (community_id, entity_id)
"""

LINKS: Final[LiteralString] = """
SELECT community_id, count(*) FROM found_inside GROUP BY community_id
"""

DOCUMENTS: Final[LiteralString] = (
    MEMBER
    + """
SELECT community_id, count(*)
FROM (SELECT DISTINCT member.community_id, mention.document_id
      FROM member
      JOIN ingestion_mention AS mention
        ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
       AND mention.entity_id = ANY (ARRAY(SELECT entity_id FROM member))) AS named
GROUP BY community_id
"""
)

# The spans the community's relationships rest on, statements before co-occurrences.
EVIDENCE: Final[LiteralString] = """
SELECT community_id, chunk_id, start, "end", stated FROM (
    SELECT inside.community_id, evidence.chunk_id, evidence.start, evidence."end",
           bool_or(evidence.kind = 'stated') AS stated,
           row_number() OVER (
               PARTITION BY inside.community_id
               ORDER BY bool_or(evidence.kind = 'stated') DESC,
                        sum(inside.weight ORDER BY inside.weight) DESC,
                        evidence.start, evidence."end", evidence.chunk_id) AS place
    FROM found_inside AS inside
    JOIN ingestion_evidence AS evidence
      ON evidence.workspace_id = %(workspace)s AND evidence.relationship_id = inside.id
     AND evidence.relationship_id = ANY (ARRAY(SELECT id FROM found_inside))
    GROUP BY inside.community_id, evidence.chunk_id, evidence.start, evidence."end"
) AS ranked
WHERE place <= %(most)s
"""

# The sentences that describe the weightiest members.
INTRODUCTIONS: Final[LiteralString] = """
SELECT first.community_id, (source ->> 'chunk')::uuid, (source ->> 'start')::int,
       (source ->> 'end')::int, false, entity.id, number = 1
FROM unnest(%(first_of)s::uuid[], %(first)s::uuid[]) AS first (community_id, entity_id)
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = first.entity_id
 AND entity.id = ANY (%(first)s::uuid[])
CROSS JOIN LATERAL jsonb_array_elements(entity.description_sources)
    WITH ORDINALITY AS one (source, number)
"""

# The findings of the largest sub-communities' reports, which were written first.
FINDINGS_OF_CHILDREN: Final[LiteralString] = """
WITH child AS MATERIALIZED (
    SELECT id, parent_id
    FROM (SELECT id, parent_id,
                 row_number() OVER (PARTITION BY parent_id ORDER BY size DESC, title, id) AS place
          FROM ingestion_community
          WHERE workspace_id = %(workspace)s AND parent_id = ANY (%(ids)s::uuid[])) AS ranked
    WHERE place <= %(most)s
), report AS MATERIALIZED (
    SELECT id, community_id FROM ingestion_communityreport
    WHERE workspace_id = %(workspace)s AND community_id = ANY (ARRAY(SELECT id FROM child))
), finding AS MATERIALIZED (
    SELECT id, report_id FROM ingestion_finding
    WHERE workspace_id = %(workspace)s AND report_id = ANY (ARRAY(SELECT id FROM report))
      AND ordinal < 3
)
SELECT child.parent_id, evidence.chunk_id, evidence.start, evidence."end", false
FROM child
JOIN report ON report.community_id = child.id
JOIN finding ON finding.report_id = report.id
JOIN ingestion_findingevidence AS evidence
  ON evidence.workspace_id = %(workspace)s AND evidence.finding_id = finding.id
 AND evidence.finding_id = ANY (ARRAY(SELECT id FROM finding))
"""

CHUNKS: Final[LiteralString] = """
SELECT id, start, text, regions FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND id = ANY (%(chunks)s::uuid[])
"""

# The text of each span and the entities named in it. A deleted chunk gives no row.
SPANS: Final[LiteralString] = """
WITH named AS (
    SELECT span.chunk_id, span.start, span."end",
           array_agg(DISTINCT mention.entity_id) AS entities
    FROM wanted_spans AS span
    JOIN ingestion_mention AS mention
      ON mention.workspace_id = %(workspace)s AND mention.chunk_id = span.chunk_id
     AND mention.chunk_id = ANY (ARRAY(SELECT chunk_id FROM wanted_spans))
     AND mention.start >= span.start AND mention."end" <= span."end"
    GROUP BY span.chunk_id, span.start, span."end"
)
SELECT chunk.id, span.start, span."end", chunk.document_id,
       substr(chunk.text, span.start - chunk.start + 1, span."end" - span.start),
       chunk.ordinal = 0 AND span.start = chunk.start, coalesce(named.entities, '{}')
FROM wanted_spans AS span
JOIN ingestion_chunk AS chunk
  ON chunk.workspace_id = %(workspace)s AND chunk.id = span.chunk_id
 AND chunk.id = ANY (ARRAY(SELECT chunk_id FROM wanted_spans))
 AND span.start >= chunk.start AND span."end" <= chunk."end"
LEFT JOIN named
  ON named.chunk_id = span.chunk_id AND named.start = span.start AND named."end" = span."end"
"""

# --- reports written by a model -------------------------------------------------------------------
ENTITIES: Final[LiteralString] = (
    MEMBER
    + """
SELECT member.community_id, entity.id, entity.name, entity.type, entity.description,
       entity.degree, entity.mention_count
FROM member
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
 AND entity.id = ANY (ARRAY(SELECT entity_id FROM member))
"""
)
RELATIONSHIPS: Final[LiteralString] = (
    INSIDE
    + """
SELECT inside.community_id, relationship.id, relationship.source_id, relationship.target_id,
       relationship.description
FROM inside
JOIN ingestion_relationship AS relationship
  ON relationship.workspace_id = %(workspace)s AND relationship.id = inside.id
 AND relationship.id = ANY (ARRAY(SELECT id FROM inside))
"""
)

# Overlapping chunks may yield the same claim: it counts once.
CLAIMS: Final[LiteralString] = (
    MEMBER
    + """, claim AS MATERIALIZED (
    SELECT * FROM ingestion_claim
    WHERE workspace_id = %(workspace)s AND subject_id = ANY (ARRAY(SELECT entity_id FROM member))
)
SELECT DISTINCT ON (member.community_id, claim.subject_id, claim.description, claim.status)
       member.community_id, claim.id, claim.subject_id, claim.type, claim.status,
       claim.period_start, claim.period_end, claim.description
FROM member
JOIN claim ON claim.subject_id = member.entity_id
JOIN ingestion_document AS document
  ON document.workspace_id = %(workspace)s AND document.id = claim.document_id
 AND document.id = ANY (ARRAY(SELECT document_id FROM claim))
ORDER BY member.community_id, claim.subject_id, claim.description, claim.status,
         document.created_at, claim.document_id, claim.start, claim.id
"""
)

PARTS: Final[LiteralString] = """
WITH child AS MATERIALIZED (
    SELECT id, parent_id FROM ingestion_community
    WHERE workspace_id = %(workspace)s AND parent_id = ANY (%(ids)s::uuid[])
), inside AS MATERIALIZED (
    SELECT community_id, array_agg(entity_id) AS members FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (ARRAY(SELECT id FROM child))
    GROUP BY community_id
), report AS MATERIALIZED (
    SELECT id, community_id, title, summary FROM ingestion_communityreport
    WHERE workspace_id = %(workspace)s AND community_id = ANY (ARRAY(SELECT id FROM child))
), finding AS MATERIALIZED (
    SELECT report_id, string_agg(concat_ws(' ', summary, nullif(explanation, '')), ' '
                                 ORDER BY ordinal) AS text
    FROM ingestion_finding
    WHERE workspace_id = %(workspace)s AND report_id = ANY (ARRAY(SELECT id FROM report))
      AND part = 'finding'
    GROUP BY report_id
)
SELECT child.parent_id, inside.members, report.id, report.title, report.summary, finding.text
FROM child
JOIN inside ON inside.community_id = child.id
LEFT JOIN report ON report.community_id = child.id
LEFT JOIN finding ON finding.report_id = report.id
ORDER BY child.id
"""

# Passages that mention several central members come first; GraphRAG's fast mode orders text units
# by the degree of their entities.
PASSAGES: Final[LiteralString] = (
    MEMBER
    + """, named AS MATERIALIZED (
    SELECT pair.community_id, pair.chunk_id, sum(1 + entity.degree) AS degrees
    FROM (SELECT DISTINCT member.community_id, mention.chunk_id, mention.entity_id
          FROM member
          JOIN ingestion_mention AS mention
            ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
           AND mention.entity_id = ANY (ARRAY(SELECT entity_id FROM member))) AS pair
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = pair.entity_id
     AND entity.id = ANY (ARRAY(SELECT entity_id FROM member))
    GROUP BY pair.community_id, pair.chunk_id
), placed AS MATERIALIZED (
    SELECT id, document_id, ordinal, text FROM ingestion_chunk
    WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT chunk_id FROM named))
)
SELECT community_id, id, title, text FROM (
    SELECT named.community_id, placed.id, document.title, placed.text,
           row_number() OVER (
               PARTITION BY named.community_id
               ORDER BY named.degrees DESC, document.created_at, placed.document_id, placed.ordinal
           ) AS place
    FROM named
    JOIN placed ON placed.id = named.chunk_id
    JOIN ingestion_document AS document
      ON document.workspace_id = %(workspace)s AND document.id = placed.document_id
     AND document.id = ANY (ARRAY(SELECT document_id FROM placed))
) AS ranked
WHERE place <= %(most)s
ORDER BY community_id, place
"""
)

# --- titles ---------------------------------------------------------------------------------------
# Each passage with the headings above it and those in it: offset, level and text.
HEADINGS: Final[LiteralString] = """
WITH passage AS MATERIALIZED (
    SELECT id, document_id, start, heading_path, (
           SELECT jsonb_agg(jsonb_build_array(
                      region -> 1, coalesce(region -> 3, '1'),
                      substr(text, (region ->> 1)::int + 1,
                             (region ->> 2)::int - (region ->> 1)::int))
                  ORDER BY (region ->> 1)::int)
           FROM jsonb_array_elements(regions) AS region
           WHERE region ->> 0 = 'heading') AS headings
    FROM ingestion_chunk
    WHERE workspace_id = %(workspace)s AND id = ANY (%(chunks)s::uuid[])
)
SELECT passage.id, passage.start, document.title, passage.heading_path, passage.headings
FROM passage
JOIN ingestion_document AS document
  ON document.workspace_id = %(workspace)s AND document.id = passage.document_id
 AND document.id = ANY (ARRAY(SELECT document_id FROM passage))
"""

TITLES: Final[LiteralString] = """
SELECT id, title FROM ingestion_community
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

# A topic quotes its sub-topics, so a change below is a change of everything above it.
MARK_ANCESTORS: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT parent_id AS id FROM ingestion_community
    WHERE workspace_id = %(workspace)s AND is_changed AND parent_id IS NOT NULL
    UNION
    SELECT community.parent_id FROM ingestion_community AS community
    JOIN above ON above.id = community.id
    WHERE community.workspace_id = %(workspace)s AND community.parent_id IS NOT NULL
)
UPDATE ingestion_community SET is_changed = true
WHERE workspace_id = %(workspace)s AND NOT is_changed AND id IN (SELECT id FROM above)
"""
