"""Tests a workspace's models and reranker with real calls."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

from kb_project.errors import ConflictError, LimitError, ModelError
from kb_project.llm.capabilities import Feature
from kb_project.llm.config import ChatConfig
from kb_project.llm.ports import Reranker, Role
from kb_project.llm.probe import Check, ProbeResult, probe
from workspaces import access, limits, ports
from workspaces.language_models.choice import (
    ModelChoice,
    RerankChoice,
    checked,
    checked_rerank_choice,
    choice_in,
)
from workspaces.language_models.queries import row_to_change, unsaved_settings
from workspaces.language_models.services import config_needed, model_settings_save, reranker_set
from workspaces.models import IndexState, ModelSettings, RerankerKind, User, Workspace

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


@dataclass(frozen=True, slots=True)
class ModelTest:
    """``works`` says whether every model answers as it should; ``support`` is what all of them
    support.
    """

    lines: tuple[TestLine, ...]
    works: bool
    support: dict[str, bool] = field(default_factory=dict)


def model_test(
    *, workspace: Workspace, choice: ModelChoice | None = None, user: User | None = None
) -> ModelTest:
    """Make one real call of each kind to each model of a choice that is not saved yet, or of the
    saved settings. What these support is stored; nothing is stored of another choice.

    Call outside transactions. Raises ConflictError without a chat model, InputError for an invalid
    choice, and LimitError; a failure of an endpoint is a line.
    """
    check_rate(workspace=workspace, user=user)
    config = _config_of(workspace, choice)
    found = _probed(workspace, config)
    names = list(found)
    known = [result.support for result in found.values() if result.ok]
    support = {one.value: all(each.has(one) for each in known) for one in Feature if known}
    if known and (choice is None or _is_saved(workspace, checked(choice))):
        _remember(workspace, config, support)
    logger.info("models tested workspace=%s models=%s", workspace.pk, len(names))
    lines = [line for name, result in found.items() for line in _lines(name, names, result)]
    return ModelTest(tuple(lines), works=len(known) == len(names), support=support)


def model_test_and_save(
    *, workspace: Workspace, choice: ModelChoice, user: User | None = None
) -> ModelTest:
    """Test a choice, and save it if every model of it answers."""
    tested = model_test(workspace=workspace, choice=choice, user=user)
    if tested.works:
        model_settings_save(workspace=workspace, choice=choice, user=user, support=tested.support)
    return tested


def _is_saved(workspace: Workspace, choice: ModelChoice) -> bool:
    """Whether the choice's server and models are the saved ones."""
    with access.in_workspace(workspace.pk):
        now = choice_in(ports.settings_of(workspace.pk) or ModelSettings())
    names = ("key", "endpoint", "model", "role_models")
    return all(getattr(choice, name) == getattr(now, name) for name in names)


def _config_of(workspace: Workspace, choice: ModelChoice | None) -> ChatConfig:
    if choice is None:
        return config_needed(workspace)
    row = unsaved_settings(workspace=workspace, choice=choice)
    with access.in_workspace(workspace.pk):
        config = ports.chat_config(workspace.pk, row)
    if config is None:
        raise ports.no_model()
    return config


def _probed(workspace: Workspace, config: ChatConfig) -> dict[str, ProbeResult]:
    """Probe every model once, the embedding model of the active index with the first."""
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
    return found


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


def _remember(workspace: Workspace, config: ChatConfig, support: dict[str, bool]) -> None:
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        if row.endpoint in {"", config.endpoint}:
            row.support = support
            row.save()


def reranker_test(
    *, workspace: Workspace, choice: RerankChoice | None = None, user: User | None = None
) -> ModelTest:
    """Have the reranker of a choice that is not saved yet, or the saved one, order three sentences,
    one of which answers the question. The call is in the ledger; nothing else is stored.

    Call outside transactions. Raises ConflictError if reranking is off, InputError for an invalid
    choice, and LimitError; a failure of the reranker is a line.
    """
    check_rate(workspace=workspace, user=user)
    reranker = _reranker_of(workspace, choice)
    if reranker is None:
        raise ConflictError(
            "Reranking is off.",
            code="reranker_off",
            kept="Nothing was changed.",
            next_step="Choose an endpoint or the chat model first.",
        )
    line = _tried_reranking(reranker)
    logger.info("reranker tested workspace=%s works=%s", workspace.pk, line.is_good)
    return ModelTest((line,), works=line.is_good)


def reranker_test_and_save(
    *, workspace: Workspace, choice: RerankChoice, user: User | None = None
) -> ModelTest:
    """Test a choice, and save it if it works. *Off* is saved without a test."""
    tested = ModelTest((), works=True)
    if checked_rerank_choice(choice).kind is not RerankerKind.OFF:
        tested = reranker_test(workspace=workspace, choice=choice, user=user)
    if tested.works:
        reranker_set(workspace=workspace, choice=choice, user=user)
    return tested


def _reranker_of(workspace: Workspace, choice: RerankChoice | None) -> Reranker | None:
    if choice is None:
        return ports.ports_for(workspace.pk).reranker
    row = unsaved_settings(workspace=workspace, choice=choice)
    with access.in_workspace(workspace.pk):
        return ports.reranker_in(row)


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
