"""Judges an e-mail address and a password by exactly one hash."""

from __future__ import annotations

from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.internal.userkit import filter_users_by_email
from allauth.account.models import EmailAddress

from workspaces.models import User


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
