"""The API of workspaces."""

from __future__ import annotations

from workspaces.api.models import BudgetApi, ModelsApi, ModelTestApi, PricesApi, UsageApi
from workspaces.api.people import WorkspaceApi, WorkspaceListApi
from workspaces.api.reranking import RerankerApi, RerankerTestApi

__all__ = [
    "BudgetApi",
    "ModelTestApi",
    "ModelsApi",
    "PricesApi",
    "RerankerApi",
    "RerankerTestApi",
    "UsageApi",
    "WorkspaceApi",
    "WorkspaceListApi",
]
