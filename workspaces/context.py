"""Template context for every page: the user's workspaces."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from workspaces.people import queries as people_queries


def navigation(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {"my_workspaces": people_queries.workspaces_of(user=user)}
