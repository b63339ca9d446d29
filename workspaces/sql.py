"""Hand-written SQL for access, models, usage and idempotency."""

from __future__ import annotations

from typing import Final, LiteralString

# The third argument makes both settings end with the transaction: a pooled connection never carries
# one user's scope to the next.
SET_SCOPE: Final[LiteralString] = (
    "SELECT set_config('app.workspace_id', %(workspace)s, true),"
    " set_config('app.user_id', %(user)s, true),"
    " set_config('app.hidden_collections', %(hidden)s, true)"
)
# For work that is safe to repeat: a commit lost in a crash is redone, and the log keeps the order
# of commits.
SET_SCOPE_OF_REPEATABLE_WORK: Final[LiteralString] = (
    "SELECT set_config('app.workspace_id', %(workspace)s, true),"
    " set_config('app.user_id', %(user)s, true),"
    " set_config('app.hidden_collections', %(hidden)s, true),"
    " set_config('synchronous_commit', 'off', true)"
)
READ_SCOPE: Final[LiteralString] = (
    "SELECT coalesce(current_setting('app.workspace_id', true), ''),"
    " coalesce(current_setting('app.user_id', true), ''),"
    " coalesce(current_setting('app.hidden_collections', true), '')"
)
# The user's membership in the current workspace. Hand-written, since every request runs it.
MEMBERSHIP: Final[LiteralString] = """
SELECT m.id, m.workspace_id, m.user_id, m.role, m.capabilities, m.created_at,
       w.id, w.name, w.slug, w.is_demo, w.created_by_id, w.created_at,
       w.source_id, w.hidden, w.is_current, w.is_store, w.needs_sync, w.former_slugs,
       w.document_language, w.editors_invite, w.editors_delete, w.viewers_export, w.purge_at,
       EXISTS (SELECT FROM ingestion_collection
                WHERE workspace_id = %(workspace)s AND is_restricted)
  FROM workspaces_membership AS m
  JOIN workspaces_workspace AS w ON w.id = m.workspace_id
 WHERE m.workspace_id = %(workspace)s AND m.user_id = %(user)s
"""
# Deletes all rows of the current workspace, and the workspace itself.
PURGE: Final[LiteralString] = "SELECT workspaces_purge(%s)"

# The restricted collections of a workspace, and what a member was granted of each, alone or in a
# group: null for nothing, else whether they may change its documents.
GRANTS: Final[LiteralString] = """
SELECT c.id,
       (SELECT bool_or(g.may_edit)
          FROM ingestion_collectiongrant AS g
         WHERE g.workspace_id = %(workspace)s AND g.collection_id = c.id
           AND (g.membership_id = %(membership)s OR g.group_id IN (
                SELECT group_id FROM workspaces_groupmember
                 WHERE workspace_id = %(workspace)s AND membership_id = %(membership)s)))
  FROM ingestion_collection AS c
 WHERE c.workspace_id = %(workspace)s AND c.is_restricted
 ORDER BY c.id
"""
# Ends with the transaction. One change at a time: of a workspace's members, and of addresses.
LOCK: Final[LiteralString] = "SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0))"

