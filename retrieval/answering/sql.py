"""Hand-written SQL for answers as jobs, each statement named after what it does."""

from __future__ import annotations

from typing import Final, LiteralString

# Delivered when the transaction commits.
NOTIFY: Final[LiteralString] = "SELECT pg_notify(%(channel)s::text, %(payload)s::text)"

CLAIM_ANSWER: Final[LiteralString] = """
UPDATE retrieval_answer
   SET state = 'running', worker = %(worker)s,
       lease_until = now() + make_interval(secs => %(lease)s::float8)
 WHERE workspace_id = %(workspace)s AND id = %(id)s AND state = 'queued'
RETURNING id
"""
CLAIM_RUN: Final[LiteralString] = """
UPDATE retrieval_evaluationrun
   SET state = 'running', worker = %(worker)s,
       lease_until = now() + make_interval(secs => %(lease)s::float8)
 WHERE workspace_id = %(workspace)s AND id = %(id)s AND state = 'queued'
RETURNING id
"""

# Which of these are still ours, and which should stop?
RENEW_ANSWERS: Final[LiteralString] = """
UPDATE retrieval_answer
   SET lease_until = now() + make_interval(secs => %(lease)s::float8)
 WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s::uuid[])
   AND state = 'running' AND worker = %(worker)s
RETURNING id, wants_stop
"""
RENEW_RUNS: Final[LiteralString] = """
UPDATE retrieval_evaluationrun
   SET lease_until = now() + make_interval(secs => %(lease)s::float8)
 WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s::uuid[])
   AND state = 'running' AND worker = %(worker)s
RETURNING id, wants_stop
"""

FAIL_RUN: Final[LiteralString] = """
UPDATE retrieval_evaluationrun
   SET state = 'failed', problem = %(problem)s::jsonb, lease_until = NULL, finished_at = now()
 WHERE workspace_id = %(workspace)s AND id = %(id)s AND state = 'running' AND worker = %(worker)s
RETURNING id
"""

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

# The same for many followers, each with the answer at their position. A follower who may not see
# the answer gets no row; one who is up to date gets one without an event.
EVENTS_FOLLOWED: Final[LiteralString] = """
SELECT f.place, e.sequence, e.kind, e.payload::text
  FROM unnest(%(answers)s::uuid[], %(people)s::bigint[], %(afters)s::int[])
       WITH ORDINALITY AS f (answer, person, after, place)
  JOIN retrieval_answer AS a ON a.workspace_id = %(workspace)s AND a.id = f.answer
  JOIN workspaces_membership AS m
    ON m.workspace_id = %(workspace)s AND m.user_id = f.person
   AND m.capabilities @> %(may)s::varchar[]
  JOIN workspaces_user AS u ON u.id = f.person AND u.is_active
  LEFT JOIN retrieval_answerevent AS e
    ON e.workspace_id = %(workspace)s AND e.answer_id = f.answer AND e.sequence > f.after
 ORDER BY f.place, e.sequence
"""

# Queued and running jobs of every workspace: a function, since no role sees all rows at once.
UNFINISHED: Final[LiteralString] = """
SELECT kind, workspace_id, id, state, worker, is_overdue FROM retrieval_unfinished_jobs()
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
