"""What people send about workspaces and their models."""

from __future__ import annotations

from workspaces.forms.models import (
    ROLE_TITLES,
    BudgetForm,
    ModelForm,
    budget_form,
    model_form,
    price_forms,
)
from workspaces.forms.people import WorkspaceForm
from workspaces.forms.reranking import RerankForm, rerank_form

__all__ = [
    "ROLE_TITLES",
    "BudgetForm",
    "ModelForm",
    "RerankForm",
    "WorkspaceForm",
    "budget_form",
    "model_form",
    "price_forms",
    "rerank_form",
]
