"""Signs requests to the API in: by token, or by password where the operator allows that.

A middleware does so before the view and its transaction: the use of a token and a wrong password
are recorded even if the request then fails, and no transaction is open while a password is hashed.
REST framework's classes then ask for its result; it imports this module while it defines its views.
Sessions are REST framework's own.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from kb_project.errors import KBError, LimitError, SignInError
from kb_project.http.api_requests import CHALLENGE
from workspaces.accounts import sign_in
from workspaces.models import User
from workspaces.tokens import verification

BEARER: Final = "bearer"
BASIC: Final = "basic"


@dataclass(frozen=True, slots=True)
class SignIn:
    """What came of a request's header Authorization: a user, an error, or neither without one."""

    scheme: str = ""
    user: User | None = None
    error: KBError | None = None


def sign_in_of(request: HttpRequest) -> SignIn:
    """Sign the request in, once."""
    found: SignIn | None = getattr(request, "sign_in", None)
    if found is None:
        found = _signed_in(request)
        request.sign_in = found  # type: ignore[attr-defined]  # kept for the view
    return found


def _signed_in(request: HttpRequest) -> SignIn:
    scheme, _, credentials = request.META.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    scheme = scheme.lower()
    try:
        if scheme == BEARER:
            return SignIn(scheme, verification.user_of(credentials))
        if scheme == BASIC:
            return SignIn(scheme, _user_with_password(request, credentials))
    except KBError as error:
        return SignIn(scheme, error=error)
    return SignIn()


def _user_with_password(request: HttpRequest, credentials: str) -> User:
    if not settings.API_PASSWORDS:
        raise SignInError(
            "This server accepts no passwords over the API.",
            code="passwords_off",
            next_step=verification.HOW_TO_GET_ONE,
        )
    email, password = _decoded(credentials)
    user, tried = sign_in.by_password(email=email, password=password, request=request)
    if not tried.is_allowed:
        raise LimitError("Too many attempts with a wrong password.", retry_after=tried.retry_after)
    if user is None:
        raise SignInError("The address or the password is wrong.", code="authentication_failed")
    return user


def _decoded(credentials: str) -> tuple[str, str]:
    """Return address and password; what cannot be read is nobody's.

    >>> _decoded("QUBleGFtcGxlLm9yZzp4Onk="), _decoded("?")
    (('a@example.org', 'x:y'), ('', ''))
    """
    try:
        text = base64.b64decode(credentials.strip(), validate=True).decode()
    except ValueError:
        return "", ""
    email, _, password = text.replace("\0", "").partition(":")
    return email.strip().lower(), password


class HeaderAuthentication(BaseAuthentication):
    """REST framework's view of what the middleware found."""

    scheme = ""

    def authenticate(self, request: Request) -> tuple[User, Any] | None:
        found = sign_in_of(request._request)  # noqa: SLF001  REST framework's documented attribute
        if found.scheme != self.scheme:
            return None
        if found.error is not None:
            raise found.error
        return (found.user, found.user.token) if found.user else None

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class TokenAuthentication(HeaderAuthentication):
    """``Authorization: Bearer cck_…``: an API token."""

    scheme = BEARER


class PasswordAuthentication(HeaderAuthentication):
    """HTTP Basic with e-mail address and password, where API_PASSWORDS allows it."""

    scheme = BASIC
