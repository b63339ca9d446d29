from __future__ import annotations

from workspaces.models.audit import AuditAction, AuditEvent
from workspaces.models.language_models import (
    CachedReply,
    EmbeddingIndex,
    IndexState,
    InstallationSpending,
    ModelBudget,
    ModelCall,
    ModelPrice,
    ModelSettings,
    RerankerKind,
)
from workspaces.models.limits import RateLimit
from workspaces.models.people import (
    Capability,
    Group,
    GroupMember,
    Membership,
    Role,
    StoredReply,
    TenantForeignKey,
    TenantModel,
    User,
    UserManager,
    Workspace,
)
from workspaces.models.tokens import ApiToken

__all__ = [
    "ApiToken",
    "AuditAction",
    "AuditEvent",
    "CachedReply",
    "Capability",
    "EmbeddingIndex",
    "Group",
    "GroupMember",
    "IndexState",
    "InstallationSpending",
    "Membership",
    "ModelBudget",
    "ModelCall",
    "ModelPrice",
    "ModelSettings",
    "RateLimit",
    "RerankerKind",
    "Role",
    "StoredReply",
    "TenantForeignKey",
    "TenantModel",
    "User",
    "UserManager",
    "Workspace",
]
