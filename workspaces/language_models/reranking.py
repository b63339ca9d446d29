"""Sets and tests a workspace's reranker."""

from __future__ import annotations

import logging
import time
from typing import Final

from kb_project.errors import ConflictError, ModelError
from kb_project.llm.rerank import Reranker
from workspaces import access, ports, secrets
from workspaces.language_models.rerank_choice import RerankChoice, checked_rerank_choice
from workspaces.language_models.services import refuse_another_host, row_to_change
from workspaces.language_models.testing import TestLine
from workspaces.models import ModelSettings, RerankerKind, Workspace

logger = logging.getLogger(__name__)

QUESTION: Final = "Which city is the capital of France?"
TEXTS: Final = (
    "Bread is baked from flour, water, salt and yeast.",
    "The capital of France is the city of Paris.",
    "A lighthouse warns ships of rocks.",
)
ANSWERING: Final = 1


def reranker_set(*, workspace: Workspace, choice: RerankChoice) -> ModelSettings:
    """Save the choice; it applies from the next question.

    A key stays with the host it was entered for. Raises InputError for an invalid choice, and
    ConflictError for the chat model of a workspace without one; then nothing is changed.
    """
    choice = checked_rerank_choice(choice)
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        if choice.kind is RerankerKind.MODEL and ports.chat_config(workspace.pk, row) is None:
            raise ports.no_model()
        _set_key(row, choice)
        row.reranker = choice.kind
        row.rerank_endpoint = choice.endpoint
        row.rerank_model = choice.model
        row.save()
    logger.info("reranker set workspace=%s kind=%s", workspace.pk, choice.kind)
    return row


def reranker_test(*, workspace: Workspace) -> list[TestLine]:
    """Have the reranker order three sentences, one of which answers the question.

    Call outside transactions. Raises ConflictError if reranking is off; a failure of the reranker
    is a line.
    """
    reranker = ports.ports_for(workspace.pk).reranker
    if reranker is None:
        raise ConflictError(
            "Reranking is off.",
            code="reranker_off",
            kept="Nothing was changed.",
            next_step="Choose an endpoint or the chat model first.",
        )
    line = _tried(reranker)
    logger.info("reranker tested workspace=%s works=%s", workspace.pk, line.is_good)
    return [line]


def _tried(reranker: Reranker) -> TestLine:
    what = f"Reranking: {reranker.name}"
    started = time.perf_counter()
    try:
        ranking = reranker.rank(QUESTION, TEXTS)
    except ModelError as error:
        return TestLine(what, is_good=False, sentence=error.sentence)
    if ranking.order()[0] != ANSWERING:
        sentence = "It answers, but puts an irrelevant sentence first."
        return TestLine(what, is_good=False, sentence=sentence)
    how = "from the cache" if ranking.is_cached else f"in {time.perf_counter() - started:.1f} s"
    return TestLine(what, is_good=True, sentence=f"Put the right sentence first, {how}.")


def _set_key(row: ModelSettings, choice: RerankChoice) -> None:
    if row.rerank_sealed_key and choice.key is None:
        refuse_another_host(row.rerank_endpoint, choice.endpoint)
    key = choice.key if choice.endpoint else ""
    if key is not None:
        row.rerank_sealed_key = secrets.seal(key, row.workspace_id)
        row.rerank_key_hint = secrets.hint(key)
