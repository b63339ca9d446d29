"""Putting a case off: it comes back to the same user after the others."""

from __future__ import annotations

import uuid

from ingestion.suggestions import sql
from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import User, Workspace


def case_skip(*, workspace: Workspace, user: User, case: uuid.UUID) -> None:
    """Put a case off for one user. It decides nothing, so there is no event."""
    with access.in_workspace(workspace.pk):
        values = {"workspace": workspace.pk, "user": user.pk, "case": case}
        run_sql(sql.FORGET_SKIPS, values)
        run_sql(sql.SKIP, values)
