"""The pages of workspaces."""

from __future__ import annotations

from workspaces.views.people import member_list, workspace_create, workspace_list

__all__ = ["member_list", "workspace_create", "workspace_list"]
