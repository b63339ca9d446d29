"""Sign-in with an OpenID Connect provider: a real one, in a thread of the test."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.urls import reverse
from pytest_django import Settings

from tests.workspaces.accounts.people import is_in, kinds_of, make_account, page, visitor
from workspaces.models import User

pytestmark = pytest.mark.django_db


class Provider(BaseHTTPRequestHandler):
    """Discovery, keys and tokens of a provider with one person."""

    key: ClassVar = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    person: ClassVar[dict[str, Any]] = {}
    nonce: ClassVar[str] = ""

    def log_message(self, *_of: object) -> None:
        pass

    def do_GET(self) -> None:
        here = f"http://{self.headers['Host']}"
        if self.path.endswith("/.well-known/openid-configuration"):
            names = ("authorization", "token", "userinfo")
            ends = {f"{name}_endpoint": f"{here}/{name}" for name in names}
            self._answer({"issuer": here, "jwks_uri": f"{here}/keys", **ends})
        elif self.path == "/keys":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            self._answer({"keys": [{**public, "kid": "one", "alg": "RS256", "use": "sig"}]})
        else:
            self._answer(self.person)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        here = f"http://{self.headers['Host']}"
        claims = {**self.person, "iss": here, "aud": "concordance", "exp": time.time() + 60}
        claims |= {"iat": time.time(), "nonce": self.nonce}
        token = jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})
        self._answer({"access_token": "a", "token_type": "Bearer", "id_token": token})

    def _answer(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def provider(settings: Settings) -> Iterator[type[Provider]]:
    cache.clear()
    server = HTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    app = {
        "provider_id": "oidc",
        "name": "Harbour ID",
        "client_id": "concordance",
        "secret": "s",
        "settings": {"server_url": f"http://127.0.0.1:{server.server_port}"},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}
    }
    Provider.person = {"sub": "7", "email": "ada@example.com", "email_verified": True}
    yield Provider
    server.shutdown()
    thread.join()
    server.server_close()


def come_back(client: Any) -> Any:
    """Leave for the provider and return with a code."""
    address = reverse("openid_connect_login", args=["oidc"])
    there = urlsplit(client.post(address)["Location"])
    asked = parse_qs(there.query)
    assert "code_challenge" in asked
    Provider.nonce = asked.get("nonce", [""])[0]
    callback = reverse("openid_connect_callback", args=["oidc"])
    return client.get(callback, {"code": "c", "state": asked["state"][0]}, follow=True)


def test_without_a_provider_nothing_is_offered():
    assert not re.search(r"Continue with", page(visitor().get(reverse("account_login"))))


@pytest.mark.usefixtures("with_mail")
def test_a_person_of_the_provider_gets_an_account_and_is_signed_in(provider):
    client = visitor()
    assert "Continue with Harbour ID" in page(client.get(reverse("account_login")))

    come_back(client)

    assert is_in(client)
    ada = User.objects.get()
    assert ada.email == "ada@example.com"
    assert not ada.has_usable_password()
    assert kinds_of(ada) == ["signed_in", "signed_up"]


@pytest.mark.usefixtures("with_mail")
def test_the_provider_takes_over_no_account_that_is_there(provider):
    ada, client = make_account(), visitor()

    come_back(client)

    assert not is_in(client)
    assert User.objects.get() == ada
    assert kinds_of(ada) == []


@pytest.mark.usefixtures("with_mail")
def test_people_of_the_provider_may_need_an_invitation_too(provider, settings: Settings):
    settings.SIGN_UP, settings.OIDC_SIGN_UP = "invitation", False

    response = come_back(visitor())

    assert "You need an invitation" in page(response)
    assert not User.objects.exists()
