"""Tests a workspace's models and reranker with real calls."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from kb_project.errors import ConflictError, LimitError, ModelError
from kb_project.llm.capabilities import Feature
from kb_project.llm.config import ChatConfig
from kb_project.llm.ports import Reranker, Role
from kb_project.llm.probe import Check, ProbeResult, probe
from workspaces import access, limits, ports
from workspaces.language_models.services import config_needed, row_to_change
from workspaces.models import IndexState, User, Workspace

logger = logging.getLogger(__name__)

PATIENCE: Final = 30.0
"""Seconds for all models together."""
LEAST_PATIENCE: Final = 10.0
TITLES: Final = {
    "models": "List of models",
    "chat": "Answers",
    "json": "Answers in JSON",
    "schema": "Answers by a JSON schema",
    "stream": "Answers as they are written",
    "embeddings": "Embeddings",
}
RERANKED_QUESTION: Final = "Which city is the capital of France?"
RERANKED_TEXTS: Final = (
    "Bread is baked from flour, water, salt and yeast.",
    "The capital of France is the city of Paris.",
    "A lighthouse warns ships of rocks.",
)
ANSWERING: Final = 1
RATE: Final = limits.Rate(10, 600)
"""Tests of a workspace, and of a person in all workspaces."""


@dataclass(frozen=True, slots=True)
class TestLine:
    """The result of one test, for people."""

    what: str
    is_good: bool
    sentence: str


def check_rate(*, workspace: Workspace, user: User | None) -> None:
    """Count a test. Raises LimitError if the workspace or the person makes too many.

    Call outside transactions. Commands, without a ``user``, are not limited.
    """
    if user is None:
        return
    for name in (f"model-test workspace {workspace.pk}", f"model-test person {user.pk}"):
        allowance = limits.take(name, RATE)
        if not allowance.is_allowed:
            raise LimitError(
                "Models were tested too often in a short time.",
                kept="Nothing was changed.",
                next_step=f"Try again in {allowance.retry_after} seconds.",
                retry_after=allowance.retry_after,
            )


def model_test(*, workspace: Workspace, user: User | None = None) -> list[TestLine]:
    """Make one real call of each kind to each model, and store what they support.

    Call outside transactions. Raises ConflictError without a chat model, and LimitError; a failure
    of an endpoint is a line.
    """
    check_rate(workspace=workspace, user=user)
    config = config_needed(workspace)
    names = list(dict.fromkeys(config.model_of(role) for role in Role))
    patience = max(LEAST_PATIENCE, PATIENCE / len(names))
    with access.in_workspace(workspace.pk):
        index = ports.index_of(workspace.pk, IndexState.ACTIVE)
    embedding = index.model if index is not None and index.endpoint == config.endpoint else ""
    found = {}
    for name in names:
        one = replace(config, model=name, models={})
        found[name] = probe(one, embedding_model=embedding, deadline=patience)
        embedding = ""
    _remember(workspace, config, list(found.values()))
    logger.info("models tested workspace=%s models=%s", workspace.pk, len(names))
    return [line for name, result in found.items() for line in _lines(name, names, result)]


def _lines(name: str, names: Sequence[str], result: ProbeResult) -> list[TestLine]:
    """Return the lines; of several models, each line names its own, and the list appears once."""
    return [
        TestLine(_title(check, name, names), check.ok, check.sentence)
        for check in result.checks
        if check.name != "models" or name == names[0]
    ]


def _title(check: Check, name: str, names: Sequence[str]) -> str:
    title = TITLES.get(check.name, check.name)
    is_of_model = len(names) > 1 and check.name not in {"models", "embeddings"}
    return f"{title}: {name}" if is_of_model else title


def _remember(workspace: Workspace, config: ChatConfig, results: Sequence[ProbeResult]) -> None:
    """Store what all models support. Models that did not answer are ignored."""
    known = [result.support for result in results if result.ok]
    if not known:
        return
    common = {one.value: all(support.has(one) for support in known) for one in Feature}
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        if row.endpoint in {"", config.endpoint}:
            row.support = common
            row.save()


def reranker_test(*, workspace: Workspace, user: User | None = None) -> list[TestLine]:
    """Have the reranker order three sentences, one of which answers the question.

    Call outside transactions. Raises ConflictError if reranking is off, and LimitError; a failure
    of the reranker is a line.
    """
    check_rate(workspace=workspace, user=user)
    reranker = ports.ports_for(workspace.pk).reranker
    if reranker is None:
        raise ConflictError(
            "Reranking is off.",
            code="reranker_off",
            kept="Nothing was changed.",
            next_step="Choose an endpoint or the chat model first.",
        )
    line = _tried_reranking(reranker)
    logger.info("reranker tested workspace=%s works=%s", workspace.pk, line.is_good)
    return [line]


def _tried_reranking(reranker: Reranker) -> TestLine:
    what = f"Reranking: {reranker.name}"
    started = time.perf_counter()
    try:
        # Another question each time: a ranking from the cache would hide a key withdrawn since.
        ranking = reranker.rank(f"{RERANKED_QUESTION} ({uuid4().hex[:8]})", RERANKED_TEXTS)
    except ModelError as error:
        return TestLine(what, is_good=False, sentence=error.sentence)
    if ranking.order()[0] != ANSWERING:
        sentence = "It answers, but puts an irrelevant sentence first."
        return TestLine(what, is_good=False, sentence=sentence)
    seconds = time.perf_counter() - started
    return TestLine(
        what, is_good=True, sentence=f"Put the right sentence first, in {seconds:.1f} s."
    )
