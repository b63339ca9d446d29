"""Reads: who is where, and what a workspace's models did and cost."""

from __future__ import annotations

from workspaces.selectors.models import (
    EmbeddingState,
    ModelState,
    embedding_state,
    model_state,
)
from workspaces.selectors.people import (
    members_of,
    only_person,
    person,
    workspace_at,
    workspaces_of,
)
from workspaces.selectors.reranking import RerankerState, reranker_state
from workspaces.selectors.usage import (
    USAGE_KINDS,
    Spending,
    UsageLine,
    last_calls,
    prices_in,
    spending_of,
    unpriced,
    usage_by,
    usage_of_document,
    usage_total,
)

__all__ = [
    "USAGE_KINDS",
    "EmbeddingState",
    "ModelState",
    "RerankerState",
    "Spending",
    "UsageLine",
    "embedding_state",
    "last_calls",
    "members_of",
    "model_state",
    "only_person",
    "person",
    "prices_in",
    "reranker_state",
    "spending_of",
    "unpriced",
    "usage_by",
    "usage_of_document",
    "usage_total",
    "workspace_at",
    "workspaces_of",
]
