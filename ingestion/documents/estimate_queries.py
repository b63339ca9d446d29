"""Estimates of what documents will cost, from the workspace's own settings, prices and history."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString

from django.conf import settings

from ingestion.documents import estimates
from ingestion.documents.estimates import Conditions, Estimate, Extent, History, Price, Range
from ingestion.models import Document
from kb_project.llm.ports import ChatModel, Role
from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import ModelPrice, ModelSettings, Workspace
from workspaces.ports import ports_for
from workspaces.usage import queries as usage_queries

USUAL_CONCURRENCY: Final = 8

# Averages of the workspace's own calls, for predicting future ones: tokens of an extraction answer,
# seconds of any call, and tokens of all other stages beside those of extraction.
EXPERIENCE: Final[LiteralString] = """
SELECT count(*) FILTER (WHERE role = 'extract'),
       avg(completion_tokens) FILTER (WHERE role = 'extract'),
       avg(nullif(seconds, 0)) FILTER (WHERE state = 'done'),
       coalesce(sum(prompt_tokens + completion_tokens)
                FILTER (WHERE stage NOT IN ('extract', 'situate', 'tune')), 0),
       coalesce(sum(prompt_tokens + completion_tokens) FILTER (WHERE stage = 'extract'), 0)
  FROM workspaces_modelcall
 WHERE workspace_id = %(workspace)s AND state IN ('done', 'cached') AND question_id IS NULL
"""

# How much of each document there is to read, and how many of its calls the current model has
# already answered. With %(method)s set, a passage that the same model read by another method counts
# as unanswered: its prompt has changed.
EXTENTS: Final[LiteralString] = """
WITH answered AS MATERIALIZED (
    SELECT DISTINCT chunk_id, stage FROM workspaces_modelcall
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
       AND state IN ('done', 'cached')
       AND ((stage = 'extract' AND model = %(extracts)s)
            OR (stage = 'situate' AND model = %(situates)s))
)
SELECT c.document_id, sum(c.tokens), count(*),
       count(e.chunk_id) FILTER (
           WHERE x.method IS NULL OR x.method = %(method)s::text
                 OR NOT starts_with(x.method, %(reader)s::text)),
       count(s.chunk_id)
  FROM ingestion_chunk AS c
  LEFT JOIN answered AS e ON e.chunk_id = c.id AND e.stage = 'extract'
  LEFT JOIN ingestion_chunkextraction AS x ON %(method)s::text <> ''
       AND x.workspace_id = %(workspace)s AND x.chunk_id = c.id
  LEFT JOIN answered AS s ON s.chunk_id = c.id AND s.stage = 'situate'
 WHERE c.workspace_id = %(workspace)s AND c.document_id = ANY(%(documents)s::uuid[])
 GROUP BY c.document_id
"""


@dataclass(frozen=True, slots=True)
class FileSize:
    """A file that has not been uploaded yet."""

    name: str
    size: int


def estimate_for_files(*, workspace: Workspace, files: Sequence[FileSize]) -> Estimate:
    """Estimate the cost of adding these files, from their names and sizes."""
    chat = ports_for(workspace.pk).chat
    with access.in_workspace(workspace.pk):
        conditions, left = _conditions(workspace, chat), _left(workspace)
    # Passages are counted even without a model.
    rules = conditions or _cutting(Conditions(0, 0, 0, 0, 1))
    extents = [estimates.extent_of_file(file.name, file.size, rules) for file in files]
    return estimates.estimate(extents, conditions, left=left)


def estimate_for_documents(*, workspace: Workspace, document_ids: Sequence[uuid.UUID]) -> Estimate:
    """Estimate the cost of reading these documents, from their passages once they are split.

    Ids of documents that are not in the workspace are ignored.
    """
    chat = ports_for(workspace.pk).chat
    with access.in_workspace(workspace.pk):
        conditions, left = _conditions(workspace, chat), _left(workspace)
        documents = list(Document.objects.in_workspace(workspace).filter(pk__in=document_ids))
        cut = _cut_extents(workspace, [document.pk for document in documents], chat)
    rules = conditions or _cutting(Conditions(0, 0, 0, 0, 1))
    extents = [
        cut.get(document.pk) or estimates.extent_of_file(document.name, document.size, rules)
        for document in documents
    ]
    return estimates.estimate(extents, conditions, left=left)


def estimate_for_reading_again(
    *, workspace: Workspace, documents: Mapping[uuid.UUID, bool], method: str
) -> Estimate:
    """Estimate the cost of reading documents by this method.

    ``documents`` says of each whether its passages are situated again.
    """
    chat = ports_for(workspace.pk).chat
    with access.in_workspace(workspace.pk):
        conditions, left = _conditions(workspace, chat), _left(workspace)
        cut = _cut_extents(workspace, list(documents), chat, method)
    extents = [
        replace(extent, is_situated=not documents[document]) for document, extent in cut.items()
    ]
    return estimates.estimate(extents, conditions, left=left)


def _conditions(workspace: Workspace, chat: ChatModel | None) -> Conditions | None:
    if chat is None:
        return None
    row = ModelSettings.objects.in_workspace(workspace).first()
    return _cutting(
        Conditions(
            gleanings=row.gleanings if row else 1,
            chunk_tokens=0,
            chunk_overlap=0,
            input_limit=chat.input_limit(Role.SITUATE),
            concurrency=row.concurrency if row else USUAL_CONCURRENCY,
            prices=_prices(workspace, chat),
            history=_history(workspace),
        )
    )


def _cutting(conditions: Conditions) -> Conditions:
    return estimates.cut_by(conditions, size=settings.CHUNK_TOKENS, overlap=settings.CHUNK_OVERLAP)


def _prices(workspace: Workspace, chat: ChatModel) -> Mapping[str, Price | None]:
    rows = {row.model: row for row in ModelPrice.objects.in_workspace(workspace)}
    named = {str(role): rows.get(chat.model_of(role)) for role in Role}
    return {
        role: Price(float(row.prompt), float(row.cached_prompt), float(row.completion))
        if row
        else None
        for role, row in named.items()
    }


def _history(workspace: Workspace) -> History:
    [(count, answer, seconds, others, own)] = run_sql(EXPERIENCE, {"workspace": workspace.pk})
    if count < estimates.LEAST_HISTORY:
        return History()
    return History(
        answer=float(answer),
        seconds=None if seconds is None else float(seconds),
        share=float(others) / float(own) if others and own else None,
    )


def _left(workspace: Workspace) -> float | None:
    left = usage_queries.spending_of(workspace=workspace).left
    return None if left is None else float(left)


def _cut_extents(
    workspace: Workspace, ids: Sequence[uuid.UUID], chat: ChatModel | None, method: str = ""
) -> dict[uuid.UUID, Extent]:
    values = {
        "workspace": workspace.pk,
        "documents": list(ids),
        "extracts": chat.model_of(Role.EXTRACT) if chat else "",
        "method": method,
        "reader": method.rpartition("/")[0] + "/",
        "situates": chat.model_of(Role.SITUATE) if chat else "",
    }
    return {
        document: Extent(Range(tokens, tokens), Range(passages, passages), extracted, situated)
        for document, tokens, passages, extracted, situated in run_sql(EXTENTS, values)
    }
