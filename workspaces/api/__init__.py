"""The API of workspaces."""

from __future__ import annotations

from workspaces.api.people import WorkspaceApi, WorkspaceListApi

__all__ = ["WorkspaceApi", "WorkspaceListApi"]
