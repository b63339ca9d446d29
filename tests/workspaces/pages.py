"""What the tests of workspaces' pages share: a signed-in browser, and where to send it."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from tests.api import sign_in
from workspaces.models import User


def signed_in(user: User) -> Client:
    client = Client()
    sign_in(client, user)
    return client


def address(name: str) -> str:
    """Of a page of the workspace that ``rows.make_cast`` makes."""
    return reverse(f"workspaces:{name}", args=["harbour"])
