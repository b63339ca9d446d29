"""A topic found on the map, watched, and read again after a document was added, without a mouse."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.papers import add, reload_until
from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, findings, overflow, take_picture
from tests.browser.test_curation_keyboard import press


def wait_for_changes(page: Page, address: str) -> None:
    """The topics follow a document shortly after it was added."""
    page.goto(address)
    reload_until(page, page.locator(".badge-soft", has_text=re.compile("change")))


def problems(context_of: Any, home: str, topic: str) -> list[str]:
    """What is wrong with the pages that show a watched topic, or the map."""
    pages = {"watched home": home, "topics map": f"{home}topics/", "watched topic": topic}
    pages["sub-topics map"] = f"{home}topics/?level=1"
    found = []
    for theme, width in (look.values for look in LOOKS):
        look = f"{theme}-{width}"
        page = context_of(color_scheme=theme, viewport={"width": width, "height": 820}).new_page()
        for name, address in pages.items():
            page.goto(address)
            take_picture(page, name, look)
            found += [f"{name} {look}: {problem}" for problem in findings(page)]
            found += [f"{name} {look}: too wide"] if overflow(page) > 0 else []
    return found


def test_a_topic_is_found_on_the_map_watched_and_read_again(context_of: Any, product: Product):
    page: Page = context_of(viewport={"width": 1280, "height": 860}).new_page()
    home = f"{product.url}/w/demo/"
    page.goto(f"{home}topics/")
    first = page.locator(".topic-map__picture--wide .topic-map__topic").first
    expect(page.locator(".topic-map__picture--narrow")).to_be_hidden()
    press(page, first)
    page.wait_for_url(re.compile(r"/topics/[0-9a-f-]{36}/"))
    topic = page.url

    press(page, page.get_by_role("button", name="Watch this topic"))
    expect(page.get_by_text("You watch this topic.")).to_be_visible()
    members = page.locator("section[aria-labelledby=members] .chip .truncate")
    one, other = members.nth(0).inner_text(), members.nth(1).inner_text()
    add(page, home, "The quay of Vannay", f"{one} met {other} on the quay. {other} thanked {one}.")

    wait_for_changes(page, home)
    press(page, page.locator("section[aria-labelledby=watched]").get_by_role("link").first)
    changed = page.locator("section[aria-labelledby=changes]")
    expect(changed).to_contain_text("Since your last visit on")
    page.wait_for_load_state()
    assert page.url == topic
    press(page, changed.get_by_role("link", name="The quay of Vannay").first)
    page.wait_for_url(re.compile(r"/documents/"))
    # What the visit listed is still there when they come back.
    page.goto(topic)
    expect(changed).to_contain_text("The quay of Vannay")

    assert problems(context_of, home, topic) == []
    page.goto(topic)
    press(page, page.get_by_role("button", name="Stop watching"))
    expect(page.get_by_text("You no longer watch this topic.")).to_be_visible()
