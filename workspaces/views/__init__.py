"""The pages of workspaces."""

from __future__ import annotations

from workspaces.views.models import (
    budget_set,
    cache_clear,
    embedding_change,
    embedding_give_up,
    installation_model_use,
    model_settings,
    model_settings_clear,
    model_test,
    prices_set,
    tuning_forget,
    tuning_start,
    usage,
)
from workspaces.views.people import member_list, workspace_create, workspace_list
from workspaces.views.reranking import reranker_set, reranker_test

__all__ = [
    "budget_set",
    "cache_clear",
    "embedding_change",
    "embedding_give_up",
    "installation_model_use",
    "member_list",
    "model_settings",
    "model_settings_clear",
    "model_test",
    "prices_set",
    "reranker_set",
    "reranker_test",
    "tuning_forget",
    "tuning_start",
    "usage",
    "workspace_create",
    "workspace_list",
]
