"""Signs requests to the API in: by token, or by password where the operator allows that.

A token reads ``cck_<prefix>_<workspace>_<secret>``, in lower-case base32. It names its workspace,
because row-level security shows tokens of a named workspace only. Only the SHA-256 of the secret is
stored: 160 random bits need no slow hash.

A middleware does so before the view and its transaction: the use of a token and a wrong password
are recorded even if the request then fails, and no transaction is open while a password is hashed.
REST framework's classes then ask for its result; it imports this module while it defines its views.
Sessions are REST framework's own.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from kb_project.errors import KBError, LimitError, SignInError
from kb_project.http.api_requests import CHALLENGE
from kb_project.sql import run_sql
from workspaces import access, sql
from workspaces.accounts import sign_in
from workspaces.models import ApiToken, User
from workspaces.models.tokens import START

TEXT: Final = re.compile(rf"{START}([a-z2-7]{{8}})_([a-z2-7]{{26}})_([a-z2-7]{{32}})")
# The columns of ``sql.BEARER``, named and ordered as in the models; the user's others are deferred.
TOKEN: Final = (
    *("id", "workspace_id", "membership_id", "name", "prefix", "digest", "capabilities"),
    *("expires_at", "last_used_at", "revoked_at", "created_at"),
)
USER: Final = ("id", "is_active", "email", "name")
LAST_USED_EXACT_TO: Final = timedelta(minutes=1)
HOW_TO_GET_ONE: Final = "Create a token on the page API tokens of your workspace."


@dataclass(frozen=True, slots=True)
class NewToken:
    """What is stored of a new token, and its text, which is not."""

    prefix: str
    digest: str
    text: str


def new_token(workspace_id: uuid.UUID) -> NewToken:
    prefix, secret = _base32(secrets.token_bytes(5)), _base32(secrets.token_bytes(20))
    return NewToken(
        prefix=prefix,
        digest=_digest(secret),
        text=f"{START}{prefix}_{_base32(workspace_id.bytes)}_{secret}",
    )


def user_of(text: str) -> User:
    """Return the user whom a token signs in, with the token; white space in it does not matter.

    Raises SignInError. Only a holder of the secret learns that the token expired or was revoked.
    Call it outside the transaction of the request's work, which may fail or last: it records the
    use.
    """
    parts = TEXT.fullmatch("".join(text.split()))
    workspace_id = _workspace_of(parts[2]) if parts else None
    if parts is None or workspace_id is None:
        raise _refused("This is no API token.", "token_unknown")
    wanted = {"workspace": workspace_id, "prefix": parts[1], "digest": _digest(parts[3])}
    with access.in_workspace(workspace_id):
        rows = run_sql(sql.BEARER, wanted)
        if not rows:
            raise _refused("There is no such token.", "token_unknown")
        token = ApiToken.from_db(DEFAULT_DB_ALIAS, TOKEN, rows[0][: len(TOKEN)])
        user = User.from_db(DEFAULT_DB_ALIAS, USER, rows[0][len(TOKEN) :])
        _check_live(token, user)
        _record_use(token)
    user.token = token
    return user


def _check_live(token: ApiToken, user: User) -> None:
    if token.revoked_at is not None:
        raise _refused(f"The token {token} was revoked.", "token_revoked")
    if token.is_expired:
        raise _refused(f"The token {token} has expired.", "token_expired")
    if not user.is_active:
        raise _refused("The account of this token is closed.", "account_closed")


def _record_use(token: ApiToken) -> None:
    """Record when it was last used, at most once a minute."""
    now = timezone.now()
    is_recent = token.last_used_at and token.last_used_at > now - LAST_USED_EXACT_TO
    if not is_recent:
        # Of requests at once, the first one writes.
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_EXACT_TO)
        rows = ApiToken.objects.in_workspace(token.workspace_id).filter(stale, pk=token.pk)
        rows.update(last_used_at=now)


def _refused(happened: str, code: str) -> SignInError:
    return SignInError(happened, code=code, next_step=HOW_TO_GET_ONE)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _base32(value: bytes) -> str:
    """
    >>> _base32(b"hello")
    'nbswy3dp'
    """
    return base64.b32encode(value).decode().rstrip("=").lower()


def _workspace_of(text: str) -> uuid.UUID | None:
    """Return the workspace's id; None if the bits after it are set, so that each id has one text.

    >>> _workspace_of(_base32(uuid.UUID(int=7).bytes)).int, _workspace_of("a" * 25 + "b")
    (7, None)
    """
    value = base64.b32decode(f"{text.upper()}======")
    return uuid.UUID(bytes=value) if _base32(value) == text else None


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
            return SignIn(scheme, user_of(credentials))
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
            next_step=HOW_TO_GET_ONE,
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
