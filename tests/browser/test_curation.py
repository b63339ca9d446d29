"""A curator at work with the keyboard: rename, merge, undo twice over, split."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, findings, follow, overflow, take_picture

GRETA, MISS_MOE, HOLLOW = "Greta Moenssen", "Miss Moenssen", "Hollowby"


def press(page: Page, what: Locator, key: str = "Enter") -> None:
    """As somebody without a mouse does it."""
    what.focus()
    page.keyboard.press(key)


def toast(page: Page) -> Locator:
    return page.locator("#toasts [data-toast]").last


def workspace_of(page: Page, product: Product) -> str:
    page.goto(product.url)
    return follow(page, ".rows--links a", "Sample")


def create(page: Page, home: str, name: str) -> str:
    """A new entity; the address of its page."""
    page.goto(f"{home}entities/new/")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Type").fill("person")
    press(page, page.get_by_role("button", name="Create"))
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    return page.url


def rename(page: Page, name: str) -> None:
    """In its place, by Enter."""
    press(page, page.get_by_role("link", name="Change the name"))
    field = page.get_by_label("Name", exact=True)
    expect(field).to_be_focused()
    field.fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def merge_with(page: Page, name: str) -> None:
    """From the page of the one that stays: search, put beside, look at what moves, merge."""
    press(page, page.get_by_role("link", name="Merge…"))
    page.wait_for_url(re.compile("/merge/"))
    page.get_by_label("Which other entities are the same?").fill(name)
    press(page, page.get_by_role("button", name=re.compile(name)).first)
    expect(page.locator("[data-preview]")).to_be_visible()
    press(page, page.get_by_role("button", name="Merge 2 into one"))
    expect(toast(page)).to_contain_text("Merged")


@pytest.fixture
def home(page: Page, product: Product) -> str:
    return workspace_of(page, product)


def test_a_name_is_changed_in_its_place_or_left_alone(page: Page, home: str):
    create(page, home, HOLLOW)

    press(page, page.get_by_role("link", name="Change the name"))
    page.get_by_label("Name", exact=True).fill("Something else")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Change the name")).to_be_focused()
    rename(page, f"{HOLLOW} Bay")

    expect(page.get_by_role("heading", name=f"{HOLLOW} Bay", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="Change the name")).to_be_focused()
    expect(toast(page)).to_contain_text(f"Renamed '{HOLLOW}' to '{HOLLOW} Bay'.")
    page.keyboard.press("u")
    expect(page.get_by_role("heading", name=HOLLOW, level=1, exact=True)).to_be_visible()


def test_a_merge_is_undone_from_the_toast_and_from_the_history(page: Page, home: str):
    miss = create(page, home, MISS_MOE)
    greta = create(page, home, GRETA)

    merge_with(page, MISS_MOE)
    page.goto(miss)
    expect(page.get_by_text("This is now part of another entity")).to_be_visible()
    press(page, page.get_by_role("link", name="Undo…"))
    press(page, page.get_by_role("button", name="Undo this"))
    expect(page.get_by_text("Undid:").first).to_be_visible()
    page.goto(greta)
    merge_with(page, MISS_MOE)
    press(page, toast(page).get_by_role("button", name="Undo"))
    expect(toast(page)).to_contain_text("Undid:")
    page.goto(f"{home}history/?kind=entities_merged")

    expect(page.locator(".event--undone", has_text=MISS_MOE)).to_have_count(2)
    page.goto(miss)
    expect(page.get_by_role("heading", name=MISS_MOE, level=1)).to_be_visible()


def test_what_is_typed_before_the_scripts_come_is_looked_for(page: Page, home: str):
    create(page, home, "Astrid Hollowby")
    other = create(page, home, "Sunniva Hollowby")
    late: list[Route] = []
    page.route("**/htmx.min*.js", lambda route: late.append(route))

    page.goto(f"{other}merge/", wait_until="commit")
    page.get_by_label("Which other entities are the same?").fill("Astrid")
    while not late:
        page.wait_for_timeout(50)
    late.pop().continue_()

    expect(page.get_by_role("button", name=re.compile("Astrid Hollowby"))).to_be_visible()


def test_a_name_that_documents_use_is_split_off(page: Page, home: str):
    """Two of the sample's people are made one; then they are told apart by how they are named."""
    page.goto(f"{home}entities/?type=person")
    names = page.locator(".doc-row__title").all_inner_texts()[:2]
    page.get_by_role("link", name=names[0], exact=True).first.click()
    merge_with(page, names[1])

    press(page, page.get_by_role("link", name="Split…"))
    press(page, page.get_by_role("checkbox", name=re.compile(f"^{re.escape(names[1])}")), "Space")
    page.get_by_label("Name of the new entity").fill(f"{names[1]} the Other")
    page.keyboard.press("Tab")
    expect(page.locator("[data-preview]")).to_be_visible()
    press(page, page.get_by_role("button", name="Split off"))

    expect(toast(page)).to_contain_text(f"Split '{names[1]} the Other' off")
    press(page, toast(page).get_by_role("button", name="Undo"))
    expect(page.get_by_text("This entity no longer exists.")).to_be_visible()
    page.goto(f"{home}history/?kind=entities_merged")
    press(
        page, page.get_by_role("link", name=re.compile(f"^Undo: .*'{re.escape(names[1])}'")).first
    )
    press(page, page.get_by_role("button", name="Undo this"))
    expect(toast(page)).to_contain_text("Undid:")


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_the_pages_can_be_used_by_everybody(context_of, product: Product, theme, width):
    page = context_of(color_scheme=theme, viewport={"width": width, "height": 820}).new_page()
    home = workspace_of(page, product)
    page.goto(f"{home}entities/")
    others = page.locator(".doc-row__title").evaluate_all("all => all.map(a => a.href)")[:2]
    entity, other = others[0], others[1].rstrip("/").rpartition("/")[2]
    problems = []

    for name, address in {
        "entity name": f"{entity}?edit=name",
        "entity description": f"{entity}?edit=description",
        "entity alias": f"{entity}?edit=alias",
        "merge": f"{entity}merge/?with={other}&q=a",
        "split": f"{entity}split/",
        "new entity": f"{home}entities/new/",
        "delete entity": f"{entity}delete/",
        "new fact": f"{entity}facts/new/?q=a",
        "history": f"{home}history/",
        "history of an entity": f"{entity}history/",
    }.items():
        page.goto(address)
        take_picture(page, name, f"{theme}-{width}")
        problems += [f"{name}: {found}" for found in findings(page)]
        if overflow(page) > 0:
            problems.append(f"{name} is too wide")

    assert problems == []
