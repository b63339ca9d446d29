from __future__ import annotations

from workspaces.models.language_models import (
    CachedReply,
    EmbeddingIndex,
    IndexState,
    ModelBudget,
    ModelCall,
    ModelPrice,
    ModelSettings,
    RerankerKind,
)
from workspaces.models.people import (
    Capability,
    Membership,
    Role,
    TenantForeignKey,
    TenantModel,
    User,
    UserManager,
    Workspace,
)
from workspaces.models.replies import StoredReply

__all__ = [
    "CachedReply",
    "Capability",
    "EmbeddingIndex",
    "IndexState",
    "Membership",
    "ModelBudget",
    "ModelCall",
    "ModelPrice",
    "ModelSettings",
    "RerankerKind",
    "Role",
    "StoredReply",
    "TenantForeignKey",
    "TenantModel",
    "User",
    "UserManager",
    "Workspace",
]
