"""What the API answered to requests that must not be carried out twice."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from workspaces.models.people import TenantModel


class StoredReply(TenantModel):
    """The answer to a request that came with an ``Idempotency-Key``; kept for a day.

    ``digest`` is of the whole request: the same key with another one is a mistake. The row is
    written in the request's own transaction: while ``status`` is null somebody is at it.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
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
