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

__all__ = [
    "ROLE_TITLES",
    "BudgetForm",
    "ModelForm",
    "WorkspaceForm",
    "budget_form",
    "model_form",
    "price_forms",
]
