"""Writes: who is where, and which models a workspace works with."""

from __future__ import annotations

from workspaces.services.model_settings import (
    PriceGiven,
    budget_set,
    cache_clear,
    entity_types_set,
    model_settings_clear,
    model_settings_save,
    prices_set,
    tuning_forget,
    tuning_save,
    tuning_start,
)
from workspaces.services.people import member_add, person_add, workspace_create

__all__ = [
    "PriceGiven",
    "budget_set",
    "cache_clear",
    "entity_types_set",
    "member_add",
    "model_settings_clear",
    "model_settings_save",
    "person_add",
    "prices_set",
    "tuning_forget",
    "tuning_save",
    "tuning_start",
    "workspace_create",
]
