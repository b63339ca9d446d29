"""Sets a workspace's models, reranker, prices, budget, and what was learned from its documents."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

from django.db import transaction
from django_q.tasks import async_task

from kb_project.errors import InputError
from kb_project.llm.config import ChatConfig
from kb_project.llm.ports import Role
from kb_project.sql import run_sql
from workspaces import access, audit, ports, sql
from workspaces.language_models.choice import (
    DEAREST,
    MOST_MONEY,
    EndpointChoice,
    ModelChoice,
    RerankChoice,
    checked,
    checked_entity_types,
    checked_model,
    checked_money,
    checked_rerank_choice,
    choice_in,
    rerank_choice_in,
)
from workspaces.language_models.queries import row_to_change, set_choice, set_reranker
from workspaces.models import (
    AuditAction,
    CachedReply,
    EmbeddingIndex,
    IndexState,
    ModelBudget,
    ModelPrice,
    ModelSettings,
    User,
    Workspace,
)

logger = logging.getLogger(__name__)

RESUME: Final = "ingestion.tasks.resume_workspace"
QUEUE: Final = "main"
MOST_PRICES: Final = 100
NO_MODEL: Final[Mapping[str, Any]] = {
    "endpoint": "",
    "model": "",
    "role_models": {},
    "limits": {},
    "parameters": {},
}
"""The choice of a workspace without a model of its own."""


@dataclass(frozen=True, slots=True)
class PriceGiven:
    """A price per million tokens. Without ``cached_prompt``, cached tokens cost the
    same as others.
    """

    model: str
    prompt: Decimal
    completion: Decimal
    cached_prompt: Decimal | None = None


def model_settings_save(
    *,
    workspace: Workspace,
    choice: ModelChoice,
    user: User | None = None,
    support: Mapping[str, bool] | None = None,
) -> ModelSettings:
    """Save the choice, with what a test found that it supports; work that was waiting resumes.

    A new key also replaces that of indexes at the same endpoint. Raises InputError for an invalid
    choice, and then nothing is changed.
    """
    choice = checked(choice)
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        before = _audited(row, choice_in(row))
        set_choice(row, choice)
        if support is not None:
            row.support = dict(support)
        row.save()
        if choice.key and choice.endpoint:
            indexes = EmbeddingIndex.objects.in_workspace(workspace)
            indexes.exclude(state=IndexState.RETIRED).filter(endpoint=row.endpoint).update(
                sealed_key=row.sealed_key
            )
        _resume(workspace)
        after = _audited(row, choice)
        _record(AuditAction.MODELS_CHANGED, workspace, user, before, after)
    logger.info("model settings saved workspace=%s", workspace.pk)
    return row


def model_settings_clear(*, workspace: Workspace, user: User | None = None) -> None:
    """Use no model, even if the installation has one. Prices, budget, cache and ledger stay, and so
    does an embedding index: its vectors are in use.
    """
    _drop_own_model(workspace, user, is_local=True)


def installation_model_use(*, workspace: Workspace, user: User | None = None) -> None:
    """Use the installation's model in place of the workspace's own or none."""
    _drop_own_model(workspace, user, is_local=False)


def installation_model_allow(*, workspace: Workspace, is_allowed: bool) -> None:
    """Let the workspace use the installation's model, or not. Only the operator's commands do this.

    Work that was waiting resumes.
    """
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        before = row.may_use_installation
        row.may_use_installation = is_allowed
        row.save()
        if is_allowed:
            _resume(workspace)
        _record(
            AuditAction.INSTALLATION_MODEL_SET,
            workspace,
            None,
            {"is_allowed": before},
            {"is_allowed": is_allowed},
        )
    logger.info("installation model set workspace=%s allowed=%s", workspace.pk, is_allowed)


def _drop_own_model(workspace: Workspace, user: User | None, *, is_local: bool) -> None:
    with access.in_workspace(workspace.pk):
        chosen = choice_in(ports.settings_of(workspace.pk) or ModelSettings())
        nothing = replace(chosen, **NO_MODEL, is_local=is_local)
        model_settings_save(workspace=workspace, choice=nothing, user=user)


def reranker_set(
    *, workspace: Workspace, choice: RerankChoice, user: User | None = None
) -> ModelSettings:
    """Save the choice; it applies from the next question.

    Raises InputError for an invalid choice, and ConflictError for the chat model of a workspace
    without one; then nothing is changed.
    """
    choice = checked_rerank_choice(choice)
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        before = _audited(row, rerank_choice_in(row))
        set_reranker(row, choice)
        row.save()
        after = _audited(row, choice)
        _record(AuditAction.RERANKER_CHANGED, workspace, user, before, after)
    logger.info("reranker set workspace=%s kind=%s", workspace.pk, choice.kind)
    return row


def prices_set(
    *, workspace: Workspace, prices: Sequence[PriceGiven], user: User | None = None
) -> list[ModelPrice]:
    """Replace all prices. Raises InputError for an invalid price."""
    rows = [_price(workspace, price) for price in prices]
    names = [row.model for row in rows]
    if len(rows) > MOST_PRICES or len(set(names)) < len(names):
        raise InputError(
            f"A model has one price, and there may be {MOST_PRICES} of them.",
            kept="Nothing was changed.",
        )
    with access.in_workspace(workspace.pk):
        before = _audited_prices(ModelPrice.objects.in_workspace(workspace))
        ModelPrice.objects.in_workspace(workspace).delete()
        ModelPrice.objects.bulk_create(rows)
        _record(AuditAction.PRICES_CHANGED, workspace, user, before, _audited_prices(rows))
    logger.info("model prices set workspace=%s models=%s", workspace.pk, len(rows))
    return rows


def budget_set(
    *, workspace: Workspace, cap: Decimal | str | float | None, user: User | None = None
) -> ModelBudget:
    """Limit the total spending, past spending included; None for no limit.

    Work that was waiting for the budget resumes. Raises InputError for an invalid amount.
    """
    amount = None if cap is None else checked_money(cap, MOST_MONEY, "The budget")
    with access.in_workspace(workspace.pk):
        run_sql(sql.BEGIN_BUDGET, {"workspace": workspace.pk})
        rows = ModelBudget.objects.in_workspace(workspace)
        before = rows.get().cap
        rows.update(cap=amount)
        budget = rows.get()
        _resume(workspace)
        caps = ({"cap": _text(before)}, {"cap": _text(budget.cap)})
        _record(AuditAction.BUDGET_CHANGED, workspace, user, *caps)
    logger.info("model budget set workspace=%s cap=%s", workspace.pk, amount)
    return budget


def cache_clear(*, workspace: Workspace, role: str = "") -> int:
    """Delete cached replies of one role or all: the same prompts are then called and paid for
    again.
    """
    if role and role not in set(Role):
        raise InputError(f"There is no role '{role[:40]}'.", kept="Nothing was removed.")
    with access.in_workspace(workspace.pk):
        rows = CachedReply.objects.in_workspace(workspace)
        removed, _ = (rows.filter(role=role) if role else rows).delete()
        audit.record(
            AuditAction.CACHE_CLEARED,
            workspace=workspace,
            user=audit.acting(workspace),
            after={"role": role or "all", "replies": removed},
        )
    logger.info("cache cleared workspace=%s role=%s removed=%s", workspace.pk, role, removed)
    return removed


def config_needed(workspace: Workspace) -> ChatConfig:
    """Return the workspace's chat models. Raises ConflictError if there are none."""
    with access.in_workspace(workspace.pk):
        config = ports.chat_config(workspace.pk, ports.settings_of(workspace.pk))
    if config is None:
        raise ports.no_model()
    return config


