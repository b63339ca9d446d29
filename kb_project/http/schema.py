"""The API's self-description: names of serializers, tags, authentication schemes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.authentication import BasicScheme
from drf_spectacular.openapi import AutoSchema


class PasswordScheme(BasicScheme):  # type: ignore[no-untyped-call]  # registers itself
    target_class = "kb_project.http.authentication.PasswordAuthentication"
    priority = 0


class NestedNames(AutoSchema):
    """Names nested serializers after their view: ``DocumentList.Output``."""

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        *outer, own = type(serializer).__qualname__.split(".")
        return "".join(part.removesuffix("Api") for part in outer) + own.removesuffix("Serializer")

    def get_tags(self) -> list[str]:
        """Return the noun in the path after the workspace."""
        words = [word for word in self.path.split("/") if word and not word.startswith("{")]
        return [words[3] if len(words) > 3 else "workspaces"]
