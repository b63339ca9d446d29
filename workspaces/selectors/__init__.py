"""Reads: who is where, and what a workspace's models did and cost."""

from __future__ import annotations

from workspaces.selectors.people import (
    members_of,
    only_person,
    person,
    workspace_at,
    workspaces_of,
)

__all__ = ["members_of", "only_person", "person", "workspace_at", "workspaces_of"]
