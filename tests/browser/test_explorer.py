"""The graph without a mouse: an answer's part of it, walked, connected, read and mended."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, findings, overflow, take_picture
from tests.browser.test_curation_keyboard import press, reach, toast

NO_WEBGL = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind.startsWith("webgl") ? null : original.call(this, kind, ...rest);
};
"""
QUESTION = "Who is Magnus Okafor?"


def home(product: Product) -> str:
    return f"{product.url}/w/demo/"


def entities(page: Page) -> Any:
    return page.locator("[data-entities] tr")


def names(page: Page) -> list[str]:
    found: list[str] = entities(page).locator("[data-do=open]").all_inner_texts()
    return found


def message(page: Page) -> Any:
    return page.locator("#explorer [data-message]")


def open_graph(page: Page, address: str) -> None:
    page.goto(address)
    expect(entities(page).first).to_be_visible()


def find(page: Page, name: str) -> None:
    """Search for an entity and go to it, with keys alone."""
    page.keyboard.press("/")
    page.keyboard.type(name)
    choice = page.locator("#explorer-found").get_by_role("button", name=name).first
    expect(choice).to_be_visible()
    press(page, choice)
    expect(page.locator("[data-panel-title]")).to_have_text(name)
    expect(page.locator("[data-panel-title]")).to_be_focused()


@pytest.mark.parametrize("has_webgl", [True, False])
def test_an_answer_is_walked_from_its_graph_to_a_source(
    page: Page, product: Product, has_webgl: bool
):
    if not has_webgl:
        page.add_init_script(NO_WEBGL)
    page.goto(f"{home(product)}ask/")
    page.get_by_role("textbox").first.focus()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    link = page.get_by_role("link", name="Show on the graph")
    expect(link).to_be_visible()
    press(page, link)
    expect(entities(page).first).to_be_visible()
    expect(page.locator("[data-no-picture]")).to_be_visible(visible=not has_webgl)
    before = entities(page).count()

    reach(page, entities(page).first.locator("[data-do=expand]"))
    page.keyboard.press("Enter")
    expect(message(page)).to_contain_text("neighbours of")
    assert entities(page).count() >= before

    reach(page, entities(page).first.locator("[data-do=open]"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[data-panel-title]")).to_be_focused()
    press(page, page.locator("#explorer-panel .source-link").first)
    page.wait_for_url(re.compile(r"/documents/"))


def test_two_entities_are_connected_then_merged_and_the_merge_undone(page: Page, product: Product):
    open_graph(page, f"{home(product)}graph/")
    ends = ("Jamie Flett", "Leena Varghese")
    for name in ends:
        find(page, name)
        press(page, page.locator("#explorer-panel [data-do=select]"), "Space")
    reach(page, page.get_by_role("button", name="Find path"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(message(page)).to_contain_text(re.compile("Shortest path: Jamie Flett → "))

    reach(page, entities(page).nth(3).locator("[data-do=expand]"))
    page.keyboard.press("Enter")
    expect(message(page)).to_contain_text("neighbours of")
    before = names(page)
    assert set(ends) <= set(before)

    reach(page, page.get_by_role("link", name="Merge…"), "Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/merge/"))
    expect(page.get_by_role("heading", name="What this does")).to_be_visible()
    press(page, page.get_by_role("button", name="Merge 2 into one"))
    page.wait_for_url(re.compile("/graph/"))
    expect(toast(page)).to_contain_text("Merged")
    expect(entities(page)).to_have_count(len(before) - 1)
    assert len({*before} - {*names(page)} & {*ends}) == 1

    page.keyboard.press("u")
    expect(toast(page)).to_contain_text("Undid")
    expect(entities(page)).to_have_count(len(before))
    assert sorted(names(page)) == sorted(before)


def test_a_legend_hides_a_type_and_says_so(page: Page, product: Product):
    open_graph(page, f"{home(product)}graph/")
    people = page.locator(".legend[data-type=person i]").first
    before = entities(page).count()

    press(page, people, "Space")

    expect(people).to_have_attribute("aria-pressed", "false")
    expect(entities(page)).not_to_have_count(before)
    shown = entities(page).count()
    expect(page.locator("[data-count]")).to_have_text(re.compile(f"^{shown} of "))


@pytest.mark.parametrize(("look", "width"), LOOKS)
def test_it_can_be_read_by_everyone(context_of, product: Product, look: str, width: int):
    view = {"width": width, "height": 860}
    page = context_of(viewport=view, color_scheme=look, has_touch=width < 600).new_page()
    open_graph(page, f"{home(product)}graph/")

    take_picture(page, "graph", f"{look}-{width}")

    assert findings(page) == []
    assert overflow(page) <= 0
