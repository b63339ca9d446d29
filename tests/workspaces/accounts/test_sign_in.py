"""Passwords and codes are judged within limits, and say nothing about who exists."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from tests.workspaces.accounts.people import (
    PASSWORD,
    WRONG,
    CountingHasher,
    add_app,
    code_of,
    is_in,
    kinds_of,
    make_account,
    page,
    sign_in,
    visitor,
)
from workspaces.accounts import sign_in as limits_of_sign_in
from workspaces.accounts.sign_in import ACCOUNT, ACCOUNT_FROM_NETWORK, CODES, NETWORK
from workspaces.models import AccountEvent

pytestmark = pytest.mark.django_db


def judged(count: int, *, forged: bool = False, email: str = "ada@example.com") -> int:
    """How many of as many wrong passwords from one address are judged."""
    before = CountingHasher.hashed
    for number in range(count):
        headers = {"X-Forwarded-For": f"198.51.100.{number % 250}"} if forged else {}
        sign_in(visitor(**headers), WRONG, email)
    return CountingHasher.hashed - before


def test_the_right_password_signs_in_and_is_recorded():
    ada, client = make_account(), visitor(**{"User-Agent": "Firefox"})

    sign_in(client)

    assert is_in(client)
    assert kinds_of(ada) == ["signed_in"]
    shown = page(client.get(reverse("account_security")))
    assert "Firefox" in shown
    assert "203.0.113.5" in shown


def test_no_more_wrong_passwords_are_judged_than_are_allowed():
    make_account()

    assert judged(30) == ACCOUNT_FROM_NETWORK.count


def test_a_rotating_forwarded_address_evades_nothing():
    make_account()

    assert judged(30, forged=True) == ACCOUNT_FROM_NETWORK.count


def test_addresses_of_one_ipv6_network_count_as_one():
    make_account()
    for number in range(30):
        sign_in(visitor(f"2001:db8::{number:x}"), WRONG)

    assert CountingHasher.hashed - 1 == ACCOUNT_FROM_NETWORK.count


def test_one_address_cannot_try_many_accounts():
    total = sum(judged(2, email=f"person{number}@example.com") for number in range(40))

    assert total == NETWORK.count


def test_many_addresses_cannot_try_one_account():
    make_account()
    for number in range(ACCOUNT.count + 20):
        sign_in(visitor(f"198.51.100.{number}"), WRONG)

    assert CountingHasher.hashed - 1 == ACCOUNT.count


def test_the_ways_in_share_their_counts():
    ada = make_account()
    request = RequestFactory(REMOTE_ADDR="203.0.113.5").post("/")
    for _ in range(ACCOUNT_FROM_NETWORK.count):
        limits_of_sign_in.by_password(email=ada.email, password=WRONG, request=request)

    client = visitor()
    response = sign_in(client)

    assert "Too many attempts" in page(response)
    assert not is_in(client)


def test_a_stranger_locks_nobody_out():
    make_account()
    known = visitor("192.0.2.7")
    sign_in(known)
    known.post(reverse("account_logout"))
    judged(30)
    for number in range(ACCOUNT.count):
        sign_in(visitor(f"198.51.100.{number}"), WRONG)

    sign_in(known)

    assert is_in(known)
    newcomer = visitor("192.0.2.8")
    assert "Too many attempts" in page(sign_in(newcomer))


def test_a_known_browser_has_a_limit_too():
    make_account()
    known = visitor()
    sign_in(known)
    known.post(reverse("account_logout"))
    before = CountingHasher.hashed
    for _ in range(30):
        sign_in(known, WRONG)

    assert CountingHasher.hashed - before == limits_of_sign_in.DEVICE.count


def test_a_browser_known_to_one_account_is_a_stranger_to_others():
    make_account()
    make_account("Bea")
    known = visitor()
    sign_in(known, email="bea@example.com")
    known.post(reverse("account_logout"))
    judged(ACCOUNT_FROM_NETWORK.count)

    assert "Too many attempts" in page(sign_in(known))


def test_right_passwords_use_nothing_up():
    make_account()
    for _ in range(ACCOUNT_FROM_NETWORK.count + 5):
        client = visitor()
        sign_in(client)
        assert is_in(client)


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
def test_a_wrong_password_is_hashed_once_whether_or_not_there_is_an_account(email):
    make_account()
    before = CountingHasher.hashed

    response = sign_in(visitor(), WRONG, email)

    assert CountingHasher.hashed - before == 1
    assert "The e-mail address or the password is wrong." in page(response)


def test_known_and_unknown_accounts_are_refused_in_the_same_words():
    make_account()
    judged(ACCOUNT_FROM_NETWORK.count)
    known = page(sign_in(visitor(), WRONG))
    judged(ACCOUNT_FROM_NETWORK.count, email="nobody@example.com")
    unknown = page(sign_in(visitor(), WRONG, "nobody@example.com"))

    assert without_what_differs(known) == without_what_differs(unknown, "nobody@example.com")


def test_known_and_unknown_accounts_cost_the_same_statements():
    make_account()
    sign_in(visitor(), WRONG)  # what is looked up once in a process

    known = statements_of_a_wrong_password("ada@example.com")
    unknown = statements_of_a_wrong_password("nobody@example.com")

    assert any("INSERT" in one and "workspaces_accountevent" in one for one in known)
    assert unknown == known


def statements_of_a_wrong_password(email: str) -> list[str]:
    """Return the beginnings of the statements, without values, and without savepoints."""
    with CaptureQueriesContext(connection) as captured:
        sign_in(visitor(), WRONG, email)
    statements = [str(query["sql"]) for query in captured.captured_queries]
    return [
        " ".join(re.sub(r"'[^']*'|\d+", "?", statement).split()[:4])
        for statement in statements
        if "SAVEPOINT" not in statement
    ]


def test_what_is_written_about_nobody_is_gone():
    sign_in(visitor(), WRONG, "nobody@example.com")

    assert not AccountEvent.objects.filter(user_id=limits_of_sign_in.NO_ONE).exists()


def without_what_differs(text: str, email: str = "ada@example.com") -> str:
    """The page without what was typed and without the tokens of its forms."""
    lines = text.replace(email, "").splitlines()
    return "\n".join(line for line in lines if "csrf" not in line.lower())


def test_a_closed_account_stays_closed():
    make_account(is_active=False)
    client = visitor()

    sign_in(client)

    assert not is_in(client)


def test_the_admin_has_no_form_of_its_own():
    response = visitor().post("/admin/login/", {"username": "ada@example.com", "password": WRONG})

    assert CountingHasher.hashed == 0
    assert response.status_code in (302, 404)


def test_a_password_alone_is_not_enough_for_an_account_with_a_second_factor():
    ada = make_account()
    add_app(ada)
    request = RequestFactory().post("/")

    user, attempt = limits_of_sign_in.by_password(
        email=ada.email, password=PASSWORD, request=request
    )

    assert user is None
    assert attempt.is_allowed


def test_codes_are_limited_by_account_from_all_addresses():
    ada = make_account()
    secret = add_app(ada)
    for number in range(CODES.count):
        client = visitor(f"198.51.100.{number}")
        sign_in(client)
        client.post(reverse("mfa_authenticate"), {"code": "000000"})

    client = visitor()
    sign_in(client)
    response = client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})

    assert "Too many attempts" in page(response)
    assert not is_in(client)


def test_a_code_is_good_for_one_sign_in():
    ada = make_account()
    secret = add_app(ada)
    code = code_of(secret)
    first, second = visitor(), visitor("192.0.2.9")
    for client in (first, second):
        sign_in(client)
        client.post(reverse("mfa_authenticate"), {"code": code})

    assert is_in(first)
    assert not is_in(second)


def test_the_current_password_is_guessed_within_the_same_limit():
    ada = make_account()
    client = visitor()
    client.force_login(ada)
    new = {"password1": "another horse battery", "password2": "another horse battery"}
    client.post(reverse("account_login"))
    judged(ACCOUNT_FROM_NETWORK.count)

    form = {"oldpassword": PASSWORD, **new}
    response = client.post(reverse("account_change_password"), form)

    assert response.status_code == 200
    assert "Too many attempts" in page(response)


@pytest.mark.usefixtures("with_mail")
def test_a_reset_says_the_same_for_known_and_unknown_addresses(settings: Settings):
    make_account()
    answers = [
        visitor().post(reverse("account_reset_password"), {"email": email}, follow=True)
        for email in ("ada@example.com", "nobody@example.com")
    ]

    first, second = [without_what_differs(page(answer)) for answer in answers]
    assert first == second
    assert len(mail.outbox) == 2


@pytest.mark.usefixtures("with_mail")
def test_nobody_is_flooded_with_mails():
    make_account()
    for number in range(20):
        client = visitor(f"198.51.100.{number}")
        client.post(reverse("account_reset_password"), {"email": "ada@example.com"})

    assert len(mail.outbox) == 5


def test_resets_from_one_address_are_limited():
    answers = [
        visitor().post(reverse("account_reset_password"), {"email": f"a{number}@example.com"})
        for number in range(25)
    ]

    assert [answer.status_code for answer in answers[20:]] == [429] * 5
    assert int(answers[-1]["Retry-After"]) > 0
