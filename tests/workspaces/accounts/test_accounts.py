"""Accounts from sign-up to the last session, through the pages."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.core import mail
from django.urls import reverse
from pytest_django import Settings

from tests import rows
from tests.workspaces.accounts.people import (
    PASSWORD,
    WRONG,
    CountingHasher,
    is_in,
    kinds_of,
    link_in_mail,
    make_account,
    page,
    sign_in,
    visitor,
)
from tests.workspaces.people import invited
from workspaces.accounts import forms
from workspaces.models import User

pytestmark = pytest.mark.django_db
NEW = "another horse battery staple"


def sign_up(client, email="ada@example.com", password=PASSWORD, **more):
    form = {"email": email, "password1": password, "password2": password, **more}
    return client.post(reverse("account_signup"), form, follow=True)


# --- sign-up -------------------------------------------------------------------------------------
def test_without_mail_an_account_is_ready_at_once():
    client = visitor()
    sign_up(client)

    assert is_in(client)


@pytest.mark.usefixtures("with_mail")
def test_with_mail_the_address_is_confirmed_first():
    client = visitor()

    response = sign_up(client)
    assert "Confirm your address" in page(response)
    assert not is_in(client)
    assert not is_in_after_sign_in()

    assert "Open this link to confirm" in mail.outbox[0].body
    client.post(link_in_mail(), follow=True)
    assert is_in(client)
    assert kinds_of(User.objects.get())[:2] == ["signed_in", "email_added"]


def is_in_after_sign_in() -> bool:
    client = visitor("192.0.2.30")
    sign_in(client)
    return is_in(client)


@pytest.mark.usefixtures("with_mail")
def test_a_sign_up_says_and_costs_the_same_for_a_known_address():
    make_account("Ada")
    answers, hashed = [], []
    for email in ("ada@example.com", "nobody@example.com"):
        before = CountingHasher.hashed
        answers.append(page(sign_up(visitor(), email)).replace(email, ""))
        hashed.append(CountingHasher.hashed - before)

    first, second = [
        [line for line in answer.splitlines() if "csrf" not in line.lower()] for answer in answers
    ]
    assert first == second
    assert hashed == [1, 1]
    assert ["already have one" in one.body for one in mail.outbox] == [True, False]


def test_sign_up_by_invitation_is_closed_to_others(settings: Settings):
    settings.SIGN_UP = "invitation"

    assert "You need an invitation" in page(visitor().get(reverse("account_signup")))
    assert "You need an invitation" in page(sign_up(visitor()))
    assert not User.objects.exists()


@pytest.mark.usefixtures("with_mail")
@pytest.mark.parametrize(
    ("email", "is_made"),
    [
        ("ada@example.com", True),
        ("ada@EXAMPLE.com", True),
        ("ada@example.com.evil.test", False),
        ("ada@evil-example.com", False),
        ("ada@sub.example.com", False),
    ],
)
def test_sign_up_by_domain_takes_addresses_of_the_domain(settings: Settings, email, is_made):
    settings.SIGN_UP, settings.SIGN_UP_DOMAINS = "domain", ["example.com"]

    response = sign_up(visitor(), email)

    assert User.objects.exists() == is_made
    assert ("for some domains only" in page(response)) != is_made


@pytest.mark.usefixtures("with_mail")
def test_a_known_address_of_another_domain_is_not_told_apart(settings: Settings):
    settings.SIGN_UP, settings.SIGN_UP_DOMAINS = "domain", ["corp.test"]
    make_account("Ada")

    answers = [page(sign_up(visitor(), f"{name}@example.com")) for name in ("ada", "nobody")]

    assert all("for some domains only" in answer for answer in answers)


def test_many_sign_ups_from_one_address_are_refused():
    codes = [sign_up(visitor(), f"a{number}@", WRONG).status_code for number in range(32)]

    assert codes[-2:] == [429, 429]


# --- passwords -----------------------------------------------------------------------------------
@pytest.mark.usefixtures("with_mail")
def test_a_forgotten_password_is_chosen_anew_and_ends_other_sessions():
    ada, other, client = make_account(), visitor("192.0.2.40"), visitor()
    sign_in(other)
    assert "Forgot your password?" in page(client.get(reverse("account_login")))

    client.post(reverse("account_reset_password"), {"email": ada.email})
    form = client.get(link_in_mail(), follow=True)
    address = form.redirect_chain[-1][0]
    client.post(address, {"password1": NEW, "password2": NEW})

    assert is_in(client)
    assert not is_in(other)
    assert "password_reset" in kinds_of(ada)
    ada.refresh_from_db()
    assert ada.check_password(NEW)


@pytest.mark.usefixtures("with_mail")
def test_asking_for_a_link_is_answered_at_a_set_time_whoever_asks(monkeypatch: pytest.MonkeyPatch):
    ada = make_account()
    now = 100.0
    waits: list[float] = []
    monkeypatch.setattr(forms, "RESET_SECONDS", 1.0)
    monkeypatch.setattr(forms.time, "monotonic", lambda: now)
    monkeypatch.setattr(forms.time, "sleep", waits.append)

    for email in (ada.email, "nobody@example.com"):
        visitor().post(reverse("account_reset_password"), {"email": email})

    assert waits == [1.0, 1.0]


def test_without_mail_a_reset_says_whom_to_ask(settings: Settings):
    settings.EMAIL_BACKEND = settings.CONSOLE_MAIL
    reset = reverse("account_reset_password")

    form = visitor().get(reset)
    done = visitor().post(reset, {"email": make_account().email}, follow=True)

    for shown in (page(form), page(done)):
        assert "No mail is set up on this server" in shown
    assert "Ask your administrator" in page(done)
    assert "spam" not in page(done)


def test_an_invitation_without_mail_confirms_no_address(settings: Settings):
    settings.EMAIL_BACKEND = settings.CONSOLE_MAIL
    cast = rows.make_cast()
    link = invited.invite(cast.workspace, cast.alice, email="zoe@example.org").link

    client = visitor()
    client.get(urlsplit(link).path)
    sign_up(client, "zoe@example.org")

    assert not EmailAddress.objects.get(email="zoe@example.org").verified
    assert client.post(reverse("workspaces:invitation_opened")).status_code == 302


@pytest.mark.usefixtures("with_mail")
def test_a_reset_link_works_once():
    ada, client = make_account(), visitor()
    client.post(reverse("account_reset_password"), {"email": ada.email})
    link = link_in_mail()
    address = client.get(link, follow=True).redirect_chain[-1][0]
    client.post(address, {"password1": NEW, "password2": NEW})

    again = visitor().get(link, follow=True)

    assert "This link no longer works" in page(again)


@pytest.mark.usefixtures("with_mail")
def test_links_in_mails_start_with_the_public_address(settings: Settings):
    settings.PUBLIC_ADDRESS = "https://kb.example.org"
    make_account()

    visitor().post(
        reverse("account_reset_password"),
        {"email": "ada@example.com"},
        headers={"host": "127.0.0.1:9999"},
    )

    assert "https://kb.example.org/accounts/password/reset/key/" in mail.outbox[0].body
    assert "9999" not in mail.outbox[0].body


@pytest.mark.usefixtures("with_mail")
def test_a_changed_password_is_mailed_and_recorded():
    ada, client = make_account(), visitor()
    sign_in(client)

    response = client.post(
        reverse("account_change_password"),
        {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW},
        follow=True,
    )

    assert is_in(client)
    assert "Your password was changed." in page(response)
    assert "password_changed" in kinds_of(ada)
    assert mail.outbox[-1].subject == "Your password was changed"
    assert "Was this not you?" in mail.outbox[-1].body


def test_a_wrong_password_is_on_the_persons_own_page():
    ada = make_account()
    sign_in(visitor("198.51.100.9"), WRONG)
    client = visitor()
    sign_in(client)

    shown = page(client.get(reverse("account_security")))

    assert kinds_of(ada) == ["signed_in", "sign_in_failed"]
    assert "Wrong password" in shown
    assert "198.51.100.9" in shown


def test_nobody_sees_the_events_of_others():
    make_account()
    make_account("Bea")
    sign_in(visitor("198.51.100.9"), WRONG)
    client = visitor()
    sign_in(client, email="bea@example.com")

    assert "198.51.100.9" not in page(client.get(reverse("account_security")))


# --- sessions ------------------------------------------------------------------------------------
def test_a_session_is_ended_from_another_browser():
    ada, here, there = make_account(), visitor(), visitor("192.0.2.50")
    sign_in(here)
    sign_in(there)
    assert "192.0.2.50" in page(here.get(reverse("usersessions_list")))
    other = UserSession.objects.get(ip="192.0.2.50")

    here.post(reverse("account_session_end", args=[other.pk]))

    assert is_in(here)
    assert not is_in(there)
    assert kinds_of(ada)[0] == "session_ended"


def test_all_other_sessions_are_ended_at_once():
    make_account()
    here, others = visitor(), [visitor(f"192.0.2.{number}") for number in (51, 52)]
    for client in (here, *others):
        sign_in(client)

    here.post(reverse("usersessions_list"))

    assert [is_in(client) for client in (here, *others)] == [True, False, False]


def test_nobody_ends_the_session_of_others():
    make_account()
    make_account("Bea")
    hers, his = visitor(), visitor("192.0.2.53")
    sign_in(hers)
    sign_in(his, email="bea@example.com")
    session = UserSession.objects.get(ip="203.0.113.5")

    response = his.post(reverse("account_session_end", args=[session.pk]))

    assert response.status_code == 404
    assert is_in(hers)


def test_signing_out_is_recorded():
    ada, client = make_account(), visitor()
    sign_in(client)

    client.post(reverse("account_logout"))

    assert kinds_of(ada) == ["signed_out", "signed_in"]


# --- addresses -----------------------------------------------------------------------------------
@pytest.mark.usefixtures("with_mail")
def test_a_second_address_is_confirmed_then_made_the_main_one():
    ada, client = make_account(), visitor()
    sign_in(client)
    address = {"email": "ada@lovelace.test"}
    client.post(reverse("account_email"), {**address, "action_add": ""})
    client.post(link_in_mail())

    client.post(reverse("account_email"), {**address, "action_primary": ""})

    ada.refresh_from_db()
    assert ada.email == "ada@lovelace.test"
    assert kinds_of(ada)[:2] == ["email_changed", "email_added"]


# --- pages ---------------------------------------------------------------------------------------
PAGES = [
    "account_security",
    "account_email",
    "account_change_password",
    "mfa_index",
    "mfa_activate_totp",
    "mfa_list_webauthn",
    "mfa_add_webauthn",
    "usersessions_list",
]


@pytest.mark.parametrize("name", PAGES)
def test_the_account_pages_are_ours_and_are_not_kept_by_browsers(name):
    make_account()
    client = visitor()
    sign_in(client)

    response = client.get(reverse(name))

    assert response.status_code == 200
    assert "account-nav" in page(response)
    assert "style=" not in page(response)
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize("name", PAGES)
def test_the_account_pages_are_for_who_is_signed_in(name):
    response = visitor().get(reverse(name))

    assert response.status_code == 302
    assert response["Location"].startswith(reverse("account_login"))


def test_the_pages_of_workspaces_are_not_kept_and_public_ones_are_left_alone():
    make_account()
    client = visitor()
    sign_in(client)

    assert client.get("/")["Cache-Control"] == "no-store"
    assert "Cache-Control" not in visitor().get("/")
