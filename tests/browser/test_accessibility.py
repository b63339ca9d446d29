"""Every page, in both themes, wide and narrow: nothing serious for axe, nothing too wide."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from kb_project.env import env_str
from tests.browser.contexts import new_context
from tests.browser.papers import add, row, send_version, wait_for_version
from tests.browser.product import Product

SERIOUS = {"serious", "critical"}
# Each theme and each width once: contrast depends on the one, layout on the other.
LOOKS = [
    pytest.param("light", 1280, id="light-1280"),
    pytest.param("dark", 390, id="dark-390"),
]
# Where the pictures of all pages are put, when somebody wants to look at them.
SHOTS = env_str("CONCORDANCE_SHOTS")


def demo_pages(page: Page, product: Product) -> dict[str, str]:
    """Address of each page of the demo workspace, found by following its links."""
    page.goto(product.url)
    home = follow(page, ".rows--links a", "Sample")
    found = {"workspaces": f"{product.url}/", "new workspace": f"{product.url}/workspaces/new/"}
    found |= {"home": home, "members": f"{home}members/", "ask": f"{home}ask/"}
    found |= {"models": f"{home}models/", "usage": f"{home}usage/", "health": f"{home}health/"}
    found |= {name: f"{home}{name}/" for name in ("documents", "entities", "topics")}
    found |= {"curation": f"{home}curation/", "certain": f"{home}curation/above/"}
    found["conflicts"] = f"{home}conflicts/"
    found["search"] = f"{home}search/?q=Great+Lens"
    for name, question in (
        ("answer", "Who founded the Orran Lights Society, and when?"),
        ("no answer", "What is the boiling point of tungsten hexafluoride?"),
    ):
        page.goto(home)
        page.get_by_label("Your question").fill(question)
        page.keyboard.press("Enter")
        page.wait_for_url("**/questions/**")
        expect(page.locator("#answer[data-events]")).to_have_count(0)
        found[name] = page.url
    page.goto(found["answer"])
    first = page.locator(".answer__text .cite").first.get_attribute("data-cite")
    found["answer with source"] = f"{found['answer']}?cite={first}"
    page.goto(found["documents"])
    found["document"] = follow(page, ".doc-row__title", "Incident report")
    found["page of a document"] = f"{found['document']}?view=page"
    page.goto(found["entities"])
    found["entity"] = follow(page, ".doc-row__title")
    page.goto(found["topics"])
    found["topic"] = follow(page, ".tree a")
    found |= life_pages(page, home) | collection_pages(page, home)
    found["not found"] = f"{home}documents/00000000-0000-0000-0000-000000000000/"
    return found


def life_pages(page: Page, home: str) -> dict[str, str]:
    """Pages of a document that was replaced, and of one that is in the trash."""
    pier = add(page, home, "The pier of Vannay", "The pier of Vannay was built in 1902.")
    page.goto(pier)
    send_version(page, "The pier of Vannay", "The pier of Vannay was built in 1911.")
    wait_for_version(page, 2)
    sluice = add(page, home, "The sluice of Vannay", "The sluice of Vannay was built in 1850.")
    row(page, "The sluice of Vannay").get_by_role("checkbox").check()
    page.get_by_role("button", name="Move chosen to the trash").click()
    expect(row(page, "The sluice of Vannay")).to_have_count(0)
    return {
        "replaced document": pier,
        "earlier version": f"{pier}?version=1",
        "what changed": f"{pier}versions/2/changes/",
        "history of a document": f"{pier}history/",
        "trash": f"{home}trash/",
        "document in the trash": sluice,
        "delete for good": f"{sluice}delete/",
    }


def collection_pages(page: Page, home: str) -> dict[str, str]:
    page.goto(f"{home}documents/collections/")
    page.get_by_label("New collection").fill("Letters")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/collections/*-*/")
    return {
        "collections": f"{home}documents/collections/",
        "collection": page.url,
        "delete a collection": f"{page.url}delete/",
    }


def follow(page: Page, selector: str, text: str = "") -> str:
    page.locator(selector, has_text=text).first.click()
    page.wait_for_load_state()
    return page.url


def findings(page: Page) -> list[str]:
    """The serious findings of axe, one line each."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {[node['target'] for node in violation['nodes']][:3]}"
        for violation in violations
        if violation["impact"] in SERIOUS
    ]


def overflow(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return width


def take_picture(page: Page, name: str, look: str) -> None:
    if SHOTS:
        path = Path(SHOTS) / f"{name.replace(' ', '-')}-{look}.png"
        page.screenshot(path=path, full_page="source" not in name)


def problems_of(page: Page, name: str, address: str, look: str) -> list[str]:
    page.goto(address)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.evaluate("document.fonts.ready.then(() => true)")
    take_picture(page, name, look)
    wide = overflow(page)
    found = findings(page) + ([f"overflows by {wide} px"] if wide > 0 else [])
    return [f"{name}: {problem}" for problem in found]


@pytest.fixture(scope="module")
def addresses(chromium, signed_in, product: Product) -> dict[str, str]:
    context = new_context(chromium)
    context.add_cookies(signed_in)
    found = demo_pages(context.new_page(), product)
    context.close()
    return found


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_every_page_can_be_used_by_everybody(context_of, addresses, theme, width):
    context = context_of(color_scheme=theme, viewport={"width": width, "height": 820})
    page = context.new_page()

    problems = [
        problem
        for name, address in addresses.items()
        for problem in problems_of(page, name, address, f"{theme}-{width}")
    ]

    assert problems == []


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_the_entrance_can_be_used_by_everybody(context_of, product: Product, theme, width):
    context = context_of(visitor=True, color_scheme=theme, viewport={"width": width, "height": 820})
    page = context.new_page()

    problems = [
        problem
        for name in ("login", "signup", "password/reset")
        for problem in problems_of(
            page, name.replace("/", "-"), f"{product.url}/accounts/{name}/", f"{theme}-{width}"
        )
    ]

    assert problems == []


def test_everything_that_is_pressed_shows_its_focus(context_of, addresses):
    page = context_of(viewport={"width": 1280, "height": 820}).new_page()
    page.goto(addresses["home"])
    unseen = []

    for _ in range(25):
        page.keyboard.press("Tab")
        outline = page.evaluate(
            "(() => { const e = document.activeElement; const ask = e.closest('.ask-box');"
            " return e.tagName === 'TEXTAREA' ? getComputedStyle(ask).boxShadow !== 'none'"
            " : getComputedStyle(e).outlineStyle !== 'none'; })()"
        )
        if not outline:
            unseen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))

    assert unseen == []
