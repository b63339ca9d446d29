"""A real Chromium, and the product it looks at.

The fixtures are our own and end with the package: while Playwright's are alive an event loop runs
in this thread, and Django then refuses to touch its database in every other test.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from kb_project.env import env_bool
from tests.browser.contexts import new_context
from tests.browser.product import Product, product_of_its_own
from tests.patience import PATIENCE_MS

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
expect.set_options(timeout=PATIENCE_MS)
NO_COMPLAINTS = ("htmx:afterRequest", "htmx:sendAbort", "a status of 410 (Gone)")
"""Said of a preview that is under way when its page is left, and of a page of what was merged."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in item.nodeid:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    # Without the frame of a window that nobody sees, a page takes half the time.
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None and env_bool("CONCORDANCE_REQUIRE_BROWSER", default=False):
        pytest.fail("CONCORDANCE_REQUIRE_BROWSER is set, and there is no chromium on the path.")
    if path is None:
        pytest.skip("There is no chromium on the path: apt-get install chromium.")
    return path


@pytest.fixture(scope="session")
def product(chromium_path: str) -> Iterator[Product]:
    with product_of_its_own() as running:
        yield running


@pytest.fixture(scope="package")
def chromium(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def signed_in(chromium: Browser, product: Product) -> list[Any]:
    """The cookies of somebody who signed in to the demo through the form."""
    context = new_context(chromium)
    page = context.new_page()
    page.goto(f"{product.url}/accounts/login/")
    page.get_by_label("Email").fill(product.email)
    page.get_by_label("Password").fill(product.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{product.url}/")
    cookies = context.cookies()
    context.close()
    return list(cookies)


@pytest.fixture
def context_of(chromium: Browser, signed_in: list[Any]) -> Iterator[Callable[..., BrowserContext]]:
    """Make browser contexts, with the demo's person signed in unless ``visitor`` is asked for."""
    contexts: list[BrowserContext] = []

    def make(*, visitor: bool = False, **options: Any) -> BrowserContext:
        context = new_context(chromium, **options)
        if not visitor:
            context.add_cookies(signed_in)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def page(context_of: Callable[..., BrowserContext]) -> Iterator[Page]:
    """A page that fails the test when the browser complains of anything."""
    page: Page = context_of(viewport={"width": 1280, "height": 820}).new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not any(text in message.text for text in NO_COMPLAINTS):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    assert complaints == []
