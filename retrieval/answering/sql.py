"""Hand-written SQL for answers, each statement named after what it does.

``%(documents)s`` is the scope, NULL for the whole workspace. Disabled and trashed documents have no
passages here, so they are never read.
"""

from __future__ import annotations

from typing import Final, LiteralString

# If the answer is no longer this worker's, nothing is added and no row comes back. The lock waits
# for anyone just ending the answer with an event of the same number.
ADD_EVENTS: Final[LiteralString] = """
WITH mine AS (
    SELECT id, wants_stop FROM retrieval_answer
     WHERE workspace_id = %(workspace)s AND id = %(answer)s
       AND state = 'running' AND worker = %(worker)s
       FOR UPDATE
), added AS (
    INSERT INTO retrieval_answerevent
           (workspace_id, answer_id, sequence, kind, payload, created_at)
    SELECT %(workspace)s, mine.id, e.sequence, e.kind, e.payload::jsonb, clock_timestamp()
      FROM mine,
           unnest(%(sequences)s::int[], %(kinds)s::text[], %(payloads)s::text[])
           AS e (sequence, kind, payload)
)
SELECT wants_stop, pg_notify(%(channel)s::text, id::text || ' ' || %(last)s::text) FROM mine
"""

# The other passages below the same headings as these, those of each in the order of the text.
PASSAGES_BESIDE: Final[LiteralString] = """
SELECT beside.id
  FROM unnest(%(chunks)s::uuid[]) WITH ORDINALITY AS known (id, number)
  JOIN ingestion_chunk AS one ON one.workspace_id = %(workspace)s AND one.id = known.id
 CROSS JOIN LATERAL (
     SELECT id, ordinal FROM ingestion_chunk
      WHERE workspace_id = %(workspace)s AND document_id = one.document_id
        AND heading_path = one.heading_path AND id <> one.id
      ORDER BY ordinal LIMIT %(most)s) AS beside
 ORDER BY known.number, beside.ordinal
"""

# Passages of some documents, in their order, that have a line or stand below a heading that begins
# as the pattern does.
PASSAGES_AT: Final[LiteralString] = """
SELECT c.id
  FROM unnest(%(documents)s::uuid[]) WITH ORDINALITY AS d (id, number)
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.document_id = d.id
 WHERE c.text ~* %(pattern)s
    OR EXISTS (SELECT 1 FROM unnest(c.heading_path) AS heading WHERE heading ~* %(pattern)s)
 ORDER BY d.number, c.ordinal LIMIT %(most)s
"""

# An event that ends an answer no one is working on.
ADD_LAST_EVENT: Final[LiteralString] = """
INSERT INTO retrieval_answerevent (workspace_id, answer_id, sequence, kind, payload, created_at)
SELECT %(workspace)s, %(answer)s, coalesce(max(sequence) + 1, 0), %(kind)s, %(payload)s::jsonb,
       clock_timestamp()
  FROM retrieval_answerevent
 WHERE workspace_id = %(workspace)s AND answer_id = %(answer)s
RETURNING sequence
"""

# The answer has replaced the pieces it was streamed in.
FOLD_TEXT: Final[LiteralString] = """
DELETE FROM retrieval_answerevent
 WHERE workspace_id = %(workspace)s AND answer_id = %(answer)s AND kind = 'text'
"""

ANSWER_STATE: Final[LiteralString] = """
SELECT state FROM retrieval_answer WHERE workspace_id = %(workspace)s AND id = %(answer)s
"""

EVENTS_AFTER: Final[LiteralString] = """
SELECT sequence, kind, payload::text FROM retrieval_answerevent
 WHERE workspace_id = %(workspace)s AND answer_id = %(answer)s AND sequence > %(after)s::int
 ORDER BY sequence
"""

