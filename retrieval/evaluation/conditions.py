"""The conditions of a run: what besides the modes may make it differ from the run before."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final, LiteralString

from kb_project.llm.ports import Role
from kb_project.sql import run_sql
from retrieval.evaluation import selectors
from retrieval.models import EvaluationRun, SetQuestion
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

EXTRACTIVE: Final = "extractive"

# How many documents and passages there are, and a digest that is another one whenever a document
# came, went, or was cut anew.
CORPUS: Final[LiteralString] = """
SELECT count(*), coalesce(sum(chunks), 0)::bigint,
       md5(coalesce(string_agg(version_id::text || ':' || chunks, ',' ORDER BY version_id), ''))
  FROM (SELECT version_id, count(*) AS chunks FROM ingestion_chunk
         WHERE workspace_id = %(workspace)s GROUP BY version_id) AS cut
"""


def now(workspace: Workspace, run: EvaluationRun, *, with_answers: bool) -> dict[str, Any]:
    """``conditions`` and ``corpus`` as ``EvaluationRun`` has them; ``questions`` are digests, by
    id."""
    ports = ports_for(workspace.pk)
    with access.in_workspace(workspace.pk):
        [(documents, passages, digest)] = run_sql(CORPUS, {"workspace": workspace.pk})
        questions = selectors.accepted_of(workspace=workspace, question_set=run.question_set)
        digests = {str(question.pk): digest_of(question) for question in questions}
    answers_by = ports.chat.model_of(Role.ANSWER) if ports.chat else EXTRACTIVE
    conditions = {
        **run.conditions,
        "documents": documents,
        "passages": passages,
        "embedder": ports.embedder.fingerprint,
        "answers_by": answers_by if with_answers else "",
        "questions": digests,
    }
    return {"conditions": conditions, "corpus": digest}


def digest_of(question: SetQuestion) -> str:
    """What tells whether a question is still the one that was asked."""
    asked = json.dumps([question.text, question.answer, question.evidence], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:12]
