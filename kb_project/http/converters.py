"""The path converter for a workspace's id or slug."""

from __future__ import annotations

from django.urls import register_converter


class WorkspaceConverter:
    """Matches a slug or a UUID; the gate tells them apart."""

    regex = "[-a-zA-Z0-9_]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: object) -> str:
        return str(value)


def register() -> None:
    register_converter(WorkspaceConverter, "workspace")