# Which followers still read there: members, with a token that still holds if they came with one,
# from whom the same collections are hidden as from the edition. Run in the scope of the source.
FOLLOWERS: Final[LiteralString] = """
SELECT f.place
  FROM unnest(%(people)s::bigint[], %(tokens)s::uuid[])
       WITH ORDINALITY AS f (person, token, place)
  JOIN workspaces_workspace AS w
    ON w.id = %(workspace)s AND (w.source_id IS NULL OR w.is_current)
  JOIN workspaces_workspace AS s ON s.id = %(source)s AND s.purge_at IS NULL
  JOIN workspaces_membership AS m
    ON m.workspace_id = %(source)s AND m.user_id = f.person
   AND m.capabilities @> %(may)s::varchar[]
  JOIN workspaces_user AS u ON u.id = f.person AND u.is_active
 WHERE (f.token IS NULL OR EXISTS (
       SELECT FROM workspaces_apitoken AS t
        WHERE t.workspace_id = %(source)s AND t.id = f.token AND t.membership_id = m.id
          AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
          AND t.capabilities @> %(may)s::varchar[]))
   AND w.hidden = ARRAY(
       SELECT c.id FROM ingestion_collection AS c
        WHERE c.workspace_id = %(source)s AND c.is_restricted
          AND NOT ('administer' = ANY(m.capabilities))
          AND NOT EXISTS (
              SELECT FROM ingestion_collectiongrant AS g
               WHERE g.workspace_id = %(source)s AND g.collection_id = c.id
                 AND (g.membership_id = m.id OR g.group_id IN (
                      SELECT group_id FROM workspaces_groupmember
                       WHERE workspace_id = %(source)s AND membership_id = m.id)))
        ORDER BY 1)
"""

# The events of many answers, each after the one that the follower at this place knows. An answer
# that is gone has no row; a follower who is up to date gets one without an event.
EVENTS_FOLLOWED: Final[LiteralString] = """
SELECT f.place, e.sequence, e.kind, e.payload::text
  FROM unnest(%(answers)s::uuid[], %(afters)s::int[], %(places)s::int[])
       AS f (answer, after, place)
  JOIN retrieval_answer AS a ON a.workspace_id = %(workspace)s AND a.id = f.answer
  LEFT JOIN retrieval_answerevent AS e
    ON e.workspace_id = %(workspace)s AND e.answer_id = f.answer AND e.sequence > f.after
 ORDER BY f.place, e.sequence
"""

# Does the conversation have an earlier question?
HAS_EARLIER: Final[LiteralString] = """
SELECT EXISTS (
    SELECT FROM retrieval_question
     WHERE workspace_id = %(workspace)s AND conversation_id = %(conversation)s
       AND created_at < %(before)s)
"""

# The newest answer for the key. The condition on an empty key is explicit: a cached plan does not
# know the parameter's value, and the index has no rows without a key.
ANSWERED_BEFORE: Final[LiteralString] = """
SELECT id FROM retrieval_answer
 WHERE workspace_id = %(workspace)s AND cache_key = %(key)s AND cache_key <> '' AND state = 'done'
 ORDER BY created_at DESC
 LIMIT 1
"""

# Copy an earlier answer's events after the new answer's own.
COPY_EVENTS: Final[LiteralString] = """
INSERT INTO retrieval_answerevent (workspace_id, answer_id, sequence, kind, payload, created_at)
SELECT %(workspace)s, %(answer)s,
       (SELECT coalesce(max(sequence), -1) FROM retrieval_answerevent
         WHERE workspace_id = %(workspace)s AND answer_id = %(answer)s)
       + row_number() OVER (ORDER BY sequence),
       kind, payload, clock_timestamp()
  FROM retrieval_answerevent
 WHERE workspace_id = %(workspace)s AND answer_id = %(earlier)s
   AND kind IN ('step', 'plan', 'passages', 'answer', 'follow_ups')
"""


# --- suggestions ----------------------------------------------------------------------------------
# The entities that some passages name, the most frequent first. Those named in one passage only
# lead nowhere, so they come last.
ENTITIES_OF_CHUNKS: Final[LiteralString] = """
WITH named AS MATERIALIZED (
    SELECT entity_id, count(DISTINCT chunk_id) AS passages, count(*) AS mentions
    FROM ingestion_mention
    WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
    GROUP BY entity_id
)
SELECT e.id, e.name, e.type, e.chunk_count
FROM named n JOIN ingestion_entity e ON e.workspace_id = %(workspace)s AND e.id = n.entity_id
ORDER BY e.chunk_count > 1 DESC, n.passages DESC, n.mentions DESC, e.rank DESC, e.id
LIMIT %(count)s
"""