# --- the ledger, the cache, the budget ------------------------------------------------------------
KEPT_REPLIES: Final[LiteralString] = """
SELECT key, text, prompt_tokens, completion_tokens
  FROM workspaces_cachedreply
 WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s::text[])
"""
KEEP_REPLIES: Final[LiteralString] = """
INSERT INTO workspaces_cachedreply
       (workspace_id, id, key, role, prompt, model, text, prompt_tokens, completion_tokens,
        created_at)
SELECT %(workspace)s, gen_random_uuid(), k.*, now()
  FROM unnest(%(keys)s::text[], %(roles)s::text[], %(prompts)s::text[], %(models)s::text[],
              %(texts)s::text[], %(prompt_tokens)s::int[], %(completion_tokens)s::int[]) AS k
    ON CONFLICT (workspace_id, key) DO NOTHING
"""
PRICES: Final[LiteralString] = """
SELECT model, prompt, cached_prompt, completion
  FROM workspaces_modelprice
 WHERE workspace_id = %(workspace)s
"""
WRITE_CALLS: Final[LiteralString] = """
INSERT INTO workspaces_modelcall
       (workspace_id, state, id, key, stage, role, prompt, prompt_version, model, document_id,
        chunk_id, question_id, code, prompt_tokens, cached_tokens, completion_tokens, cost,
        seconds, is_installation, payer_id, created_at)
SELECT %(workspace)s, c.*, clock_timestamp()
  FROM unnest(%(states)s::text[], %(ids)s::uuid[], %(keys)s::text[], %(stages)s::text[],
              %(roles)s::text[], %(prompts)s::text[], %(versions)s::text[], %(models)s::text[],
              %(documents)s::uuid[], %(chunks)s::uuid[], %(questions)s::uuid[],
              %(codes)s::text[], %(prompt_tokens)s::int[], %(cached_tokens)s::int[],
              %(completion_tokens)s::int[], %(costs)s::numeric[], %(seconds)s::float8[],
              %(is_installation)s::bool[], %(payers)s::bigint[]) AS c
    ON CONFLICT DO NOTHING
"""
# Updates no row if the cap would be exceeded, or if there is no row.
RESERVE: Final[LiteralString] = """
UPDATE workspaces_modelbudget
   SET spent = spent + %(amount)s
 WHERE workspace_id = %(workspace)s AND (cap IS NULL OR spent + %(amount)s <= cap)
"""
# The spending of a workspace without a budget row is the sum of its ledger.
BEGIN_BUDGET: Final[LiteralString] = """
INSERT INTO workspaces_modelbudget (workspace_id, id, cap, spent)
SELECT %(workspace)s, gen_random_uuid(), NULL, coalesce(sum(cost), 0)
  FROM workspaces_modelcall
 WHERE workspace_id = %(workspace)s
    ON CONFLICT (workspace_id) DO NOTHING
"""
# Whether the provider charged for these is unknown: the rows say so, and their reservation is
# released. Returns what was released of the operator's limits.
GIVE_UP_LOST_CALLS: Final[LiteralString] = """
WITH lost AS (
    SELECT id, cost, is_installation, payer_id,
           date_trunc('month', created_at AT TIME ZONE %(zone)s)::date AS month
      FROM workspaces_modelcall
     WHERE workspace_id = %(workspace)s AND state = 'open'
       AND created_at < now() - %(age)s::interval
       FOR UPDATE SKIP LOCKED
), given_up AS (
    UPDATE workspaces_modelcall AS c
       SET state = 'failed', code = 'end_unknown', cost = 0
      FROM lost WHERE c.workspace_id = %(workspace)s AND c.id = lost.id
    RETURNING lost.cost, lost.is_installation, lost.payer_id, lost.month
), released AS (
    UPDATE workspaces_modelbudget
       SET spent = greatest(0, spent - (SELECT coalesce(sum(cost), 0) FROM given_up))
     WHERE workspace_id = %(workspace)s
)
SELECT month, payer_id, -sum(cost) FROM given_up WHERE is_installation GROUP BY 1, 2
"""
# Calls open for longer than any call takes.
LOST_CALLS: Final[LiteralString] = """
SELECT count(*), coalesce(sum(cost), 0)
  FROM workspaces_modelcall
 WHERE workspace_id = %(workspace)s AND state = 'open'
   AND created_at < now() - %(age)s::interval
"""
BUDGET: Final[LiteralString] = """
SELECT cap, spent FROM workspaces_modelbudget WHERE workspace_id = %(workspace)s
"""
# Replaces each call's reservation by its cost. Calls settled before are left alone. Returns by how
# much the costs differ from what was reserved under the operator's limits.
SETTLE_CALLS: Final[LiteralString] = """
WITH given AS (
    SELECT *
      FROM unnest(%(ids)s::uuid[], %(states)s::text[], %(codes)s::text[],
                  %(prompt_tokens)s::int[], %(cached_tokens)s::int[],
                  %(completion_tokens)s::int[], %(costs)s::numeric[], %(seconds)s::float8[])
           AS g (id, state, code, prompt_tokens, cached_tokens, completion_tokens, cost, seconds)
), reserved AS (
    SELECT id, cost
      FROM workspaces_modelcall
     WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s::uuid[]) AND state = 'open'
       FOR UPDATE
), settled AS (
    UPDATE workspaces_modelcall AS c
       SET state = g.state, code = g.code, prompt_tokens = g.prompt_tokens,
           cached_tokens = g.cached_tokens, completion_tokens = g.completion_tokens,
           cost = g.cost, seconds = g.seconds
      FROM given AS g JOIN reserved AS r ON r.id = g.id
     WHERE c.workspace_id = %(workspace)s AND c.id = g.id
    RETURNING g.cost - r.cost AS more, c.is_installation, c.payer_id,
              date_trunc('month', c.created_at AT TIME ZONE %(zone)s)::date AS month
), charged AS (
    UPDATE workspaces_modelbudget
       SET spent = greatest(0, spent + (SELECT coalesce(sum(more), 0) FROM settled))
     WHERE workspace_id = %(workspace)s
)
SELECT month, payer_id, sum(more) FROM settled WHERE is_installation GROUP BY 1, 2
"""

