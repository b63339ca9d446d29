"""Who did what in a workspace, beside its documents and its graph."""

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


class AuditEvent(TenantModel):
    """One action. The application may add rows, and neither change nor delete them.

    ``action`` is an ``AuditAction``. ``actor`` is the name at the time; ``user`` is null for a
    command or a job, and may be of an account deleted since. ``token`` names the API token that was
    used. ``before`` and ``after`` hold what changed of the object, by field, and never a secret.
    """

    action = models.CharField(max_length=40)
    # No constraint: the event outlives the account.
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
