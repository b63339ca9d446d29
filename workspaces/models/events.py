"""Who did what in a workspace besides its documents and its graph, what happened to accounts, and
how much of what is limited has been used.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from workspaces.models.people import TenantForeignKey, TenantModel


class AuditAction(models.TextChoices):
    """What was done. Changes to documents and to the graph are events of ``ingestion.history``."""

    WORKSPACE_CREATED = "workspace_created", "Workspace created"
    GROUP_CREATED = "group_created", "Group created"
    GROUP_CHANGED = "group_changed", "Group changed"
    GROUP_DELETED = "group_deleted", "Group deleted"
    COLLECTION_RESTRICTED = "collection_restricted", "Collection restricted"
    COLLECTION_OPENED = "collection_opened", "Collection opened to all members"
    GRANT_GIVEN = "grant_given", "Access granted"
    GRANT_TAKEN = "grant_taken", "Access removed"
    WORKSPACE_BACKED_UP = "workspace_backed_up", "Workspace backed up"
    WORKSPACE_READ_BACK = "workspace_read_back", "Workspace restored from a file"
    AUDIT_EXPORTED = "audit_exported", "Audit log exported"
    QUESTIONS_EXPORTED = "questions_exported", "Evaluation questions exported"
    RESULTS_EXPORTED = "results_exported", "Evaluation results exported"
    GRAPH_EXPORTED = "graph_exported", "Graph exported"
    SET_DELETED = "set_deleted", "Question set deleted"
    MODELS_CHANGED = "models_changed", "Models changed"
    RERANKER_CHANGED = "reranker_changed", "Reranker changed"
    EMBEDDING_CHANGED = "embedding_changed", "Change of the embedding model started"
    EMBEDDING_KEPT = "embedding_kept", "Change of the embedding model cancelled"
    PRICES_CHANGED = "prices_changed", "Prices of models changed"
    BUDGET_CHANGED = "budget_changed", "Budget changed"
    ENTITY_TYPES_CHANGED = "entity_types_changed", "Entity types changed"
    CACHE_CLEARED = "cache_cleared", "Cache of replies cleared"
    TOKEN_CREATED = "token_created", "API token created"
    TOKEN_REVOKED = "token_revoked", "API token revoked"
    INSTALLATION_MODEL_SET = "installation_model_set", "Installation's model allowed or withheld"
    WORKSPACE_CHANGED = "workspace_changed", "Workspace settings changed"
    WORKSPACE_DELETED = "workspace_deleted", "Workspace deleted"
    WORKSPACE_RESTORED = "workspace_restored", "Workspace restored"
    EXPORT_REQUESTED = "export_requested", "Export requested"
    EXPORT_DOWNLOADED = "export_downloaded", "Export downloaded"
    MEMBER_INVITED = "member_invited", "Member invited"
    INVITATION_RESENT = "invitation_resent", "Invitation renewed"
    INVITATION_REVOKED = "invitation_revoked", "Invitation revoked"
    INVITATION_DECLINED = "invitation_declined", "Invitation declined"
    MEMBER_JOINED = "member_joined", "Member joined"
    ROLE_CHANGED = "role_changed", "Role changed"
    MEMBER_REMOVED = "member_removed", "Member removed"
    MEMBER_LEFT = "member_left", "Member left"
    OWNERSHIP_TRANSFERRED = "ownership_transferred", "Ownership transferred"
    OPENED_BY_OPERATOR = "opened_by_operator", "Opened in the administration"


class AuditEvent(TenantModel):
    """One action. The application may add rows, and neither change nor delete them.

    ``action`` is an ``AuditAction``. ``actor`` is the name at the time; ``user`` is null for a
    command or a job, and once the account is deleted. ``token`` names the API token that was
    used. ``before`` and ``after`` hold what changed of the object, by field, and never a secret.
    """

    action = models.CharField(max_length=40)
    # The event outlives the account: the database then clears this.
    user = TenantForeignKey(settings.AUTH_USER_MODEL, null=True)
    actor = models.CharField(max_length=200)
    token = models.CharField(max_length=120, blank=True, default="")
    via = models.CharField(max_length=12)
    object_kind = models.CharField(max_length=40, blank=True, default="")
    object_id = models.CharField(max_length=64, blank=True, default="")
    object_name = models.CharField(max_length=300, blank=True, default="")
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["workspace", "-created_at", "-id"], name="audit_latest"),
        ]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action}"


# --- accounts -------------------------------------------------------------------------------------
class AccountEventKind(models.TextChoices):
    SIGNED_UP = "signed_up", "Account created"
    SIGNED_IN = "signed_in", "Signed in"
    SIGN_IN_FAILED = "sign_in_failed", "Wrong password"
    SIGNED_OUT = "signed_out", "Signed out"
    PASSWORD_CHANGED = "password_changed", "Password changed"
    PASSWORD_RESET = "password_reset", "Password reset by e-mail"
    EMAIL_ADDED = "email_added", "E-mail address confirmed"
    EMAIL_CHANGED = "email_changed", "Main e-mail address changed"
    EMAIL_REMOVED = "email_removed", "E-mail address removed"
    FACTOR_ADDED = "factor_added", "Second factor added"
    FACTOR_REMOVED = "factor_removed", "Second factor removed"
    FACTOR_FAILED = "factor_failed", "Wrong code"
    CODES_MADE = "codes_made", "New recovery codes"
    SESSION_ENDED = "session_ended", "Session ended"
    PROVIDER_ADDED = "provider_added", "Sign-in provider connected"
    PROVIDER_REMOVED = "provider_removed", "Sign-in provider removed"


class AccountEvent(models.Model):
    """One event of an account. The application adds rows, and neither changes nor deletes them.

    ``kind`` is an ``AccountEventKind``. ``email`` is the account's address at the time, ``address``
    the client's network address, ``detail`` which factor, address or session it was about.
    """

    # No constraint: the event outlives the account.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    email = models.EmailField()
    kind = models.CharField(max_length=20)
    detail = models.CharField(max_length=200, blank=True, default="")
    address = models.CharField(max_length=45, blank=True, default="")
    user_agent = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["user", "-created_at", "-id"], name="account_event_latest")]

    def __str__(self) -> str:
        return f"{self.email}: {self.get_kind_display()}"

    def get_kind_display(self) -> str:
        """Return the kind in words."""
        kinds = dict(AccountEventKind.choices)
        return str(kinds.get(AccountEventKind(self.kind), self.kind))


class RateLimit(models.Model):
    """One limited thing, such as a person's requests, by the digest of its name.

    ``full_at`` is the theoretical arrival time of the generic cell rate algorithm: the moment from
    which nothing counts as used any more. A row whose moment is past may be deleted.
    """

    key = models.CharField(max_length=64, primary_key=True)
    full_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key
