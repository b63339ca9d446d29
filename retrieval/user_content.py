"""What people make here and keep when their access changes: conversations and question sets."""

from __future__ import annotations

from typing import Final, LiteralString

from psycopg import sql

from ingestion.editions.user_content import UserContent
from retrieval.models import (
    Answer,
    AnswerEvent,
    Citation,
    Conversation,
    EvaluationResult,
    EvaluationRun,
    Question,
    QuestionSet,
    SetQuestion,
)

_ITEMS: Final = sql.SQL("id = ANY(%(items)s::uuid[])")

# --- conversations, and the questions of earlier versions that belong to none ---------------------
OWNERS_OF_CONVERSATIONS: Final[LiteralString] = """
SELECT c.id, c.asked_by_id, EXISTS (
       SELECT FROM retrieval_question AS q
         JOIN retrieval_answer AS a ON a.workspace_id = %(workspace)s AND a.question_id = q.id
        WHERE q.workspace_id = %(workspace)s AND q.conversation_id = c.id
          AND a.state IN ('queued', 'running'))
  FROM retrieval_conversation AS c WHERE c.workspace_id = %(workspace)s
"""
OWNERS_OF_QUESTIONS: Final[LiteralString] = """
SELECT q.id, q.asked_by_id, EXISTS (
       SELECT FROM retrieval_answer AS a
        WHERE a.workspace_id = %(workspace)s AND a.question_id = q.id
          AND a.state IN ('queued', 'running'))
  FROM retrieval_question AS q
 WHERE q.workspace_id = %(workspace)s AND q.conversation_id IS NULL
"""
# What an answer cites, what it found nearest, and what was shown while it was made.
NAMED_BY_ANSWERS: Final[LiteralString] = """
SELECT asked.item, c.document_id FROM asked
  JOIN retrieval_citation AS c
    ON c.workspace_id = %(workspace)s AND c.answer_id = asked.answer AND c.document_id IS NOT NULL
 UNION
SELECT asked.item, (n ->> 'document')::uuid FROM asked
  JOIN retrieval_answer AS a ON a.workspace_id = %(workspace)s AND a.id = asked.answer,
       jsonb_array_elements(a.nearest) AS n
 WHERE n ->> 'document' <> ''
 UNION
SELECT asked.item, (p ->> 'document')::uuid FROM asked
  JOIN retrieval_answerevent AS e
    ON e.workspace_id = %(workspace)s AND e.answer_id = asked.answer
   AND e.kind IN ('passages', 'answer'),
       jsonb_path_query(e.payload, '$.*[*] ? (exists (@.document))') AS p
 WHERE p ->> 'document' <> ''
"""
ASKED_IN_CONVERSATIONS: Final[LiteralString] = """
WITH asked AS MATERIALIZED (
    SELECT q.conversation_id AS item, a.id AS answer FROM retrieval_question AS q
      JOIN retrieval_answer AS a ON a.workspace_id = %(workspace)s AND a.question_id = q.id
     WHERE q.workspace_id = %(workspace)s AND q.conversation_id = ANY(%(items)s::uuid[])
)
"""
ASKED_ALONE: Final[LiteralString] = """
WITH asked AS MATERIALIZED (
    SELECT question_id AS item, id AS answer FROM retrieval_answer
     WHERE workspace_id = %(workspace)s AND question_id = ANY(%(items)s::uuid[])
)
"""
_ANSWERS_OF_CONVERSATIONS: Final[LiteralString] = """ANY (ARRAY(
SELECT a.id FROM retrieval_question AS q
  JOIN retrieval_answer AS a ON a.workspace_id = %(source)s AND a.question_id = q.id
 WHERE q.workspace_id = %(source)s AND q.conversation_id = ANY(%(items)s::uuid[])))"""
_ANSWERS_OF_QUESTIONS: Final[LiteralString] = """ANY (ARRAY(
SELECT id FROM retrieval_answer
 WHERE workspace_id = %(source)s AND question_id = ANY(%(items)s::uuid[])))"""

# Answers are found again by the state of the workspace that they were made in.
CLEARED: Final = ((Answer, "cache_key"),)

CONVERSATIONS: Final = UserContent(
    tables=(
        (Conversation, _ITEMS),
        (Question, sql.SQL("conversation_id = ANY(%(items)s::uuid[])")),
        (Answer, sql.SQL("id = " + _ANSWERS_OF_CONVERSATIONS)),
        (AnswerEvent, sql.SQL("answer_id = " + _ANSWERS_OF_CONVERSATIONS)),
        (Citation, sql.SQL("answer_id = " + _ANSWERS_OF_CONVERSATIONS)),
    ),
    owners=OWNERS_OF_CONVERSATIONS,
    documents=ASKED_IN_CONVERSATIONS + NAMED_BY_ANSWERS,
    cleared=CLEARED,
)
QUESTIONS: Final = UserContent(
    tables=(
        (Question, _ITEMS),
        (Answer, sql.SQL("id = " + _ANSWERS_OF_QUESTIONS)),
        (AnswerEvent, sql.SQL("answer_id = " + _ANSWERS_OF_QUESTIONS)),
        (Citation, sql.SQL("answer_id = " + _ANSWERS_OF_QUESTIONS)),
    ),
    owners=OWNERS_OF_QUESTIONS,
    documents=ASKED_ALONE + NAMED_BY_ANSWERS,
    cleared=CLEARED,
)

# --- question sets --------------------------------------------------------------------------------
OWNERS_OF_SETS: Final[LiteralString] = """
SELECT s.id, s.added_by_id, EXISTS (
       SELECT FROM retrieval_evaluationrun AS r
        WHERE r.workspace_id = %(workspace)s AND r.question_set_id = s.id
          AND r.state IN ('queued', 'running'))
  FROM retrieval_questionset AS s WHERE s.workspace_id = %(workspace)s
"""
# People name documents by title too: those are their own words.
DOCUMENTS_OF_SETS: Final[LiteralString] = """
WITH named AS (
    SELECT q.question_set_id AS item, e ->> 'document' AS document
      FROM retrieval_setquestion AS q, jsonb_array_elements(q.evidence) AS e
     WHERE q.workspace_id = %(workspace)s AND q.question_set_id = ANY(%(items)s::uuid[])
     UNION
    SELECT r.question_set_id, p ->> 'document'
      FROM retrieval_evaluationrun AS r
      JOIN retrieval_evaluationresult AS t ON t.workspace_id = %(workspace)s AND t.run_id = r.id,
           jsonb_array_elements(t.passages) AS p
     WHERE r.workspace_id = %(workspace)s AND r.question_set_id = ANY(%(items)s::uuid[])
)
SELECT item, document::uuid FROM named WHERE pg_input_is_valid(document, 'uuid')
"""
SETS: Final = UserContent(
    tables=(
        (QuestionSet, _ITEMS),
        (SetQuestion, sql.SQL("question_set_id = ANY(%(items)s::uuid[])")),
        (EvaluationRun, sql.SQL("question_set_id = ANY(%(items)s::uuid[])")),
        (
            EvaluationResult,
            sql.SQL("""run_id = ANY (ARRAY(SELECT id FROM retrieval_evaluationrun
 WHERE workspace_id = %(source)s AND question_set_id = ANY(%(items)s::uuid[])))"""),
        ),
    ),
    owners=OWNERS_OF_SETS,
    documents=DOCUMENTS_OF_SETS,
    unique="name",
)

KINDS: Final = (CONVERSATIONS, QUESTIONS, SETS)
