"""Hand-written SQL of jobs and their stages, each statement named for what it does.

A group of jobs is served by one statement: ids come as arrays. Rows are locked in id order, so that
two workers never deadlock.
"""

from __future__ import annotations

from typing import Final, LiteralString

# A document is shown as in progress from its job's first stage on.
BEGIN_JOBS: Final[LiteralString] = """
WITH began AS (
    UPDATE ingestion_ingestionjob SET state = 'running'
     WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
           SELECT id FROM ingestion_ingestionjob
            WHERE workspace_id = %(workspace)s AND id = ANY(%(jobs)s::uuid[])
              AND state IN ('pending', 'running')
            ORDER BY id FOR NO KEY UPDATE))
    RETURNING id, document_id
), shown AS (
    UPDATE ingestion_document SET state = 'working', updated_at = now()
     WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT document_id FROM began))
       AND state IN ('queued', 'paused')
)
SELECT id FROM began
"""

# Two statements: the second must see what the lane that held the lock has committed.
LOCK_JOBS: Final[LiteralString] = """
SELECT FROM ingestion_ingestionjob
 WHERE workspace_id = %(workspace)s AND id = ANY(%(jobs)s::uuid[])
 ORDER BY id FOR UPDATE
"""
CLOSE_JOBS: Final[LiteralString] = """
WITH closed AS (
    UPDATE ingestion_ingestionjob AS j SET state = 'done', problem = NULL, finished_at = now()
     WHERE j.workspace_id = %(workspace)s AND j.id = ANY(%(jobs)s::uuid[])
       AND j.id <> ALL (ARRAY(SELECT job_id FROM ingestion_stagerun
                               WHERE workspace_id = %(workspace)s
                                 AND job_id = ANY(%(jobs)s::uuid[]) AND state <> 'done'))
    RETURNING j.document_id
)
UPDATE ingestion_document SET state = 'ready', updated_at = now()
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT document_id FROM closed))
   AND id <> ALL (ARRAY(SELECT document_id FROM ingestion_ingestionjob
                         WHERE workspace_id = %(workspace)s AND kind = 'document'
                           AND document_id = ANY (ARRAY(SELECT document_id FROM closed))
                           AND id <> ALL(%(jobs)s::uuid[]) AND state IN ('pending', 'running')))
"""

# Does any job, or only one of this kind, still have one of these stages to go?
LANE_IS_BUSY: Final[LiteralString] = """
SELECT EXISTS (
    SELECT FROM ingestion_stagerun
     WHERE workspace_id = %(workspace)s AND stage = ANY(%(stages)s::text[])
       AND state IN ('pending', 'running')
       AND job_id = ANY (ARRAY(SELECT id FROM ingestion_ingestionjob
                                WHERE workspace_id = %(workspace)s
                                  AND kind = coalesce(%(kind)s::text, kind)
                                  AND state IN ('pending', 'running'))))
"""

# Jobs with unclaimed work in a lane, with the size of their document, and how often a worker has
# begun their next stage. Nothing is locked: the first to claim wins. The embedding lane waits for
# the stage %(after)s; the main lane waits for none. Versions of one document go through a lane in
# order, never two in one group. Only the %(window)s oldest unfinished jobs are considered (null:
# all), and a row without an id says that none of these can run but there may be more. Each table is
# read once: however many documents wait, and whatever the planner estimates, a group costs the
# same.
WAITING_JOBS: Final[LiteralString] = """
WITH oldest AS MATERIALIZED (
    SELECT id, kind, document_id, created_at FROM ingestion_ingestionjob
     WHERE workspace_id = %(workspace)s AND state IN ('pending', 'running')
     ORDER BY created_at LIMIT %(window)s::bigint
), open AS MATERIALIZED (
    SELECT job_id, stage, ordinal, state, leased_until, leased_by, attempts
      FROM ingestion_stagerun
     WHERE workspace_id = %(workspace)s AND state IN ('pending', 'running')
       AND stage = ANY(%(stages)s::text[] || %(after)s::text)
       AND job_id = ANY (ARRAY(SELECT id FROM oldest))
), next AS MATERIALIZED (
    SELECT DISTINCT ON (job_id) * FROM open
     WHERE stage = ANY(%(stages)s::text[])
     ORDER BY job_id, ordinal
), later AS MATERIALIZED (
    SELECT id FROM (
        SELECT j.id, row_number() OVER (
                   PARTITION BY j.document_id ORDER BY j.created_at, j.id) AS place
          FROM oldest AS j JOIN next ON next.job_id = j.id
         WHERE j.document_id IS NOT NULL) AS placed
     WHERE place > 1
), waiting AS MATERIALIZED (
    SELECT j.id, j.kind, j.document_id, j.created_at, next.attempts
      FROM oldest AS j JOIN next ON next.job_id = j.id
     WHERE (next.state = 'pending'
            OR next.leased_until < now() OR next.leased_by = %(worker)s)
       AND j.id <> ALL (ARRAY(SELECT job_id FROM open WHERE stage = %(after)s))
       AND j.id <> ALL (ARRAY(SELECT id FROM later))
     ORDER BY j.kind, j.created_at, j.id LIMIT %(most)s
)
(SELECT w.id, coalesce(d.size, 0), w.attempts
   FROM waiting AS w
   LEFT JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = w.document_id
    AND d.id = ANY (ARRAY(SELECT document_id FROM waiting))
  ORDER BY w.kind, w.created_at, w.id)
UNION ALL
SELECT NULL, 0, 0
 WHERE NOT EXISTS (SELECT FROM waiting) AND (SELECT count(*) FROM oldest) = %(window)s::bigint
"""

