"""What every page knows: the workspaces of the person who looks at it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from workspaces import selectors


def navigation(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {"my_workspaces": selectors.workspaces_of(user=user)}