# The strongest relationships of some entities that a passage in the scope states. A description
# that also rests on other documents says more than the scope does, and is left out.
LINKS_OF_ENTITIES: Final[LiteralString] = """
WITH links AS MATERIALIZED (
    SELECT r.id, r.source_id, r.target_id, r.weight, r.description
    FROM ingestion_relationship r
    WHERE r.workspace_id = %(workspace)s
      AND (r.source_id = ANY(%(entities)s::uuid[]) OR r.target_id = ANY(%(entities)s::uuid[]))
    ORDER BY r.weight DESC, r.id
    LIMIT %(count)s
)
SELECT s.id, s.name, t.id, t.name,
       CASE WHEN %(documents)s::uuid[] IS NULL OR NOT EXISTS (
           SELECT FROM ingestion_evidence o
           WHERE o.workspace_id = %(workspace)s AND o.relationship_id = l.id
             AND o.document_id <> ALL(%(documents)s::uuid[]))
            THEN l.description ELSE '' END
FROM links l
JOIN ingestion_entity s ON s.workspace_id = %(workspace)s AND s.id = l.source_id
JOIN ingestion_entity t ON t.workspace_id = %(workspace)s AND t.id = l.target_id
WHERE EXISTS (
    SELECT FROM ingestion_evidence e
    WHERE e.workspace_id = %(workspace)s AND e.relationship_id = l.id
      AND (%(documents)s::uuid[] IS NULL OR e.document_id = ANY(%(documents)s::uuid[])))
ORDER BY l.weight DESC, l.id
"""

# Passages to begin with: the first ones of the longest documents, and those that name most of the
# entities ranked highest.
PASSAGES_TO_BEGIN_WITH: Final[LiteralString] = """
WITH documents AS MATERIALIZED (
    SELECT document_id, count(*) AS chunks FROM ingestion_chunk
    WHERE workspace_id = %(workspace)s
    GROUP BY document_id ORDER BY chunks DESC, document_id LIMIT %(documents)s
), first AS (
    SELECT c.id, c.ordinal + 1 AS place, d.chunks AS weight
    FROM documents d CROSS JOIN LATERAL (
        SELECT id, ordinal FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = d.document_id
        ORDER BY ordinal LIMIT %(each)s
    ) c
), best AS MATERIALIZED (
    SELECT id FROM ingestion_entity
    WHERE workspace_id = %(workspace)s ORDER BY rank DESC, mention_count DESC, id LIMIT %(names)s
), telling AS (
    SELECT m.chunk_id AS id, 0 AS place, count(DISTINCT m.entity_id) AS weight
    FROM ingestion_mention m JOIN best b ON b.id = m.entity_id
    WHERE m.workspace_id = %(workspace)s
    GROUP BY m.chunk_id ORDER BY weight DESC, m.chunk_id LIMIT %(count)s
), either AS (SELECT * FROM first UNION ALL SELECT * FROM telling)
SELECT id FROM either GROUP BY id ORDER BY min(place), max(weight) DESC, id
"""


# --- overviews ------------------------------------------------------------------------------------
# Names and headings of the documents that contain the prefixes of all the words asked for.
DOCUMENTS_CALLED: Final[LiteralString] = """
SELECT d.id, d.title, d.name, v.headings::text
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
 WHERE d.workspace_id = %(workspace)s AND d.disabled_at IS NULL AND d.trashed_at IS NULL
   AND (%(documents)s::uuid[] IS NULL OR d.id = ANY(%(documents)s::uuid[]))
   AND (d.title || ' ' || d.name || ' ' || v.headings::text) ILIKE ALL(%(patterns)s::text[])
 ORDER BY d.title, d.id
 LIMIT %(count)s
"""

# The longest documents, and how many there are.
LONGEST_DOCUMENTS: Final[LiteralString] = """
SELECT d.id, d.title, count(*) OVER ()
  FROM ingestion_document AS d
  JOIN (SELECT document_id, max(ordinal) AS last FROM ingestion_chunk
         WHERE workspace_id = %(workspace)s
           AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
         GROUP BY document_id) AS c ON c.document_id = d.id
 WHERE d.workspace_id = %(workspace)s AND d.disabled_at IS NULL AND d.trashed_at IS NULL
 ORDER BY c.last DESC, d.title, d.id
 LIMIT %(count)s
"""

# Facts about some documents.
DOCUMENT_FACTS: Final[LiteralString] = """
SELECT d.id, d.title, d.name, d.dated, v.parser, jsonb_array_length(v.pages), length(v.text),
       v.headings::text, v.regions::text, v.metadata::text
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
 WHERE d.workspace_id = %(workspace)s AND d.id = ANY(%(documents)s::uuid[])
"""

