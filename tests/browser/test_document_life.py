"""A document's life in a browser: replaced, disabled, put into the trash, brought back, deleted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.papers import add, open_details, send_version, wait_for_version
from tests.browser.product import Product
from tests.browser.test_curation import toast, workspace_of

LAMP, BELL, BUOY = "The lamp of Orrisay", "The bell of Orrisay", "The buoy of Orrisay"
LIT = "The lamp of Orrisay was first lit in 1871 by Ambrose Fell."
MENDED = "The lamp of Orrisay was first lit in 1884 by Ambrose Fell."
# Ask for the list again, and wait until it has come.
REFRESH = """() => new Promise(done => {
  document.body.addEventListener("htmx:afterSettle", () => done(), {once: true});
  window.htmx.trigger("#documents", "refresh");
})"""


def status_of(page: Page, address: str) -> int:
    answer = page.goto(address)
    return answer.status if answer else 0


@pytest.fixture
def page(context_of):
    return context_of(viewport={"width": 1280, "height": 820}).new_page()


@pytest.fixture
def home(page: Page, product: Product) -> str:
    return workspace_of(page, product)


def test_a_document_is_replaced_and_put_away_for_a_while(page: Page, home: str):
    lamp = add(page, home, LAMP, LIT)
    page.goto(lamp)

    send_version(page, LAMP, LIT)
    expect(page.get_by_text("already has exactly this content")).to_be_visible()
    send_version(page, LAMP, MENDED)
    wait_for_version(page, 2)
    page.get_by_role("link", name="What changed").first.click()
    expect(page.get_by_role("heading", name="What changed in version 2")).to_be_visible()
    expect(page.locator("ins", has_text="1884")).to_be_visible()
    expect(page.locator("del", has_text="1871")).to_be_visible()

    page.goto(f"{lamp}?version=1")
    expect(page.get_by_text("version 2 is searched")).to_be_visible()
    expect(page.locator("article")).to_contain_text("1871")
    page.get_by_role("link", name="Open version 2").click()
    expect(page.locator("article")).to_contain_text("1884")
    assert status_of(page, f"{lamp}?version=7") == 404

    page.goto(lamp)
    open_details(page, "Edit, disable")
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_text("Not searched since")).to_be_visible()
    page.get_by_role("button", name="Search it again").click()
    expect(page.get_by_text("Not searched since")).to_have_count(0)
    page.get_by_role("link", name="History").last.click()
    expect(page.locator(".event")).not_to_have_count(0)


def test_documents_go_through_the_trash_and_one_is_gone_for_good(page: Page, home: str):
    add(page, home, BELL, "The bell of Orrisay was cast by Ulla Trask in Port Ansgar.")
    add(page, home, BUOY, "The buoy of Orrisay was moored by Ulla Trask in 1990.")
    button = page.get_by_role("button", name=re.compile("Move chosen to the trash"))
    expect(button).to_be_disabled()

    for title in (BELL, BUOY):
        page.get_by_role("checkbox", name=f"Choose {title}").check()
    expect(button).to_contain_text("(2)")
    page.evaluate(REFRESH)
    expect(page.get_by_role("checkbox", name=f"Choose {BELL}")).to_be_checked()
    button.click()
    expect(toast(page)).to_be_visible()
    expect(page.get_by_role("link", name=BELL, exact=True)).to_have_count(0)

    page.get_by_role("link", name="Trash", exact=True).click()
    page.get_by_role("button", name=f"Restore {BELL}").click()
    expect(page.get_by_role("heading", name=BELL, level=1)).to_be_visible()
    page.goto(f"{home}trash/")
    page.get_by_role("link", name=f"Delete {BUOY} for good").click()
    gone = page.url
    expect(page.get_by_text("This can't be undone.")).to_be_visible()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text(BUOY, exact=True)).to_have_count(0)
    assert status_of(page, gone) == 404


def test_what_was_put_into_the_trash_comes_back_from_the_history(page: Page, home: str):
    title = "The horn of Orrisay"
    horn = add(page, home, title, "The horn of Orrisay was built by Ulla Trask in 1930.")
    page.get_by_role("checkbox", name=f"Choose {title}").check()
    page.get_by_role("button", name=re.compile("Move chosen to the trash")).click()
    expect(toast(page)).to_be_visible()

    page.goto(f"{home}history/?kind=document_trashed")
    page.get_by_role("link", name=re.compile(f"^Undo: .*{title}")).first.click()
    page.get_by_role("button", name="Undo this").click()

    expect(toast(page)).to_contain_text("Undid:")
    page.goto(horn)
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    expect(page.get_by_text("In the trash since")).to_have_count(0)
