"""The path part that names a workspace: its id or its slug."""

from __future__ import annotations

from django.urls import register_converter


class WorkspaceConverter:
    """Matches a slug or a UUID; which of the two it is, the gate finds out."""

    regex = "[-a-zA-Z0-9_]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: object) -> str:
        return str(value)


def register() -> None:
    register_converter(WorkspaceConverter, "workspace")