PLAN_STAGES: Final[LiteralString] = """
INSERT INTO ingestion_stagerun (workspace_id, id, job_id, stage, ordinal, state, units_done,
       units_total, attempts, leased_by, seconds)
SELECT %(workspace)s, gen_random_uuid(), j.job, s.stage, s.place - 1, 'pending', 0, 0, 0, '', 0
  FROM unnest(%(jobs)s::uuid[]) AS j (job)
 CROSS JOIN unnest(%(stages)s::text[]) WITH ORDINALITY AS s (stage, place)
"""

# Every stage reports, of each document alone and of each workspace: the ORM takes a millisecond to
# build this.
SHOW_UNITS: Final[LiteralString] = """
UPDATE ingestion_stagerun
   SET attempts = CASE WHEN units_done < %(done)s THEN 1 ELSE attempts END,
       units_done = %(done)s, units_total = %(total)s
 WHERE workspace_id = %(workspace)s AND id = %(run)s
"""

# However a stage ends, it may have changed what searches find.
FINISH_STAGES: Final[LiteralString] = """
WITH ended AS (
    UPDATE ingestion_stagerun
       SET state = %(state)s::text, seconds = seconds + %(seconds)s::float8,
           problem = %(problem)s::jsonb,
           finished_at = now(), leased_until = NULL,
           units_done = CASE WHEN %(state)s::text = 'done' THEN units_total ELSE units_done END
     WHERE workspace_id = %(workspace)s AND id = ANY(%(runs)s::uuid[])
       AND leased_by = %(worker)s AND state = 'running'
    RETURNING id
), changed AS (
    INSERT INTO ingestion_corpusversion AS v (workspace_id, number)
    SELECT %(workspace)s, 1 WHERE EXISTS (SELECT FROM ended)
        ON CONFLICT (workspace_id) DO UPDATE SET number = v.number + 1
)
SELECT id FROM ended
"""

# The stages wait again as if they had not been begun, with the reason recorded; their jobs and
# documents are paused.
PAUSE_STAGES: Final[LiteralString] = """
WITH paused AS (
    UPDATE ingestion_stagerun
       SET state = 'pending', leased_until = NULL, leased_by = '',
           attempts = greatest(attempts - 1, 0), problem = %(problem)s::jsonb,
           seconds = seconds + %(seconds)s::float8, finished_at = now()
     WHERE workspace_id = %(workspace)s AND id = ANY(%(runs)s::uuid[])
       AND leased_by = %(worker)s AND state = 'running'
    RETURNING job_id
), stopped AS (
    UPDATE ingestion_ingestionjob AS j SET state = 'paused', problem = %(problem)s::jsonb
      FROM paused
     WHERE j.workspace_id = %(workspace)s AND j.id = paused.job_id
       AND j.state IN ('pending', 'running')
    RETURNING j.document_id
)
UPDATE ingestion_document SET state = 'paused', updated_at = now()
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT document_id FROM stopped))
"""

# A paused refresh gives way to a newly requested one, to a newer paused one, and to documents that
# resume, since their end requests one.
FORGET_PAUSED_REFRESHES: Final[LiteralString] = """
UPDATE ingestion_ingestionjob AS j
   SET state = 'cancelled', problem = NULL, finished_at = now()
 WHERE j.workspace_id = %(workspace)s AND j.kind = 'workspace' AND j.state = 'paused'
   AND EXISTS (SELECT FROM ingestion_ingestionjob AS other
                WHERE other.workspace_id = %(workspace)s
                  AND (other.kind = 'workspace' AND other.state = 'pending'
                       OR other.kind = 'workspace' AND other.state = 'paused'
                          AND (other.created_at, other.id) > (j.created_at, j.id)
                       OR other.kind = 'document' AND other.state = 'paused'
                          AND (cardinality(%(codes)s::text[]) = 0
                               OR other.problem ->> 'code' = ANY(%(codes)s::text[]))))
"""

# Why work at this stage is paused.
# No work goes on in a workspace that was deleted.
PAUSE_AT_STAGE: Final[LiteralString] = """
(SELECT r.problem FROM ingestion_stagerun AS r
   JOIN ingestion_ingestionjob AS j ON j.workspace_id = %(workspace)s AND j.id = r.job_id
  WHERE r.workspace_id = %(workspace)s AND r.stage = %(stage)s AND r.state = 'pending'
    AND r.problem IS NOT NULL AND j.state = 'paused'
  ORDER BY r.finished_at DESC LIMIT 1)
UNION ALL
SELECT %(deleted)s::jsonb FROM workspaces_workspace
 WHERE id = %(workspace)s AND purge_at IS NOT NULL
 LIMIT 1
"""

