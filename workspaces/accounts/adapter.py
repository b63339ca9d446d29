"""What allauth asks the product: who may sign in and up, what is recorded, where mails point."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.usersessions.adapter import DefaultUserSessionsAdapter
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from kb_project.http.addresses import client_address, public_url
from workspaces import limits, secrets
from workspaces.accounts import events, sign_in
from workspaces.limits import Rate
from workspaces.models import AccountEventKind as Kind, User

MAILS: Final = Rate(5, 3600)
"""Mails of one kind to one address. More are not sent, and no page says so."""

SECONDS_SIGN_IN_COUNTS: Final = 300

# The mail that allauth sends after each change of an account, by its template.
KIND_OF_MAIL: Final[Mapping[str, tuple[Kind, str]]] = {
    "account/email/password_changed": (Kind.PASSWORD_CHANGED, ""),
    "account/email/password_set": (Kind.PASSWORD_CHANGED, "First password"),
    "account/email/password_reset": (Kind.PASSWORD_RESET, ""),
    "account/email/email_changed": (Kind.EMAIL_CHANGED, ""),
    "account/email/email_deleted": (Kind.EMAIL_REMOVED, ""),
    "mfa/email/totp_activated": (Kind.FACTOR_ADDED, "Authenticator app"),
    "mfa/email/totp_deactivated": (Kind.FACTOR_REMOVED, "Authenticator app"),
    "mfa/email/webauthn_added": (Kind.FACTOR_ADDED, "Passkey"),
    "mfa/email/webauthn_removed": (Kind.FACTOR_REMOVED, "Passkey"),
    "mfa/email/recovery_codes_generated": (Kind.CODES_MADE, ""),
    "socialaccount/email/account_connected": (Kind.PROVIDER_ADDED, ""),
    "socialaccount/email/account_disconnected": (Kind.PROVIDER_REMOVED, ""),
}
WAYS: Final = {
    "password": "Password",
    "password_reset": "Reset link",
    "socialaccount": "Single sign-on",
    "mfa": "second factor",
    "totp": "authenticator app",
    "webauthn": "passkey",
    "recovery_codes": "recovery code",
}


class AccountAdapter(DefaultAccountAdapter):
    """Accounts: limits in Postgres, events, mails that say the same to everyone."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "email_password_mismatch": "The e-mail address or the password is wrong.",
        "incorrect_password": "That is not your password.",
        "enter_current_password": "That is not your current password.",
        "incorrect_code": "That code is wrong, or it was used before.",
    }

    # --- sign-in ---------------------------------------------------------------------------------
    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        email = str(credentials.get("email", ""))
        attempt = sign_in.attempt(email, request)
        if not attempt.is_allowed:
            raise too_many(attempt)
        user = super().authenticate(request, **credentials)
        if user is not None:
            attempt.succeeded()
        return user

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        sign_in.record_failure(str(credentials.get("email", "")), request)

    def login(self, request: HttpRequest, user: User) -> None:
        ways = _ways(request, user)
        super().login(request, user)
        events.record(Kind.SIGNED_IN, user=user, request=request, detail=ways)

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        response = super().post_login(request, user, **kwargs)
        sign_in.remember_device(response, kwargs.get("email") or user.email)
        return response

    def logout(self, request: HttpRequest) -> None:
        if isinstance(request.user, User):
            events.record(Kind.SIGNED_OUT, user=request.user, request=request)
        super().logout(request)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Whether to ask again who this is. A sign-in counts for a few minutes, as asking does."""
        records = get_authentication_records(self.request, self.request.user)
        since = time.time() - SECONDS_SIGN_IN_COUNTS
        is_recent = any(record["at"] > since for record in records)
        return not is_recent and super().is_reauthentication_required(app=app, **kwargs)

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request) or "::"

    # --- sign-up ---------------------------------------------------------------------------------
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return sign_in.may_sign_up(request)

    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        return sign_in.is_invited(request, email) or super().is_email_verified(request, email)

    def save_user(
        self,
        request: HttpRequest,
        user: Any,
        form: Any,
        commit: bool = True,  # noqa: FBT001, FBT002  allauth's
    ) -> User:
        saved: User = super().save_user(request, user, form, commit=commit)
        if commit:
            events.record(Kind.SIGNED_UP, user=saved, request=request)
        return saved

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        is_confirmed = super().confirm_email(request, email_address)
        if is_confirmed:
            person, email = email_address.user, email_address.email
            events.record(Kind.EMAIL_ADDED, user=person, request=request, detail=email)
        return is_confirmed

    def send_account_already_exists_mail(self, email: str) -> None:
        """Answer a sign-up for an account that exists, in the time that a new one takes."""
        User().set_password("of no one")
        super().send_account_already_exists_mail(email)

    # --- mails -----------------------------------------------------------------------------------
    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        if not limits.take(f"mail {template_prefix} {email.lower()}", MAILS).is_allowed:
            return
        mail = {"home_url": "/", **context}
        super().send_mail(template_prefix, email, _with_public_urls(self.request, mail))

    def send_notification_mail(
        self,
        template_prefix: str,
        user: User,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Record the change that the mail is about, and send it where mail is configured."""
        kind, detail = KIND_OF_MAIL.get(template_prefix, (None, ""))
        if kind is not None:
            about = detail or _detail(kind, context or {})
            events.record(kind, user=user, request=self.request, detail=about)
        super().send_notification_mail(template_prefix, user, context, email)


