"""What held at a date, asked and looked at without a mouse."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, findings, overflow, take_picture
from tests.browser.test_curation_keyboard import press, reach
from tests.browser.test_explorer import entities, find, home, open_graph

CHAIR = "Josephine Pell"


@pytest.fixture
def page(context_of) -> Page:
    page: Page = context_of(viewport={"width": 1280, "height": 860}).new_page()
    return page


def test_a_question_is_asked_as_of_a_date(page: Page, product: Product):
    page.goto(f"{home(product)}ask/")
    press(page, page.locator("[data-scope-picker] summary"))
    reach(page, page.locator(".ask-box [name=as_of]"))
    page.keyboard.type("2019")
    page.keyboard.press("Tab")
    chip = page.locator("[data-scope-chips]")
    expect(chip).to_contain_text(re.compile(r"as of\s+2019"))
    take_picture(page, "ask-as-of", "light-1280")
    page.keyboard.press("Escape")

    reach(page, page.get_by_label("Your question"), "Shift+Tab")
    page.keyboard.type("Who chaired the Society?")
    page.keyboard.press("Enter")

    page.wait_for_url(re.compile(r"/questions/"))
    expect(page.locator("#answer")).to_have_attribute("data-state", "done")
    expect(page.locator("[data-scope-chips]")).to_contain_text(re.compile(r"as of\s+2019"))


def test_the_graph_is_filtered_to_a_date(page: Page, product: Product):
    open_graph(page, f"{home(product)}graph/")
    reach(page, page.get_by_label("As of"))
    page.keyboard.type("1990")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("as_of=1990"))
    expect(page.locator(".page-header")).to_contain_text("As of 1990")
    expect(entities(page).first).to_be_visible()
    find(page, CHAIR)
    expect(page.locator("#explorer-panel .fact__period")).to_have_count(0)

    reach(page, page.get_by_role("link", name="Any time"), "Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/graph/(?!.*as_of)"))
    expect(entities(page).first).to_be_visible()
    find(page, CHAIR)
    expect(page.locator("#explorer-panel .fact__period")).to_contain_text("2014 to 2022")


@pytest.mark.parametrize(("look", "width"), LOOKS)
def test_it_can_be_read_by_everyone(context_of, product: Product, look: str, width: int):
    view = {"width": width, "height": 860}
    page = context_of(viewport=view, color_scheme=look, has_touch=width < 600).new_page()
    open_graph(page, f"{home(product)}graph/?as_of=2019")
    take_picture(page, "graph-as-of", f"{look}-{width}")
    assert overflow(page) <= 0

    page.goto(f"{home(product)}entities/?q={CHAIR}")
    page.get_by_role("link", name=CHAIR).first.click()
    page.wait_for_url(re.compile(r"/entities/[0-9a-f-]{36}/"))
    page.goto(f"{page.url.split('?')[0].split('#')[0]}facts/?as_of=2019")
    expect(page.locator(".fact__period").first).to_contain_text("2014 to 2022")
    take_picture(page, "facts-as-of", f"{look}-{width}")
    assert findings(page) == []
    assert overflow(page) <= 0
