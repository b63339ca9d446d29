"""A conflict of the demo resolved and undone by keyboard, and its pages looked at."""

from __future__ import annotations

import re
import time

from playwright.sync_api import Page, expect

from tests.browser.papers import BETWEEN_LOOKS
from tests.browser.product import Product
from tests.browser.test_accessibility import problems_of
from tests.browser.test_curation_keyboard import press, toast
from tests.patience import PATIENCE

TOPIC = "Old Lady: when it was relit"


def open_home(page: Page, product: Product) -> str:
    """Wait on the demo's home page until its documents have been compared."""
    page.goto(product.url)
    page.locator(".rows--links a", has_text="Sample").first.click()
    deadline = time.monotonic() + PATIENCE
    while not page.get_by_role("link", name="Open conflict").count():
        assert time.monotonic() < deadline
        page.wait_for_timeout(BETWEEN_LOOKS)
        page.reload()
    return page.url


def test_a_conflict_is_resolved_and_undone_without_a_mouse(context_of, product: Product):
    page = context_of(viewport={"width": 1280, "height": 820}).new_page()
    home = open_home(page, product)

    press(page, page.get_by_role("link", name="Open conflict"))
    expect(page.get_by_role("link", name=TOPIC)).to_be_visible()
    problems = looked_at(context_of, home, "open")
    press(page, page.get_by_text("Give a reason"))
    press(page, page.get_by_label("Reason"), "y")
    page.keyboard.press("Enter")  # decides nothing
    press(page, page.get_by_role("button", name=re.compile("This holds.*28 September")))
    expect(toast(page)).to_contain_text("Decided a conflict about 'Old Lady'")
    expect(page.get_by_text("No open conflicts")).to_be_visible()

    page.goto(f"{home}conflicts/?state=decided")
    problems += looked_at(context_of, home, "decided")
    press(page, page.get_by_role("link", name=TOPIC))
    expect(page.get_by_text("“28 September 2024” holds.")).to_be_visible()
    press(page, page.get_by_role("button", name="Undo this decision"))
    expect(toast(page)).to_contain_text("Undid:")
    expect(page.get_by_role("button", name=re.compile("^This holds"))).to_have_count(2)
    assert problems == []


def looked_at(context_of, home: str, state: str) -> list[str]:
    """What axe and the width of a phone find wrong with the pages that show conflicts."""
    problems = []
    for theme, width in (("light", 1280), ("dark", 390)):
        page = context_of(color_scheme=theme, viewport={"width": width, "height": 820}).new_page()
        look = f"{theme}-{width}"
        page.goto(f"{home}conflicts/?state=all")
        one = page.get_by_role("link", name=TOPIC).get_attribute("href")
        entity = f"{home}entities/?q=Old+Lady"
        page.goto(entity)
        subject = page.get_by_role("link", name="Old Lady", exact=True).get_attribute("href")
        for name, address in {
            "conflicts": f"{home}conflicts/?state=all",
            "conflict": re.sub(r"(?<=\d)/w/.*", "", home) + str(one),
            "entity in conflict": re.sub(r"(?<=\d)/w/.*", "", home) + str(subject),
            "home with conflicts": home,
        }.items():
            problems += problems_of(page, f"{name} {state}", address, look)
    return problems
