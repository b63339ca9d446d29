"""Limits how often the account pages are used, and keeps people's pages out of browsers' caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from kb_project.http.addresses import client_network
from workspaces import limits
from workspaces.limits import Rate

# POST requests to these pages, from a network and for all processes. Passwords and codes have
# limits of their own, in ``sign_in``.
LIMITED: Final = {
    "account_signup": Rate(30, 3600),
    "socialaccount_signup": Rate(30, 3600),
    "openid_connect_login": Rate(60, 3600),
    "account_reset_password": Rate(20, 3600),
    "account_reset_password_from_key": Rate(20, 3600),
    "account_confirm_email": Rate(60, 3600),
    "account_email": Rate(30, 3600),
    "account_set_password": Rate(20, 3600),
    "mfa_login_webauthn": Rate(60, 3600),
    "mfa_activate_totp": Rate(60, 3600),
}


class AccountMiddleware:
    """Counts before the view's transaction, so that no failure takes a count back."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_personal(request) and not response.has_header("Cache-Control"):
            # What has an ETag is asked for again each time; everything else is not kept at all.
            kept = "private, no-cache" if response.has_header("ETag") else "no-store"
            response.headers["Cache-Control"] = kept
        return response

    def process_view(
        self, request: HttpRequest, _view: Any, _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        name = match.url_name if match else None
        rate = LIMITED.get(name or "") if request.method == "POST" else None
        if rate is None:
            return None
        allowance = limits.take(f"page {name} from {client_network(request)}", rate)
        return None if allowance.is_allowed else refusal(request, allowance.retry_after)


def is_personal(request: HttpRequest) -> bool:
    """Whether the request says who sends it: its response is for that person alone."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES or "Authorization" in request.headers


def refusal(request: HttpRequest, retry_after: int) -> HttpResponse:
    """Return the page for too many requests."""
    minutes = max(1, -(-retry_after // 60))
    response = render(request, "429.html", {"minutes": minutes}, status=429)
    response.headers["Retry-After"] = str(retry_after)
    return response