class FactorAdapter(DefaultMFAAdapter):
    """Second factors: their secrets are encrypted at rest."""

    def encrypt(self, text: str) -> str:
        return secrets.seal_factor(text)

    def generate_authenticator_name(self, user: User, type: Any) -> str:
        return f"Passkey {Authenticator.objects.filter(user=user, type=type).count() + 1}"

    def decrypt(self, encrypted_text: str) -> str:
        return secrets.unseal_factor(encrypted_text)


class SessionsAdapter(DefaultUserSessionsAdapter):
    """Sessions: records which ones are ended."""

    def end_sessions(self, sessions: Iterable[Any]) -> None:
        ended = list(sessions)
        super().end_sessions(ended)
        for session in ended:
            events.record(
                Kind.SESSION_ENDED,
                user=session.user,
                request=context.request,
                detail=f"{events.browser_in(session.user_agent)}, {session.ip}",
            )


class ProviderAdapter(DefaultSocialAccountAdapter):
    """OpenID Connect: its people may create accounts, where the installation allows that."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return bool(settings.OIDC_SIGN_UP) or sign_in.may_sign_up(request)

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        events.record(Kind.SIGNED_UP, user=user, request=request, detail=settings.OIDC_NAME)
        return user


def too_many(attempt: sign_in.Attempt) -> ValidationError:
    """Return the refusal of an attempt. It is the same for accounts that do not exist."""
    minutes = max(1, math.ceil(attempt.retry_after / 60))
    unit = "minute" if minutes == 1 else "minutes"
    return ValidationError(
        f"Too many attempts. Try again in {minutes} {unit}, or reset your password.",
        code="too_many_login_attempts",
    )


def _ways(request: HttpRequest, user: User) -> str:
    """Say how a person proved who they are, as in "Password, authenticator app"."""
    records = get_authentication_records(request, user)
    ways = [
        WAYS.get(record.get("type") or record["method"], record["method"]) for record in records
    ]
    return ", ".join(dict.fromkeys(ways)).capitalize()


def _detail(kind: Kind, mail: Mapping[str, Any]) -> str:
    if kind is Kind.EMAIL_CHANGED:
        return f"{mail.get('from_email', '')} → {mail.get('to_email', '')}"
    return str(mail.get("deleted_email") or mail.get("provider") or "")


def _with_public_urls(request: HttpRequest, mail: dict[str, Any]) -> dict[str, Any]:
    """Make every link in a mail point to the installation's own address."""
    return {
        key: public_url(request, _path(value)) if key.endswith("_url") else value
        for key, value in mail.items()
    }


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
