from __future__ import annotations

from workspaces.models.events import (
    AccountEvent,
    AccountEventKind,
    AuditAction,
    AuditEvent,
    RateLimit,
)
from workspaces.models.invitations import (
    ExportState,
    Invitation,
    InvitationState,
    WorkspaceExport,
)
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
from workspaces.models.people import (
    DELETE_FOR_GOOD,
    EXPORT,
    INVITE,
    Capability,
    Group,
    GroupMember,
    Membership,
    Right,
    Role,
    StoredReply,
    TenantForeignKey,
    TenantModel,
    TenantPart,
    User,
    UserManager,
    Workspace,
)
from workspaces.models.tokens import ApiToken
