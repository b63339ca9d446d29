"""Accounts for tests: a quick hasher that counts, clients at addresses, codes of an app."""

from __future__ import annotations

import re
import time
from typing import Any, ClassVar

from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
)
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core import mail
from django.test import Client
from django.urls import reverse

from workspaces.accounts import events
from workspaces.models import User

PASSWORD = "correct horse battery staple"
WRONG = "wrong horse battery staple"


class CountingHasher(MD5PasswordHasher):
    """Quick, and knows how often it hashed."""

    hashed: ClassVar[int] = 0

    def encode(self, password: str, salt: str) -> str:
        CountingHasher.hashed += 1
        return super().encode(password, salt)


def make_account(name: str = "Ada", *, verified: bool = True, **fields: Any) -> User:
    email = f"{name.lower()}@example.com"
    user = User.objects.create_user(email, PASSWORD, name=name, **fields)
    EmailAddress.objects.create(user=user, email=email, verified=verified, primary=True)
    return user


def visitor(address: str = "203.0.113.5", **headers: str) -> Client:
    return Client(REMOTE_ADDR=address, headers=headers or None)


def sign_in(client: Client, password: str = PASSWORD, email: str = "ada@example.com") -> Any:
    return client.post(reverse("account_login"), {"login": email, "password": password})


def is_in(client: Client) -> bool:
    return client.get(reverse("account_security")).status_code == 200


def page(response: Any) -> str:
    text: str = response.content.decode()
    return text


def add_app(user: User) -> str:
    """Give the person an authenticator app; returns its secret."""
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    return secret


def code_of(secret: str, *, steps: int = 0) -> str:
    """The app's code of this half minute, or of one so many steps from it."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def link_in_mail() -> str:
    """The path of the last link in the last mail but the product's own."""
    links = re.findall(r"https?://[^/\s]+(/\S+)", str(mail.outbox[-1].body))
    return str(links[0])


def kinds_of(user: User) -> list[str]:
    return [event.kind for event in events.latest(user)]
