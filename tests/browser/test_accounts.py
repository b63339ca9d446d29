"""A passkey from its making to a sign-in with it, and the account's pages in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from tests.browser.product import Product

PASSWORD = "correct horse battery staple"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}
PAGES = ["security/", "email/", "password/change/", "2fa/", "2fa/webauthn/", "sessions/"]


@pytest.fixture
def page(context_of: Callable[..., BrowserContext]) -> Page:
    return context_of(visitor=True).new_page()


def test_a_passkey_signs_in_without_a_password(page: Page, product: Product):
    # Passkeys are for names, not for numbers.
    here = product.url.replace("127.0.0.1", "localhost")
    said: list[str] = []
    page.on(
        "console", lambda message: said.append(message.text) if message.type == "error" else None
    )
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    page.goto(f"{here}/accounts/signup/")
    page.fill("[name=email]", "passkey@example.com")
    page.fill("[name=password1]", PASSWORD)
    page.fill("[name=password2]", PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url(f"{here}/")

    page.goto(f"{here}/accounts/2fa/webauthn/add/")
    page.fill("[name=password]", PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Add the passkey").click()
    page.get_by_text("Recovery codes").first.wait_for()
    for path in PAGES:
        page.goto(f"{here}/accounts/{path}")
        assert Axe().run(page).response["violations"] == [], path
    page.context.clear_cookies()
    page.goto(f"{here}/accounts/login/")
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("button", name="Use a passkey").click()

    page.wait_for_url(f"{here}/")
    page.goto(f"{here}/accounts/security/")
    assert "Passkey" in page.locator("main").inner_text()
    assert said == []
