"""A queue of ten cases worked through without a mouse, and what is taken back afterwards."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.contexts import new_context
from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, findings, overflow, take_picture
from tests.patience import PATIENCE

WORKSPACE = "Suppliers"
FURTHEST = 120
"""Presses of Tab after which a control counts as out of reach."""
# Ten firms, each called by two names; one of them by three.
FIRMS = {
    "Ardmore Instruments": ("Inc.", "Ltd"),
    "Bellrock Chandlers": ("Ltd",),
    "Corran Boatyard": ("Ltd",),
    "Dunmore Glassworks": ("Inc.",),
    "Eastray Shipping": ("Ltd",),
    "Fairholm Foundry": ("Inc.",),
    "Garvel Engineering": ("Ltd",),
    "Hestan Insurance": ("Inc.",),
    "Inchmore Timber": ("Ltd",),
    "Jarlshaven Ropeworks": ("Ltd",),
}
KEYS = ("m", "n", "2m", "s", "m", "n", "m", "s", "m", "n")
"""What is done with the ten; where three stand side by side one is left out first."""


def papers() -> list[FilePayload]:
    """Letters of every firm by its short name, and by each of its longer ones."""
    short = [
        f"The board in Aberdeen thanked {firm} for the work. Later {firm} sent an invoice."
        for firm in FIRMS
    ]
    long = [
        f"In June 1999 {firm} {form} wrote to the harbour master in Glasgow."
        for firm, forms in FIRMS.items()
        for form in forms
    ]
    texts = {"minutes": short[:5], "accounts": short[5:], "letters": long[:6], "notes": long[6:]}
    return [
        {
            "name": f"{name}.md",
            "mimeType": "text/markdown",
            "buffer": "\n\n".join([f"# {name.capitalize()}", *lines]).encode(),
        }
        for name, lines in texts.items()
    ]


# --- hands ----------------------------------------------------------------------------------------
def reach(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab, or Shift and Tab, until it has the focus."""
    wanted.wait_for()
    for _ in range(FURTHEST):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{wanted} is not reached by Tab.")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    reach(page, wanted)
    page.keyboard.press(key)


def toast(page: Page) -> Locator:
    return page.locator("#toasts [data-toast]").last


def stays(page: Page) -> str:
    return page.locator(".beside__card--kept .beside__name").inner_text()


def decide(page: Page, keys: str) -> None:
    """Press the keys of a case; what one changes in the case is awaited before the next."""
    case = page.locator("#curation").get_attribute("data-case") or ""
    for number in keys[:-1]:
        page.keyboard.press(number)
        chosen = page.locator(f".beside__card--kept [data-key='{number}']")
        expect(chosen).to_be_focused()
    page.keyboard.press(keys[-1])
    expect(page.locator("#curation")).not_to_have_attribute("data-case", case)


def leave_one_out(page: Page) -> None:
    cards = page.locator("[data-side]")
    reach(page, cards.last.get_by_role("link", name=re.compile("^Open ")))
    page.keyboard.press("x")
    expect(page.get_by_text("Left out:")).to_be_visible()
    expect(cards).to_have_count(2)


# --- the queue ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def queue(chromium, signed_in, product: Product) -> str:
    """Address of a workspace whose documents were read by the product: ten cases are open."""
    context = new_context(chromium)
    context.add_cookies(signed_in)
    page = context.new_page()
    page.goto(f"{product.url}/workspaces/new/")
    page.get_by_label("Name").fill(WORKSPACE)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/w/[^/]+/documents/"))
    home = page.url.removesuffix("documents/")
    page.locator("#files").set_input_files(papers())
    expect(page.locator(".doc-row .badge-soft--good", has_text="Ready")).to_have_count(
        len(papers())
    )
    wait_for_cases(page, f"{home}curation/", len(FIRMS))
    context.close()
    return home


def wait_for_cases(page: Page, address: str, number: int) -> None:
    """Suggestions are searched for once the documents are read."""
    deadline = time.monotonic() + PATIENCE
    progress = page.get_by_text(re.compile(rf"^1 of {number}, "))
    while True:
        page.goto(address)
        try:
            expect(progress).to_be_visible(timeout=5_000)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        else:
            return


def test_a_queue_of_ten_is_worked_through_and_taken_back_without_a_mouse(page: Page, queue: str):
    page.goto(f"{queue}curation/")
    page.keyboard.press("?")
    expect(page.get_by_text("choose which one stays")).to_be_visible()
    merged = work_through(page)

    undo_from_the_toast(page)
    undo_from_the_history(page)
    split(page, queue, merged)
    restore_from_the_trash(page, queue)


