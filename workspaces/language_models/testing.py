"""Tests a workspace's endpoint."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from kb_project.llm.config import ChatConfig
from kb_project.llm.ports import Role
from kb_project.llm.probe import Check, ProbeResult, probe
from kb_project.llm.support import Support
from workspaces import access, ports
from workspaces.language_models.services import config_needed, row_to_change
from workspaces.models import IndexState, Workspace

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


@dataclass(frozen=True, slots=True)
class TestLine:
    """The result of one test, for people."""

    what: str
    is_good: bool
    sentence: str


def model_test(*, workspace: Workspace) -> list[TestLine]:
    """Make one real call of each kind to each model, and store what they support.

    Call outside transactions. Raises ConflictError without a chat model; a failure of an endpoint
    is a line.
    """
    config = config_needed(workspace)
    names = list(dict.fromkeys(config.model_of(role) for role in Role))
    patience = max(LEAST_PATIENCE, PATIENCE / len(names))
    embedding = _embedding_model(workspace, config)
    found = {}
    for number, name in enumerate(names):
        one = replace(config, model=name, models={})
        wanted = embedding if number == 0 else ""
        found[name] = probe(one, embedding_model=wanted, deadline=patience)
    _remember(workspace, config, list(found.values()))
    logger.info("models tested workspace=%s models=%s", workspace.pk, len(names))
    return [line for name, result in found.items() for line in _lines(name, names, result)]


def _lines(name: str, names: Sequence[str], result: ProbeResult) -> list[TestLine]:
    """Return the lines; of several models, each line names its own, and the model list appears
    once.
    """
    return [
        TestLine(_title(check, name, names), check.ok, check.sentence)
        for check in result.checks
        if check.name != "models" or name == names[0]
    ]


def _title(check: Check, name: str, names: Sequence[str]) -> str:
    title = TITLES.get(check.name, check.name)
    is_of_model = len(names) > 1 and check.name not in {"models", "embeddings"}
    return f"{title}: {name}" if is_of_model else title


def _embedding_model(workspace: Workspace, config: ChatConfig) -> str:
    with access.in_workspace(workspace.pk):
        index = ports.index_of(workspace.pk, IndexState.ACTIVE)
    return index.model if index is not None and index.endpoint == config.endpoint else ""


def _remember(workspace: Workspace, config: ChatConfig, results: Sequence[ProbeResult]) -> None:
    """Store what all models support. Models that did not answer are ignored."""
    known = [result.support for result in results if result.ok]
    if not known:
        return
    common = Support(
        **{
            each.name: all(getattr(support, each.name) for support in known)
            for each in fields(Support)
        }
    )
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        if row.endpoint in {"", config.endpoint}:
            row.support = common.as_dict()
            row.save()