# Jobs paused only for an unavailable model are retried after a while, all at once.
PAUSES_TO_END: Final[LiteralString] = """
SELECT coalesce(min(r.finished_at) < now() - make_interval(secs => %(seconds)s::float8), false)
  FROM ingestion_ingestionjob AS j
  JOIN ingestion_stagerun AS r
    ON r.workspace_id = %(workspace)s AND r.job_id = j.id AND r.state = 'pending'
   AND r.problem IS NOT NULL
 WHERE j.workspace_id = %(workspace)s AND j.state = 'paused'
   AND j.problem ->> 'code' = ANY(%(codes)s::text[])
"""

# No codes means all, whatever they are paused for.
RESUME_JOBS: Final[LiteralString] = """
WITH resumed AS (
    UPDATE ingestion_ingestionjob SET state = 'pending', problem = NULL, finished_at = NULL
     WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
           SELECT id FROM ingestion_ingestionjob
            WHERE workspace_id = %(workspace)s AND state = 'paused'
              AND (cardinality(%(codes)s::text[]) = 0
                   OR problem ->> 'code' = ANY(%(codes)s::text[]))
            ORDER BY id FOR NO KEY UPDATE))
    RETURNING id, document_id, created_at
), stages AS (
    UPDATE ingestion_stagerun AS r SET problem = NULL
      FROM resumed
     WHERE r.workspace_id = %(workspace)s AND r.job_id = resumed.id AND r.state = 'pending'
), shown AS (
    UPDATE ingestion_document AS d SET state = 'queued', updated_at = now()
      FROM resumed
     WHERE d.workspace_id = %(workspace)s AND d.id = resumed.document_id AND d.state = 'paused'
)
SELECT id FROM resumed ORDER BY created_at, id
"""

# Are there changes that no refresh has picked up, with none in progress? A failed refresh is not
# requested again automatically.
REFRESH_IS_MISSED: Final[LiteralString] = """
SELECT (EXISTS (SELECT FROM ingestion_entity
                WHERE workspace_id = %(workspace)s AND is_changed)
        OR EXISTS (SELECT FROM ingestion_relationship
                   WHERE workspace_id = %(workspace)s AND is_changed)
        OR EXISTS (SELECT FROM ingestion_graphtombstone WHERE workspace_id = %(workspace)s))
   AND coalesce((SELECT state = 'done' FROM ingestion_ingestionjob
                 WHERE workspace_id = %(workspace)s AND kind = 'workspace'
                 ORDER BY created_at DESC LIMIT 1), true)
"""

SECONDS_OF_LAST_REFRESH: Final[LiteralString] = """
SELECT coalesce(sum(seconds), 0) FROM ingestion_stagerun
 WHERE workspace_id = %(workspace)s AND job_id = (
       SELECT id FROM ingestion_ingestionjob
        WHERE workspace_id = %(workspace)s AND kind = 'workspace' AND state = 'done'
        ORDER BY created_at DESC LIMIT 1)
"""

ADD_REFRESH: Final[LiteralString] = """
INSERT INTO ingestion_ingestionjob
       (id, workspace_id, kind, state, cancel_requested, created_at)
VALUES (gen_random_uuid(), %(workspace)s, 'workspace', 'pending', false, clock_timestamp())
ON CONFLICT (workspace_id) WHERE kind = 'workspace' AND state = 'pending' DO NOTHING
RETURNING id
"""

# Calls to lanes. A party is a workspace's id; the worker of a lane sees those of all workspaces.
ADD_CALL: Final[LiteralString] = """
INSERT INTO ingestion_lanecall (lane, party) VALUES (%(lane)s, %(party)s)
"""
CALLERS: Final[LiteralString] = """
SELECT party, min(id) FROM ingestion_lanecall WHERE lane = %(lane)s GROUP BY party
"""
TAKE_CALLS: Final[LiteralString] = """
DELETE FROM ingestion_lanecall WHERE lane = %(lane)s AND party = %(party)s
"""
OTHERS_CALL: Final[LiteralString] = """
SELECT EXISTS (SELECT FROM ingestion_lanecall WHERE lane = %(lane)s AND party <> %(party)s)
"""
FORGET_LANE: Final[LiteralString] = "DELETE FROM ingestion_lanecall WHERE lane = %(lane)s"

# The stages wait again as if they had not been begun; what they have written stays.
PUT_BACK_STAGES: Final[LiteralString] = """
UPDATE ingestion_stagerun
   SET state = 'pending', leased_until = NULL, leased_by = '',
       attempts = greatest(attempts - 1, 0), seconds = seconds + %(seconds)s::float8
 WHERE workspace_id = %(workspace)s AND id = ANY(%(runs)s::uuid[])
   AND leased_by = %(worker)s AND state = 'running'
"""