# --- the operator's limits ------------------------------------------------------------------------
# Whose limit a workspace's calls count under: its first owner's.
PAYER: Final[LiteralString] = """
SELECT coalesce(
         (SELECT user_id FROM workspaces_membership
           WHERE workspace_id = %(workspace)s AND role = 'owner'
           ORDER BY created_at, id LIMIT 1),
         (SELECT created_by_id FROM workspaces_workspace WHERE id = %(workspace)s))
"""
# Changes no row if the limit would be exceeded.
RESERVE_UNDER_CAP: Final[LiteralString] = """
INSERT INTO workspaces_installationspending AS s (month, kind, subject, spent)
SELECT date_trunc('month', now() AT TIME ZONE %(zone)s)::date, %(kind)s, %(subject)s, %(amount)s
 WHERE %(cap)s::numeric IS NULL OR %(amount)s <= %(cap)s::numeric
    ON CONFLICT (month, kind, subject) DO UPDATE
   SET spent = s.spent + excluded.spent
 WHERE %(cap)s::numeric IS NULL OR s.spent + excluded.spent <= %(cap)s::numeric
"""
CHARGE_CAP: Final[LiteralString] = """
UPDATE workspaces_installationspending
   SET spent = greatest(0, spent + %(more)s)
 WHERE month = %(month)s AND kind = %(kind)s AND subject = %(subject)s
"""
SPENT_UNDER_CAP: Final[LiteralString] = """
SELECT spent FROM workspaces_installationspending
 WHERE month = date_trunc('month', now() AT TIME ZONE %(zone)s)::date
   AND kind = %(kind)s AND subject = %(subject)s
"""

# --- which models ---------------------------------------------------------------------------------
# Digests that identify the choice of models; the endpoint's detected support is not part of it.
# The last column says whether the workspace was deleted.
MODEL_CHOICE: Final[LiteralString] = """
SELECT (SELECT md5((to_jsonb(s) - 'support')::text)
          FROM workspaces_modelsettings AS s WHERE s.workspace_id = %(workspace)s),
       (SELECT string_agg(md5(to_jsonb(i)::text), ' ' ORDER BY i.state)
          FROM workspaces_embeddingindex AS i
         WHERE i.workspace_id = %(workspace)s AND i.state <> 'retired'),
       EXISTS (SELECT FROM workspaces_workspace AS w
                WHERE w.id = %(workspace)s AND w.purge_at IS NOT NULL)
"""

# --- usage ----------------------------------------------------------------------------------------
USAGE_BY: Final[LiteralString] = """
SELECT CASE %(by)s WHEN 'stage' THEN stage WHEN 'role' THEN role WHEN 'model' THEN model
                   WHEN 'document' THEN document_id::text
                   WHEN 'day' THEN to_char(created_at AT TIME ZONE %(zone)s, 'YYYY-MM-DD')
                   ELSE '' END AS name,
       count(*), count(*) FILTER (WHERE state = 'cached'), count(*) FILTER (WHERE state = 'failed'),
       coalesce(sum(prompt_tokens) FILTER (WHERE state <> 'cached'), 0)::bigint,
       coalesce(sum(cached_tokens) FILTER (WHERE state <> 'cached'), 0)::bigint,
       coalesce(sum(completion_tokens) FILTER (WHERE state <> 'cached'), 0)::bigint,
       coalesce(sum(cost), 0), coalesce(sum(seconds), 0)
  FROM workspaces_modelcall
 WHERE workspace_id = %(workspace)s
   AND (%(document)s::uuid IS NULL OR document_id = %(document)s::uuid)
   AND (%(by)s <> 'document' OR document_id IS NOT NULL)
 GROUP BY 1
 ORDER BY CASE WHEN %(by)s = 'day' THEN
            max(to_char(created_at AT TIME ZONE %(zone)s, 'YYYY-MM-DD')) END DESC, 8 DESC, 2 DESC, 1
 LIMIT %(most)s
"""
# A document may be gone while its calls remain.
DOCUMENT_TITLES: Final[LiteralString] = """
SELECT id::text, title FROM ingestion_document
 WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s::uuid[])
"""

# --- idempotency ----------------------------------------------------------------------------------
# How long a repeated request waits for the first one.
WAIT_BRIEFLY: Final[LiteralString] = "SET LOCAL lock_timeout = '5s'"
WAIT_AS_EVER: Final[LiteralString] = "SET LOCAL lock_timeout = DEFAULT"
# Returns no row if the key is taken; waits for a transaction that is claiming it. A claim without a
# response for longer than any answer takes was left by a process that died.
CLAIM_KEY: Final[LiteralString] = """
INSERT INTO workspaces_storedreply AS r
       (workspace_id, id, user_id, key, digest, headers, created_at)
VALUES (%(workspace)s, %(id)s, %(user)s, %(key)s, %(digest)s, '{}', now())
    ON CONFLICT (workspace_id, user_id, key) DO UPDATE
   SET id = excluded.id, digest = excluded.digest, created_at = excluded.created_at
 WHERE r.status IS NULL AND r.created_at < now() - interval '10 minutes'
RETURNING id
"""
FORGET_REPLIES: Final[LiteralString] = """
DELETE FROM workspaces_storedreply
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT id FROM workspaces_storedreply
        WHERE workspace_id = %(workspace)s AND created_at < now() - interval '24 hours'
          FOR UPDATE SKIP LOCKED)
"""

