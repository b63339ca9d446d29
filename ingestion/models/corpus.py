"""The state of what can be searched, as one number a workspace."""

from __future__ import annotations

from django.db import models

from workspaces.models import Workspace
from workspaces.querysets import TenantQuerySet


class CorpusVersion(models.Model):
    """Grows in the transaction that ends any stage of any document or refresh.

    While a job is unfinished, what can be searched changes without it: read it through
    ``ingestion.selectors.corpus``.
    """

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.DO_NOTHING, related_name="+"
    )
    number = models.BigIntegerField(default=0)

    objects = TenantQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.workspace_id} at {self.number}"
