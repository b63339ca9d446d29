"""Hand-written SQL of asking."""

from __future__ import annotations

from typing import Final, LiteralString

# A question with all that belongs to it, in one go: many may ask at once, and wait for each
# other's statements. Nobody can know of the answer before, so nobody is told of its first event.
KEEP_ASKED: Final[LiteralString] = """
WITH conversation AS (
    INSERT INTO retrieval_conversation
           (workspace_id, id, title, asked_by_id, created_at, updated_at)
    SELECT %(workspace)s, %(conversation)s, %(title)s::text, %(person)s::bigint,
           %(now)s::timestamptz, %(now)s::timestamptz
     WHERE %(begins_conversation)s
), question AS (
    INSERT INTO retrieval_question
           (workspace_id, id, conversation_id, text, mode, scope, asked_by_id, created_at)
    SELECT %(workspace)s, %(question)s, %(conversation)s::uuid, %(text)s::text, %(mode)s::text,
           %(scope)s::jsonb, %(person)s::bigint, %(now)s::timestamptz
     WHERE %(is_new)s
), answer AS (
    INSERT INTO retrieval_answer
           (workspace_id, id, question_id, state, mode, is_supported, sentences, nearest, trace,
            written_by, worker, lease_until, created_at)
    VALUES (%(workspace)s, %(answer)s, %(question)s, %(state)s, %(answer_mode)s, false,
            '[]', '[]', '{}', '', %(worker)s, %(lease_until)s, %(now)s)
), event AS (
    INSERT INTO retrieval_answerevent
           (workspace_id, answer_id, sequence, kind, payload, created_at)
    VALUES (%(workspace)s, %(answer)s, 0, 'state', '{"state": "queued"}', %(now)s)
)
SELECT pg_notify(%(channel)s::text, %(call)s::text) WHERE %(call)s::text <> ''
"""