def work_through(page: Page) -> str:
    """Decide all cases; the name of the first one that was merged and stays so.

    What was left out comes up as a case of its own, at a place that ids decide, and may there be
    the one whose name stays: the case of three names no firm that keeps its name.
    """
    merged = ""
    for number, keys in enumerate(KEYS):
        if page.locator("[data-side]").count() > 2:
            leave_one_out(page)
        elif keys == "m":
            merged = merged or stays(page)
        decide(page, keys)
        done = sum(key[-1] != "s" for key in KEYS[: number + 1])
        expect(page.get_by_text(re.compile(rf"\b{done} decided today"))).to_be_visible()
        if not keys.endswith("s"):
            expect(toast(page)).to_contain_text("Merged" if keys[-1] == "m" else "not the same")
    return merged


def undo_from_the_toast(page: Page) -> None:
    before = decided(page)
    page.keyboard.press("u")
    expect(toast(page)).to_contain_text("Undid:")
    expect(page.get_by_text(f"{before - 1} decided today")).to_be_visible()


def decided(page: Page) -> int:
    found = re.search(r"(\d+) decided today", page.locator(".case__bar").inner_text())
    assert found
    return int(found[1])


def undo_from_the_history(page: Page) -> None:
    press(page, page.get_by_role("link", name="History", exact=True))
    press(page, page.get_by_role("link", name=re.compile("^Undo: .* merged ")).first)
    press(page, page.get_by_role("button", name="Undo this"))
    expect(toast(page)).to_contain_text("Undid:")


def split(page: Page, home: str, name: str) -> None:
    """What was merged is told apart again, by its second name."""
    page.goto(f"{home}entities/?q={name.replace(' ', '+')}")
    press(page, page.get_by_role("link", name=name, exact=True))
    press(page, page.get_by_role("link", name="Split…"))
    press(page, page.get_by_role("checkbox").nth(1), "Space")
    reach(page, page.get_by_label("Name of the new entity"))
    page.keyboard.press("Control+a")
    page.keyboard.type("Another firm")
    page.keyboard.press("Tab")
    expect(page.locator("[data-preview]")).to_be_visible()
    press(page, page.get_by_role("button", name="Split off"))
    expect(toast(page)).to_contain_text("Split 'Another firm' off")


def restore_from_the_trash(page: Page, home: str) -> None:
    page.goto(f"{home}documents/")
    press(page, page.get_by_role("checkbox", name="Choose Notes"), "Space")
    reach(page, page.get_by_role("button", name="Move chosen to the trash"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Notes", exact=True)).to_have_count(0)
    page.goto(f"{home}trash/")
    press(page, page.get_by_role("button", name="Restore Notes"))
    expect(page.get_by_role("heading", name="Notes", level=1)).to_be_visible()
    page.goto(f"{home}trash/")
    expect(page.get_by_text("Nothing in the trash")).to_be_visible()
    page.goto(f"{home}documents/")
    expect(page.get_by_role("link", name="Notes")).to_be_visible()


def test_keys_do_nothing_while_somebody_types_or_holds_another_key(page: Page, queue: str):
    page.goto(f"{queue}curation/")
    case = page.locator("#curation").get_attribute("data-case") or ""

    for keys in ("Control+m", "Alt+n", "Meta+s"):
        page.keyboard.press(keys)
    page.evaluate("document.querySelector('.case').append(document.createElement('textarea'))")
    reach(page, page.locator(".case textarea"))
    page.keyboard.type("mnsx1")

    expect(page.locator("#curation")).to_have_attribute("data-case", case)
    expect(page.locator(".case textarea")).to_have_value("mnsx1")


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_the_queue_can_be_used_by_everybody(context_of, queue: str, theme, width):
    page = context_of(color_scheme=theme, viewport={"width": width, "height": 820}).new_page()
    problems = []

    for name, address in {
        "queue": f"{queue}curation/",
        "queue above": f"{queue}curation/above/?above=80",
    }.items():
        page.goto(address)
        for details in page.locator("details").all():
            details.evaluate("element => { element.open = true; }")
        take_picture(page, name, f"{theme}-{width}")
        problems += [f"{name}: {found}" for found in findings(page)]
        if overflow(page) > 0:
            problems.append(f"{name} is too wide")

    assert problems == []
