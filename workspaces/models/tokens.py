"""The tokens that programs sign in to the API with."""

from __future__ import annotations

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from workspaces.models.people import Capability, Membership, TenantForeignKey, TenantModel

START: Final = "cck_"
"""What the text of every token starts with."""
LONGEST_NAME: Final = 80


class ApiToken(TenantModel):
    """A member's token for one workspace.

    It ends with the membership: the database deletes both together. ``prefix`` is the part of its
    text that is shown, ``digest`` the SHA-256 of its secret, which is stored nowhere.
    ``capabilities`` are those it was given; it may use those that the membership has as well.
    ``last_used_at`` is exact to a minute.
    """

    membership = TenantForeignKey(Membership)
    name = models.CharField(max_length=LONGEST_NAME)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64)
    capabilities = ArrayField(models.CharField(max_length=20, choices=Capability.choices))
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "prefix"], name="api_token_prefix_once"),
        ]
        indexes = [
            models.Index(fields=["workspace", "membership"], name="api_token_of_member"),
        ]

    def __str__(self) -> str:
        """Name the token for logs and the history, without its secret."""
        return f"{self.name} ({START}{self.prefix})"

    @property
    def masked(self) -> str:
        return f"{START}{self.prefix}_…"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_live(self) -> bool:
        return self.revoked_at is None and not self.is_expired

    @property
    def is_read_only(self) -> bool:
        return self.capabilities == [Capability.READ.value]
