"""Signs requests to the API in before the view, and keeps a token within its workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bind_contextvars

from kb_project.errors import ForbiddenError
from kb_project.http.problems import is_for_api, refusal
from workspaces.tokens.authentication import sign_in_of

VIEWS_OUTSIDE: Final = frozenset({"workspaces_api:workspace_list", "schema", "api_docs"})
"""Views outside a workspace that a token may read: they show it its own workspace only."""


class ApiSignInMiddleware:
    """Signs requests to the API in, and names their token to logs, audit and history."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, _view: object, _args: object, address: dict[str, Any]
    ) -> HttpResponse | None:
        if not is_for_api(request):
            return None
        bind_contextvars(via="api")
        user = sign_in_of(request).user
        if user is None or user.token is None:
            return None
        bind_contextvars(token=str(user.token), user_id=user.pk)
        if "workspace_id" in address or _may_see_outside(request):
            return None
        error = ForbiddenError(
            "An API token works in its own workspace only.",
            code="token_in_workspace_only",
            kept="Nothing was changed.",
            next_step="Sign in as a person to do this.",
        )
        return refusal(request, error)


def _may_see_outside(request: HttpRequest) -> bool:
    match = request.resolver_match
    is_safe = request.method in ("GET", "HEAD", "OPTIONS")
    return match is not None and match.view_name in VIEWS_OUTSIDE and is_safe
