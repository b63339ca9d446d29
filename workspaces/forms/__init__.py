"""What people send about workspaces and their models."""

from __future__ import annotations

from workspaces.forms.people import WorkspaceForm

__all__ = ["WorkspaceForm"]
