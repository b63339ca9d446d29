"""Who may sign in and up, and the limits on trying that all processes and all ways in share.

A use is counted before a password is judged, and given back if the password is right: however many
requests run at once, no more than the allowed number of wrong ones is judged. Call ``attempt`` and
``by_password`` outside of the request's transaction, or a failure that rolls it back takes the
count with it.

Counted are wrong passwords for an account from a network, from a network for all accounts, and for
an account from all networks. The last would let many strangers together lock a person out. So a
browser that has signed in to the account before has a count of its own, and is not held up by
the others (OWASP, "Slow down online guessing attacks with device cookies"). A passkey and the reset
link work all the time. Unknown accounts are counted as known ones are.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.internal.userkit import filter_users_by_email
from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth import authenticate
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve

from kb_project import mail
from kb_project.http.addresses import client_network
from kb_project.sql import run_sql
from workspaces import limits
from workspaces.accounts import events
from workspaces.limits import Rate
from workspaces.models import AccountEventKind, Invitation, User
from workspaces.people import invitations

# --- signing up -----------------------------------------------------------------------------------
OPEN: Final = "open"
INVITATION: Final = "invitation"
DOMAIN: Final = "domain"


def may_sign_up(request: HttpRequest) -> bool:
    """Whether this visitor may see the form. A domain is checked once the address is typed."""
    return settings.SIGN_UP in (OPEN, DOMAIN) or invitation_of(request) is not None


def may_sign_up_as(request: HttpRequest, email: str) -> bool:
    """Whether an account may be made for this address."""
    if settings.SIGN_UP != DOMAIN:
        return may_sign_up(request)
    domain = email.rpartition("@")[2].lower()
    return domain in settings.SIGN_UP_DOMAINS or invitation_of(request) is not None


def is_invited(request: HttpRequest, email: str) -> bool:
    """Whether the visitor has an invitation that was mailed to this address: it is theirs then."""
    if not mail.is_set_up():
        return False
    invited = str(getattr(invitation_of(request), "email", "") or "")
    return bool(invited) and invited.lower() == email.lower()


def invitation_of(request: HttpRequest) -> Invitation | None:
    """Return the visitor's open invitation, from the session or from where they go next."""
    if opened := invitations.invitation_in(request.session):
        return opened
    workspace_id, token = _in_next(request)
    return invitations.open_invitation(workspace_id, token) if token else None


def _in_next(request: HttpRequest) -> tuple[str, str]:
    """Return the workspace and the token of an invitation's address in the parameter ``next``."""
    address = request.POST.get("next") or request.GET.get("next") or ""
    try:
        found = resolve(address.partition("?")[0]).kwargs
    except Resolver404:
        return "", ""
    return str(found.get("space_id", "")), str(found.get("token", ""))


# --- signing in -----------------------------------------------------------------------------------
ACCOUNT_FROM_NETWORK: Final = Rate(10, 1800)
NETWORK: Final = Rate(50, 3600)
ACCOUNT: Final = Rate(60, 3600)
DEVICE: Final = Rate(10, 1800)
CODES: Final = Rate(10, 3600)
SECONDS_A_CODE_IS_VALID: Final = 120
NO_ONE: Final = 0
"""The id of no account."""