def _audited(row: ModelSettings, choice: EndpointChoice) -> dict[str, Any]:
    """Return what is recorded of a choice; of its key, whether there is one and its last change."""
    fields = asdict(choice)
    key = fields.pop("key")
    has_key = bool(getattr(row, f"{choice.PREFIX}sealed_key"))
    return fields | {"key": "entered" if key else "stored" if has_key else "none"}


def _audited_prices(prices: Iterable[ModelPrice]) -> dict[str, str]:
    return {
        price.model: "/".join(
            f"{amount.normalize():f}"
            for amount in (price.prompt, price.completion, price.cached_prompt)
        )
        for price in prices
    }


def _record(
    action: AuditAction,
    workspace: Workspace,
    user: User | None,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    """Record what differs, if anything does."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if names:
        audit.record(
            action,
            workspace=workspace,
            user=user,
            before={name: before[name] for name in names if name in before},
            after={name: after[name] for name in names if name in after},
        )


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount.normalize():f}"


def _price(workspace: Workspace, given: PriceGiven) -> ModelPrice:
    model = checked_model(given.model)
    if not model:
        raise InputError("A price needs the name of its model.", kept="Nothing was changed.")
    cached = given.prompt if given.cached_prompt is None else given.cached_prompt
    return ModelPrice(
        workspace=workspace,
        model=model,
        prompt=checked_money(given.prompt, DEAREST, f"The price of {model}"),
        cached_prompt=checked_money(cached, DEAREST, f"The price of {model}"),
        completion=checked_money(given.completion, DEAREST, f"The price of {model}"),
    )


def _resume(workspace: Workspace) -> None:
    transaction.on_commit(partial(async_task, RESUME, str(workspace.pk), cluster=QUEUE))


# --- what the model learned from a sample of the documents ----------------------------------------
TUNE: Final = "ingestion.tasks.tune"
TUNABLE: Final[Mapping[str, int]] = {
    "domain": 600,
    "language": 40,
    "persona": 600,
    "report_rating": 600,
    "report_language": 40,
}
"""What people may edit of it, with the most characters of each."""


def tuning_set(*, workspace: Workspace, changes: Mapping[str, str]) -> ModelSettings:
    """Edit what was learned, or say it without learning. Prompts use it from then on.

    Raises InputError for a text that is too long.
    """
    edited = {name: " ".join(text.split()) for name, text in changes.items()}
    for name, text in edited.items():
        if len(text) > TUNABLE[name]:
            raise InputError(
                f"{name.replace('_', ' ').capitalize()} has at most {TUNABLE[name]} characters.",
                kept="Nothing was changed.",
            )
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        # Why learning failed matters no more once somebody has said it instead.
        row.tuning = {**row.tuning, **edited, "problem": None}
        row.save()
    logger.info("tuning edited workspace=%s", workspace.pk)
    return row


def tuning_save(*, workspace: Workspace, tuning: Mapping[str, Any]) -> ModelSettings:
    """Save what was learned from the documents: domain, language, examples, and ``types`` if any.

    Learned types apply only if no types were chosen.
    """
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        row.tuning = dict(tuning)
        if not row.entity_types:
            row.entity_types = list(checked_entity_types(tuning.get("types", ())))
        row.save()
    logger.info("tuning saved workspace=%s", workspace.pk)
    return row


def tuning_start(*, workspace: Workspace) -> None:
    """Have the model read a sample of the documents. Raises ConflictError without a chat model."""
    config_needed(workspace)
    transaction.on_commit(partial(async_task, TUNE, str(workspace.pk), cluster=QUEUE))
    logger.info("tuning asked for workspace=%s", workspace.pk)


def tuning_forget(*, workspace: Workspace) -> ModelSettings:
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        row.tuning = {}
        row.save()
    logger.info("tuning forgotten workspace=%s", workspace.pk)
    return row