# --- limits ---------------------------------------------------------------------------------------
# Updates no row, and returns none, if the use would exceed the limit.
TAKE: Final[LiteralString] = """
INSERT INTO workspaces_ratelimit AS r (key, full_at)
VALUES (%(key)s, %(now)s + %(used)s)
    ON CONFLICT (key) DO UPDATE
   SET full_at = greatest(r.full_at, %(now)s) + %(used)s
 WHERE greatest(r.full_at, %(now)s) + %(used)s <= %(latest)s
RETURNING full_at
"""
# The same for several things at once: returns those that are allowed. A crash may lose the last
# uses, so that no request waits for the disk; the setting ends with the transaction, which is this
# statement alone.
TAKE_EACH: Final[LiteralString] = """
WITH wanted AS (
    SELECT w.key, w.used, w.latest, set_config('synchronous_commit', 'off', true)
      FROM unnest(%(keys)s::text[], %(used)s::interval[], %(latest)s::timestamptz[])
           AS w (key, used, latest)
     ORDER BY w.key
)
INSERT INTO workspaces_ratelimit AS r (key, full_at)
SELECT key, %(now)s + used FROM wanted
    ON CONFLICT (key) DO UPDATE
   SET full_at = greatest(r.full_at, %(now)s) + (excluded.full_at - %(now)s)
 WHERE greatest(r.full_at, %(now)s) + (excluded.full_at - %(now)s)
       <= (SELECT latest FROM wanted WHERE wanted.key = r.key)
RETURNING key, full_at
"""
FULL_AT: Final[LiteralString] = "SELECT full_at FROM workspaces_ratelimit WHERE key = %(key)s"
GIVE_BACK: Final[LiteralString] = """
UPDATE workspaces_ratelimit SET full_at = full_at - %(used)s WHERE key = %(key)s
"""
FORGET_OLD_RATES: Final[LiteralString] = "DELETE FROM workspaces_ratelimit WHERE full_at < now()"

# --- tokens ---------------------------------------------------------------------------------------
# A token with its user. Hand-written, since every request of a program runs it.
BEARER: Final[LiteralString] = """
SELECT t.id, t.workspace_id, t.membership_id, t.name, t.prefix, t.digest, t.capabilities,
       t.expires_at, t.last_used_at, t.revoked_at, t.created_at,
       u.id, u.is_active, u.email, u.name
  FROM workspaces_apitoken AS t
  JOIN workspaces_membership AS m ON m.workspace_id = t.workspace_id AND m.id = t.membership_id
  JOIN workspaces_user AS u ON u.id = m.user_id
 WHERE t.workspace_id = %(workspace)s AND t.prefix = %(prefix)s AND t.digest = %(digest)s
"""

# --- quotas ---------------------------------------------------------------------------------------
# Held until the transaction ends, so that two requests cannot both take what is left.
HOLD_QUOTA: Final[LiteralString] = """
SELECT pg_advisory_xact_lock(hashtextextended(%(name)s::text, 0))
"""
# Every version's file counts, those in the trash too. The document describes the only file of one
# that was never replaced, so that few of the long rows of versions are read.
STORED: Final[LiteralString] = """
WITH replaced AS MATERIALIZED (
    SELECT DISTINCT document_id AS id FROM ingestion_documentversion
     WHERE workspace_id = %(workspace)s AND number > 1
)
SELECT count(*),
       (coalesce(sum(d.size) FILTER (WHERE r.id IS NULL), 0)
        + (SELECT coalesce(sum(CASE WHEN v.size > 0 THEN v.size ELSE whole.size END), 0)
             FROM replaced
             JOIN ingestion_documentversion AS v
               ON v.workspace_id = %(workspace)s AND v.document_id = replaced.id
             JOIN ingestion_document AS whole
               ON whole.workspace_id = %(workspace)s AND whole.id = replaced.id))::bigint
  FROM ingestion_document AS d LEFT JOIN replaced AS r ON r.id = d.id
 WHERE d.workspace_id = %(workspace)s
"""
IN_FLIGHT: Final[LiteralString] = """
SELECT count(*), count(*) FILTER (WHERE q.asked_by_id = %(person)s::bigint)
  FROM retrieval_answer AS a
  JOIN retrieval_question AS q ON q.workspace_id = a.workspace_id AND q.id = a.question_id
 WHERE a.workspace_id = %(workspace)s AND a.state IN ('queued', 'running')
"""