# The most frequent names in each of some documents, of some types: names mentioned more than once,
# terms in at least three passages.
NAMES_OF_DOCUMENTS: Final[LiteralString] = """
WITH counted AS MATERIALIZED (
    SELECT document_id, entity_id, count(*) AS often, count(DISTINCT chunk_id) AS passages
      FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
     GROUP BY document_id, entity_id HAVING count(*) > 1
), ranked AS (
    SELECT c.document_id, e.name, e.type, c.often,
           row_number() OVER (PARTITION BY c.document_id, lower(e.type) = ANY(%(terms)s::text[])
                              ORDER BY c.often DESC, e.rank DESC, e.id) AS place
      FROM counted AS c
      JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = c.entity_id
     WHERE lower(e.type) = ANY(%(names)s::text[])
        OR lower(e.type) = ANY(%(terms)s::text[]) AND c.passages > 2
)
SELECT document_id, name, lower(type) = ANY(%(terms)s::text[]) FROM ranked
 WHERE place <= %(count)s
 ORDER BY document_id, place
"""

# The documents that mention an entity or have the words of a phrase: in how many passages, and
# where first. Those with most passages, and how many there are.
DOCUMENTS_MENTIONING: Final[LiteralString] = """
WITH named AS MATERIALIZED (
    SELECT chunk_id, min(start) AS start FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND entity_id = %(entity)s::uuid
     GROUP BY chunk_id
), worded AS MATERIALIZED (
    SELECT chunk_id FROM ingestion_posting
     WHERE workspace_id = %(workspace)s AND term = ANY(%(terms)s::text[])
     GROUP BY chunk_id HAVING count(*) = cardinality(%(terms)s::text[])
), found AS (
    SELECT c.document_id, count(*) AS passages,
           (array_agg(c.id ORDER BY c.ordinal))[1] AS first,
           (array_agg(n.start ORDER BY c.ordinal))[1] AS start
      FROM (SELECT chunk_id FROM named UNION SELECT chunk_id FROM worded) AS f
      JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = f.chunk_id
      LEFT JOIN named AS n ON n.chunk_id = c.id
     WHERE (n.chunk_id IS NOT NULL OR c.text ILIKE %(pattern)s)
       AND (%(documents)s::uuid[] IS NULL OR c.document_id = ANY(%(documents)s::uuid[]))
     GROUP BY c.document_id
)
SELECT d.title, f.passages, f.first, f.start, count(*) OVER ()
  FROM found AS f
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = f.document_id
 WHERE d.disabled_at IS NULL AND d.trashed_at IS NULL
 ORDER BY f.passages DESC, d.title, d.id
 LIMIT %(count)s
"""

# The passage at a document's offset, and the next one.
PASSAGE_AT: Final[LiteralString] = """
SELECT id, start, text, regions::text FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND document_id = %(document)s AND "end" > %(start)s
 ORDER BY ordinal LIMIT 2
"""

# --- citations ------------------------------------------------------------------------------------
# Which version of its document holds each quotation? The live one, unless another version replaced
# it while the answer was being made.
VERSIONS_QUOTED: Final[LiteralString] = """
SELECT t.number, coalesce(v.number, d.live_number)
  FROM unnest(%(numbers)s::int4[], %(documents)s::uuid[], %(starts)s::int4[], %(ends)s::int4[],
              %(quotes)s::text[]) AS t (number, document, start, stop, quote)
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = t.document
  LEFT JOIN LATERAL (
       SELECT of.number FROM ingestion_documentversion AS of
        WHERE of.workspace_id = %(workspace)s AND of.document_id = d.id
          AND substr(of.text, t.start + 1, t.stop - t.start) = t.quote
        ORDER BY of.number = d.live_number DESC, of.number DESC LIMIT 1) AS v
    ON EXISTS (SELECT FROM ingestion_documentversion AS other
                WHERE other.workspace_id = %(workspace)s AND other.document_id = d.id
                  AND other.number > 1)
"""

# Lock the documents that still exist until their citations are written.
HOLD_DOCUMENTS: Final[LiteralString] = """
SELECT id, title FROM ingestion_document
 WHERE workspace_id = %(workspace)s AND id = ANY(%(documents)s::uuid[])
 ORDER BY id FOR KEY SHARE
"""
