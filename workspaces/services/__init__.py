"""Writes: who is where, and which models a workspace works with."""

from __future__ import annotations

from workspaces.services.embedding import embedding_change, embedding_give_up
from workspaces.services.model_settings import (
    PriceGiven,
    budget_set,
    cache_clear,
    entity_types_set,
    installation_model_use,
    model_settings_clear,
    model_settings_save,
    prices_set,
    tuning_forget,
    tuning_save,
    tuning_start,
)
from workspaces.services.people import member_add, person_add, workspace_create
from workspaces.services.reranking import reranker_set, reranker_test
from workspaces.services.testing import TestLine, model_test

__all__ = [
    "PriceGiven",
    "TestLine",
    "budget_set",
    "cache_clear",
    "embedding_change",
    "embedding_give_up",
    "entity_types_set",
    "installation_model_use",
    "member_add",
    "model_settings_clear",
    "model_settings_save",
    "model_test",
    "person_add",
    "prices_set",
    "reranker_set",
    "reranker_test",
    "tuning_forget",
    "tuning_save",
    "tuning_start",
    "workspace_create",
]
