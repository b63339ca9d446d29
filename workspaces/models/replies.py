"""Stored API responses to requests that must not be carried out twice."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from workspaces.models.people import TenantForeignKey, TenantModel


class StoredReply(TenantModel):
    """The response to a request with an ``Idempotency-Key``; kept for a day.

    ``digest`` covers the whole request: reusing the key for another one is an error. The row is
    written in the request's own transaction; ``status`` is null until the request finishes.
    """

    user = TenantForeignKey(settings.AUTH_USER_MODEL)
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    headers = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user", "key"], name="stored_reply_once"),
        ]
        indexes = [models.Index(fields=["workspace", "created_at"], name="stored_reply_age")]

    def __str__(self) -> str:
        return self.key
