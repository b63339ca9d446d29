"""Second factors: set up, asked for, used up, turned off."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.core import mail
from django.urls import reverse

from tests.workspaces.accounts.people import (
    add_app,
    code_of,
    is_in,
    kinds_of,
    make_account,
    page,
    sign_in,
    visitor,
)

pytestmark = pytest.mark.django_db


def test_an_app_is_set_up_and_asked_for_at_the_next_sign_in(django_capture_on_commit_callbacks):
    ada, client = make_account(), visitor()
    sign_in(client)
    shown = client.get(reverse("mfa_activate_totp"))
    secret = shown.context["form"].secret
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})

    assert "factor_added" in kinds_of(ada)
    next_time = visitor()
    sign_in(next_time)
    assert not is_in(next_time)
    next_time.post(reverse("mfa_authenticate"), {"code": code_of(secret, steps=-9)})
    refused = is_in(next_time)
    next_time.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert is_in(next_time)
    assert not refused
    assert "Password, authenticator app" in page(next_time.get(reverse("account_security")))


def test_the_secret_is_not_in_the_database():
    ada = make_account()
    secret = add_app(ada)

    stored = Authenticator.objects.get(user=ada)

    assert secret not in str(stored.data)


def test_a_wrong_code_is_recorded():
    ada, client = make_account(), visitor()
    add_app(ada)
    sign_in(client)

    response = client.post(reverse("mfa_authenticate"), {"code": "000000"})

    assert "That code is wrong" in page(response) or "Incorrect code" in page(response)
    assert kinds_of(ada) == ["factor_failed"]


def test_a_recovery_code_signs_in_once():
    ada, client = make_account(), visitor()
    secret = add_app(ada)
    sign_in(client)
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    client.post(reverse("mfa_generate_recovery_codes"))
    codes = client.get(reverse("mfa_view_recovery_codes")).context["unused_codes"]

    first, second = visitor(), visitor()
    for other in (first, second):
        sign_in(other)
        other.post(reverse("mfa_authenticate"), {"code": codes[0]})

    assert len(codes) == 10
    assert is_in(first)
    assert not is_in(second)


def test_turning_the_app_off_is_recorded():
    ada, client = make_account(), visitor()
    secret = add_app(ada)
    sign_in(client)
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})

    client.post(reverse("mfa_deactivate_totp"))

    assert kinds_of(ada)[0] == "factor_removed"
    next_time = visitor()
    sign_in(next_time)
    assert is_in(next_time)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("with_mail")
def test_every_change_of_a_factor_is_mailed():
    make_account()
    client = visitor()
    sign_in(client)
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})
    client.post(reverse("mfa_generate_recovery_codes"))
    client.post(reverse("mfa_deactivate_totp"))

    assert [one.subject for one in mail.outbox] == [
        "An authenticator app was added to your account",
        "Your account has new recovery codes",
        "The authenticator app was removed from your account",
    ]
    assert all("Was this not you?" in one.body for one in mail.outbox)


def test_old_sessions_confirm_who_they_are_before_a_factor_changes():
    make_account()
    client = visitor()
    sign_in(client)
    session = client.session
    for record in session["account_authentication_methods"]:
        record["at"] -= 24 * 3600
    session.save()

    response = client.get(reverse("mfa_activate_totp"), follow=True)

    assert "Confirm that it’s you" in page(response)
