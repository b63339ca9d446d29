"""Invitations to a workspace, and exports of it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from workspaces.models.people import Role, TenantForeignKey, TenantModel


class InvitationState(models.TextChoices):
    OPEN = "open", "Open"
    ACCEPTED = "accepted", "Accepted"
    DECLINED = "declined", "Declined"
    REVOKED = "revoked", "Revoked"


class Invitation(TenantModel):
    """An invitation to join a workspace, by e-mail or, without an address, by a link.

    The token in its link is stored as its SHA-256 only. ``uses`` counts the people who joined; only
    a link that ``is_reusable`` serves more than one.
    """

    email = models.EmailField(blank=True)
    role = models.CharField(max_length=20, choices=Role.choices)
    token_hash = models.CharField(max_length=64)
    is_reusable = models.BooleanField(default=False)
    state = models.CharField(
        max_length=12, choices=InvitationState.choices, default=InvitationState.OPEN
    )
    uses = models.PositiveIntegerField(default=0)
    # No constraint: an invitation ends when its sender's membership does.
    created_by = TenantForeignKey(settings.AUTH_USER_MODEL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "email"],
                condition=models.Q(state="open") & ~models.Q(email=""),
                name="invitation_once",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "token_hash"], name="invitation_token"),
        ]

    def __str__(self) -> str:
        return f"{self.email or 'link'} as {self.role}"

    @property
    def is_expired(self) -> bool:
        return self.expires_at <= timezone.now()

    @property
    def rank(self) -> int:
        return Role(self.role).rank

    @property
    def role_with_article(self) -> str:
        return Role(self.role).with_article


class ExportState(models.TextChoices):
    WAITING = "waiting", "Being prepared"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"


class WorkspaceExport(TenantModel):
    """A portable file of a whole workspace, which an admin asked for. Kept for a few days."""

    state = models.CharField(
        max_length=12, choices=ExportState.choices, default=ExportState.WAITING
    )
    requested_by = TenantForeignKey(settings.AUTH_USER_MODEL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    size = models.BigIntegerField(default=0)
    problem = models.JSONField(null=True)

    class Meta:
        indexes = [models.Index(fields=["workspace", "-created_at"], name="export_latest")]

    def __str__(self) -> str:
        return f"{self.pk} {self.state}"
