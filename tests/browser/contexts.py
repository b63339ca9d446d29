"""Contexts of the browser: each has cookies of its own."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext

from tests.patience import PATIENCE_MS


def new_context(chromium: Browser, **options: Any) -> BrowserContext:
    """Return a context whose pages wait as long for what must happen as every test does."""
    context: BrowserContext = chromium.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    return context
