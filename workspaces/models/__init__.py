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
    TenantModel,
    User,
    UserManager,
    Workspace,
)

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
    "TenantModel",
    "User",
    "UserManager",
    "Workspace",
]
