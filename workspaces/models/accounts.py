"""What happened to accounts, and how much of what is limited has been used."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class AccountEventKind(models.TextChoices):
    SIGNED_UP = "signed_up", "Account created"
    SIGNED_IN = "signed_in", "Signed in"
    SIGN_IN_FAILED = "sign_in_failed", "Wrong password"
    SIGNED_OUT = "signed_out", "Signed out"
    PASSWORD_CHANGED = "password_changed", "Password changed"
    PASSWORD_RESET = "password_reset", "Password reset by e-mail"
    EMAIL_ADDED = "email_added", "E-mail address confirmed"
    EMAIL_CHANGED = "email_changed", "Main e-mail address changed"
    EMAIL_REMOVED = "email_removed", "E-mail address removed"
    FACTOR_ADDED = "factor_added", "Second factor added"
    FACTOR_REMOVED = "factor_removed", "Second factor removed"
    FACTOR_FAILED = "factor_failed", "Wrong code"
    CODES_MADE = "codes_made", "New recovery codes"
    SESSION_ENDED = "session_ended", "Session ended"
    PROVIDER_ADDED = "provider_added", "Sign-in provider connected"
    PROVIDER_REMOVED = "provider_removed", "Sign-in provider removed"


class AccountEvent(models.Model):
    """One event of an account. The application adds rows, and neither changes nor deletes them.

    ``kind`` is an ``AccountEventKind``. ``email`` is the account's address at the time, ``address``
    the client's network address, ``detail`` which factor, address or session it was about.
    """

    # No constraint: the event outlives the account.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    email = models.EmailField()
    kind = models.CharField(max_length=20)
    detail = models.CharField(max_length=200, blank=True, default="")
    address = models.CharField(max_length=45, blank=True, default="")
    user_agent = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["user", "-created_at", "-id"], name="account_event_latest")]

    def __str__(self) -> str:
        return f"{self.email}: {self.get_kind_display()}"

    def get_kind_display(self) -> str:
        """Return the kind in words."""
        kinds = dict(AccountEventKind.choices)
        return str(kinds.get(AccountEventKind(self.kind), self.kind))


class RateLimit(models.Model):
    """One limited thing, such as a person's requests, by the digest of its name.

    ``full_at`` is the theoretical arrival time of the generic cell rate algorithm: the moment from
    which nothing counts as used any more. A row whose moment is past may be deleted.
    """

    key = models.CharField(max_length=64, primary_key=True)
    full_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key