DEVICE_COOKIE: Final = "known_device"
DEVICE_COOKIE_SECONDS: Final = 180 * 24 * 3600
DEVICE_SALT: Final = "a browser that has signed in"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Whether a password or a code may be judged now; if not, in how many seconds."""

    is_allowed: bool
    retry_after: int = 0
    counted: tuple[tuple[str, Rate], ...] = ()

    def succeeded(self) -> None:
        """Give the use back: only wrong ones count."""
        for name, rate in self.counted:
            limits.give_back(name, rate)


def attempt(email: str, request: HttpRequest) -> Attempt:
    """Count an attempt to sign in to the account with this address, which need not exist."""
    account, network = account_key(email), client_network(request)
    device = _device_of(request, account)
    if device:
        return _take((f"sign-in device {device} {account}", DEVICE))
    return _take(
        (f"sign-in {account} from {network}", ACCOUNT_FROM_NETWORK),
        (f"sign-in from {network}", NETWORK),
        (f"sign-in {account}", ACCOUNT),
    )


def by_password(*, email: str, password: str, request: HttpRequest) -> tuple[User | None, Attempt]:
    """Judge an address and a password, for ways in that ask for nothing else, such as the API.

    The user is None if the attempt was not allowed, if the password is wrong, or if it is not
    enough: the account has a second factor, or an address that must be confirmed first. Nothing
    tells these apart.
    """
    tried = attempt(email, request)
    if not tried.is_allowed:
        return None, tried
    found = authenticate(request, email=email.strip(), password=password)
    user = found if isinstance(found, User) and _password_is_enough(found) else None
    if user is None:
        record_failure(email, request)
    else:
        tried.succeeded()
    return user, tried


def code(user: User) -> Attempt:
    """Count an attempt at the codes of a user who has given the right password."""
    return _take((f"code {user.pk}", CODES))


def is_first_use(user: User, given: str) -> bool:
    """Whether a code was not used before: a code is good for one sign-in, in any process."""
    digits = "".join(given.split())
    once = Rate(1, SECONDS_A_CODE_IS_VALID)
    return limits.take(f"used code {user.pk} {digits}", once).is_allowed


def record_failure(email: str, request: HttpRequest) -> None:
    """Record a wrong password on the account it was for, if there is one.

    For an address without an account, the same is written and rolled back: the time of the answer
    must not tell. A commit would tell by waiting for the disk, so this one does not wait.
    """
    user = User.objects.filter(email=email.strip().lower()).first()
    with transaction.atomic():
        run_sql("SELECT set_config('synchronous_commit', 'off', true)")
        recorded = user or User(pk=NO_ONE, email="nobody@example.org")
        events.record(AccountEventKind.SIGN_IN_FAILED, user=recorded, request=request)
        if user is None:
            transaction.set_rollback(True)


def remember_device(response: HttpResponse, email: str) -> None:
    """Mark the browser as one that has signed in to the account with this address."""
    value = {"account": account_key(email), "device": secrets.token_urlsafe(12)}
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps(value, salt=DEVICE_SALT),
        max_age=DEVICE_COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def account_key(email: str) -> str:
    """Return a digest that is the same for every way of typing an address.

    >>> account_key(" Ada@Example.com") == account_key("ada@example.com")
    True
    """
    folded = unicodedata.normalize("NFKC", email).strip().casefold()
    return hashlib.sha256(folded.encode()).hexdigest()[:32]


def _take(*counts: tuple[str, Rate]) -> Attempt:
    """Count one use of each, or of none if one of them is used up."""
    done: list[tuple[str, Rate]] = []
    for name, rate in counts:
        allowance = limits.take(name, rate)
        if not allowance.is_allowed:
            Attempt(is_allowed=False, counted=tuple(done)).succeeded()
            return Attempt(is_allowed=False, retry_after=allowance.retry_after)
        done.append((name, rate))
    return Attempt(is_allowed=True, counted=tuple(done))


def _device_of(request: HttpRequest, account: str) -> str:
    """Return the id of a browser that has signed in to this account before; '' for any other."""
    cookie = request.COOKIES.get(DEVICE_COOKIE, "")
    try:
        value = signing.loads(cookie, salt=DEVICE_SALT, max_age=DEVICE_COOKIE_SECONDS)
    except signing.BadSignature:
        return ""
    return str(value["device"]) if value["account"] == account else ""


def _password_is_enough(user: User) -> bool:
    if is_mfa_enabled(user):
        return False
    if settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory":
        return True
    return EmailAddress.objects.filter(user=user, email=user.email, verified=True).exists()


class EmailBackend(AuthenticationBackend):
    """allauth's, which tries every account with an address of this spelling.

    An unconfirmed address may be on two accounts: each would cost a hash, and the time would tell.
    So would statements: allauth's search for confirmed addresses stops early when it finds one.
    """

    def _authenticate_by_email(self, email: str, password: str) -> User | None:
        users = filter_users_by_email(email, for_login=True)
        confirmed = EmailAddress.objects.filter(email=email.lower(), verified=True)
        owners = set(confirmed.values_list("user_id", flat=True))
        preferred = [user for user in users if user.pk in owners] or users
        oldest = min(preferred, key=lambda user: user.pk, default=None)
        return self._check_password(oldest, password)


# --- account pages --------------------------------------------------------------------------------
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
