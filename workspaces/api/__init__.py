"""The API of workspaces."""

from __future__ import annotations

from workspaces.api.models import BudgetApi, ModelsApi, ModelTestApi, PricesApi, UsageApi
from workspaces.api.people import WorkspaceApi, WorkspaceListApi

__all__ = [
    "BudgetApi",
    "ModelTestApi",
    "ModelsApi",
    "PricesApi",
    "UsageApi",
    "WorkspaceApi",
    "WorkspaceListApi",
]
