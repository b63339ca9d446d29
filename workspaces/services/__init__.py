"""Writes: who is where, and which models a workspace works with."""

from __future__ import annotations

from workspaces.services.people import member_add, person_add, workspace_create

__all__ = ["member_add", "person_add", "workspace_create"]
