"""allauth's forms, with limits that all processes share, and the rules of signing up."""

from __future__ import annotations

import time
from typing import Any, Final

from allauth.account import forms as account_forms
from allauth.core import context
from allauth.mfa.base import forms as factor_forms
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from allauth.socialaccount import forms as provider_forms
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from workspaces.accounts import events, sign_in
from workspaces.accounts.adapter import too_many
from workspaces.models import AccountEventKind

RESET_SECONDS: Final = 1.0
"""How long asking for a reset link takes, whether or not the address has an account: finding the
account and making its link take a fifth of this on a busy machine."""


class _ChosenPassword:
    """Names the two fields of a password that is chosen, and says what it must be like."""

    fields: dict[str, Any]
    label = "Password"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].label = self.label
        self.fields["password2"].label = f"{self.label} again"
        self.fields["password1"].help_text = " ".join(password_validators_help_texts())


class SignUpForm(_ChosenPassword, account_forms.SignupForm):
    def clean_email(self) -> str:
        email: str = super().clean_email()
        if not sign_in.may_sign_up_as(context.request, email):
            raise ValidationError("Accounts here are for some domains only, and this is not one.")
        return email


class SetPasswordForm(_ChosenPassword, account_forms.SetPasswordForm):
    pass


class ResetPasswordForm(account_forms.ResetPasswordForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ends = time.monotonic() + RESET_SECONDS

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        email: str = super().save(request, **kwargs)
        time.sleep(max(0.0, self._ends - time.monotonic()))
        return email


class ResetPasswordKeyForm(_ChosenPassword, account_forms.ResetPasswordKeyForm):
    label = "New password"


class ProviderSignUpForm(provider_forms.SignupForm):
    """Asks for an address only if the provider gave none, or one that is taken."""


class ChangePasswordForm(_ChosenPassword, account_forms.ChangePasswordForm):
    label = "New password"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["oldpassword"].label = "Current password"

    def clean_oldpassword(self) -> str:
        attempt = sign_in.attempt(self.user.email, context.request)
        if not attempt.is_allowed:
            raise too_many(attempt)
        password: str = super().clean_oldpassword()
        attempt.succeeded()
        return password


class _LimitedCode:
    """Limits wrong codes by account, and accepts a code once in all processes."""

    user: Any

    def clean_code(self) -> str:
        attempt = sign_in.code(self.user)
        if not attempt.is_allowed:
            raise too_many(attempt)
        code: str = super().clean_code()  # type: ignore[misc]  # of the form beside it
        if not sign_in.is_first_use(self.user, code):
            raise ValidationError("That code is wrong, or it was used before.")
        attempt.succeeded()
        return code

    def _emit_authentication_failed(self, authenticator: Any) -> None:
        events.record(
            AccountEventKind.FACTOR_FAILED,
            user=self.user,
            request=context.request,
            detail=str(authenticator),
        )


class CodeForm(_LimitedCode, factor_forms.AuthenticateForm):
    pass


class ConfirmCodeForm(_LimitedCode, factor_forms.ReauthenticateForm):
    pass


class AddPasskeyForm(AddWebAuthnForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].label = "Name, for example of the device"
        if "passwordless" in self.fields:
            self.fields["passwordless"].label = "Sign in with it alone, without a password"
            self.fields["passwordless"].initial = True
