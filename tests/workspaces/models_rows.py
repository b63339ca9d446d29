"""Prices, budgets and calls of a workspace, for tests."""

from __future__ import annotations

import uuid
from decimal import Decimal

from kb_project.llm.ports import CallOutcome, CallRecord, Role
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelBudget, ModelCall, Workspace

MODEL = "small-1"
KEY = "sk-test-0123456789-wxyz"
ENDPOINT = "https://models.example.org/v1"


def use_model(workspace: Workspace) -> None:
    """A model that no one calls."""
    language_model_services.model_settings_save(
        workspace=workspace, choice=ModelChoice(endpoint=ENDPOINT, model=MODEL)
    )


def a_call(
    key: str = "k1",
    *,
    model: str = MODEL,
    role: Role = Role.EXTRACT,
    stage: str = "extract",
    document_id: uuid.UUID | None = None,
    prompt_tokens: int = 1000,
    max_output: int = 100,
) -> CallRecord:
    return CallRecord(
        key=key,
        role=role,
        stage=stage,
        prompt="extract",
        prompt_version="1",
        model=model,
        document_id=document_id,
        chunk_id=None,
        question_id=None,
        prompt_tokens_estimate=prompt_tokens,
        max_output=max_output,
    )


def an_outcome(reply: str | None = "{}", *, code: str = "", cached: int = 0) -> CallOutcome:
    return CallOutcome(
        reply=reply,
        code=code,
        prompt_tokens=900,
        cached_tokens=cached,
        completion_tokens=50,
        seconds=0.5,
    )


def set_price(workspace: Workspace, *, model: str = MODEL, prompt: int = 10) -> None:
    """A prompt of a thousand tokens costs a hundredth, an answer of a hundred two thousandths."""
    language_model_services.prices_set(
        workspace=workspace,
        prices=[PriceGiven(model=model, prompt=Decimal(prompt), completion=Decimal(20))],
    )


def ledger(workspace: Workspace) -> list[ModelCall]:
    with access.in_workspace(workspace.pk):
        return list(ModelCall.objects.in_workspace(workspace).order_by("created_at"))


def budget(workspace: Workspace) -> ModelBudget | None:
    with access.in_workspace(workspace.pk):
        return ModelBudget.objects.in_workspace(workspace).first()
