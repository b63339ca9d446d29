"""The single way to query tenant rows.

Every tenant model's ``objects`` is made by ``TenantQuerySet.as_manager()``, and every query starts
with ``Model.objects.in_workspace(workspace)``. Row-level security enforces the same again: unless
the transaction has the workspace set, there are no rows.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Self, TypeVar

from django.db import models

if TYPE_CHECKING:
    from workspaces.models import Workspace

RowT = TypeVar("RowT", bound=models.Model)


class TenantQuerySet(models.QuerySet[RowT]):
    """A queryset whose rows carry ``workspace_id``."""

    def in_workspace(self, workspace: Workspace | uuid.UUID) -> Self:
        workspace_id = workspace if isinstance(workspace, uuid.UUID) else workspace.pk
        return self.filter(workspace_id=workspace_id)
