"""A team from its invitations to a removal, each person in a browser of their own, no mouse."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, FilePayload, Locator, Page, expect

from tests.browser.papers import BETWEEN_LOOKS, row
from tests.browser.product import Product
from tests.browser.test_accessibility import findings
from tests.browser.test_curation_keyboard import press, reach
from tests.patience import PATIENCE

ADDRESSES: Final = "all => all.map(a => new URL(a.getAttribute('href'), location).href)"
"""Of links, those in drawings too, whose href is no text."""
PASSWORD: Final = "correct horse battery staple"
SECRET: Final = "Dora Quist"
SHARED: Final = "Ardmore Instruments"
RENAMED: Final = "Ardmore Instruments Ltd"
DOCUMENTS: Final = {
    "Minutes": f"The board in Aberdeen thanked {SHARED} for the work. Later {SHARED} sent an"
    " invoice to Bellrock Chandlers.",
    "Verdict": f"Ada Lind owes {SECRET} money. {SECRET} sued Ada Lind in Wick. In June 1999"
    f" {SHARED} wrote to Ada Lind in Glasgow.",
}
OFFERED_TO_READERS: Final = {"ask", "logout", "leave", "tokens", "again", "feedback"}
"""What the addresses of a reader's forms may end with."""


@dataclass(frozen=True)
class Person:
    """Somebody at a keyboard, and what axe found on the pages that they used."""

    page: Page
    problems: list[str]

    def go(self, address: str) -> None:
        self.page.goto(address)
        self.look()

    def look(self) -> None:
        self.page.wait_for_load_state()
        path = urlsplit(self.page.url).path
        self.problems.extend(f"{path}: {problem}" for problem in findings(self.page))

    def press(self, role: Literal["button", "link"], name: str | re.Pattern[str]) -> None:
        """Press what is seen under this name, and look at the page that it leads to."""
        press(self.page, self.page.get_by_role(role, name=name).first)

    def write(self, label: str, text: str) -> None:
        reach(self.page, self.page.get_by_label(label, exact=True))
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, field: Locator, option: str) -> None:
        """Choose of a list by typing the option's first letters."""
        reach(self.page, field)
        self.page.keyboard.type(option)
        expect(field.locator("option:checked")).to_have_text(option)

    def sees(self, text: str | re.Pattern[str]) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible()


@pytest.fixture
def people(context_of: Callable[..., BrowserContext]) -> Iterator[Callable[..., Person]]:
    """Make people; no page that they used may keep anybody out."""
    problems: list[str] = []

    def make(*, visitor: bool = True) -> Person:
        context = context_of(visitor=visitor, viewport={"width": 1280, "height": 820})
        return Person(context.new_page(), problems)

    yield make
    assert problems == []


def test_a_team_is_invited_works_and_is_kept_apart_without_a_mouse(
    people: Callable[..., Person], product: Product
):
    owner, curator, reader = people(visitor=False), people(), people()
    home = make_workspace(owner, product)
    curators = invite_by_address(owner, home, "ines@example.com", "Curator")
    link = invite_by_link(owner, home)

    join(curator, curators, "ines@example.com")
    join(reader, link, "rolf@example.com")

    entity = rename(curator, home)
    reads_and_is_offered_nothing_else(reader, home, entity)
    before = mentions(reader, home)
    restrict(owner, home)
    curator.go(f"{home}entities/?q={SECRET.replace(' ', '+')}")
    expect(curator.page.get_by_role("link", name=SECRET)).to_be_visible()
    no_longer_sees(reader, home, before)
    removed_at_once(owner, reader, home)


def test_a_page_that_is_open_while_its_workspace_is_deleted_says_so(
    context_of: Callable[..., BrowserContext], product: Product
):
    page = context_of().new_page()
    page.goto(f"{product.url}/workspaces/new/")
    page.get_by_label("Name").fill("Short-lived")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/w/[^/]+/documents/"))
    other = page.context.new_page()
    other.goto(page.url.replace("documents/", "settings/delete/"))
    other.get_by_label("Type the name of the workspace to confirm").fill("Short-lived")
    other.get_by_role("button", name="Delete workspace").click()
    other.wait_for_url("**/deleted/")

    # As the list does every other second while documents are read.
    page.evaluate("htmx.trigger('#documents', 'refresh')")

    expect(page.locator("#toasts")).to_contain_text("Short-lived was deleted.")


# --- the owner ------------------------------------------------------------------------------------
def make_workspace(owner: Person, product: Product) -> str:
    """The address of a workspace whose documents have been read."""
    page = owner.page
    owner.go(f"{product.url}/workspaces/new/")
    owner.write("Name", "Harbour office")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/w/[^/]+/documents/"))
    home: str = page.url.removesuffix("documents/")
    # The dialog that chooses files is the system's own, and no page.
    page.locator("#files").set_input_files(
        [
            FilePayload(
                name=f"{title}.md",
                mimeType="text/markdown",
                buffer=f"# {title}\n\n{text}\n".encode(),
            )
            for title, text in DOCUMENTS.items()
        ]
    )
    for title in DOCUMENTS:
        expect(row(page, title)).to_contain_text("Ready")
    owner.look()
    return home


def invite_by_address(owner: Person, home: str, email: str, role: str) -> str:
    owner.go(f"{home}members/")
    owner.choose(owner.page.locator("#by_email_role"), role)
    owner.write("E-mail address", email)
    owner.press("button", "Create invitation")
    owner.sees("No mail is set up on this server")
    owner.look()
    return owner.page.get_by_label("Link of the invitation").input_value()


def invite_by_link(owner: Person, home: str) -> str:
    owner.go(f"{home}members/")
    owner.choose(owner.page.locator("#by_link_role"), "Viewer")
    owner.press("button", "Create link")
    field = owner.page.get_by_label("Link of the invitation")
    reach(owner.page, field)
    owner.look()
    return field.input_value()


def restrict(owner: Person, home: str) -> None:
    """Put the verdict into a collection that only the curator and the owner may see."""
    page = owner.page
    owner.go(f"{home}documents/collections/")
    owner.write("New collection", "Court")
    page.keyboard.press("Enter")
    page.wait_for_url("**/collections/*-*/")
    court = page.url
    owner.look()
    owner.go(f"{home}documents/")
    press(page, page.get_by_role("checkbox", name="Choose Verdict"), "Space")
    collection = page.get_by_label("Collection to move the chosen documents to")
    reach(page, collection, "Shift+Tab")
    page.keyboard.type("Court")
    owner.press("button", re.compile("^Move to collection"))
    expect(row(page, "Verdict")).to_contain_text("Court")

    owner.go(court)
    owner.press("link", "Access")
    owner.press("button", "Restrict access")
    owner.sees("Only the people below, admins and owners can see it.")
    owner.choose(page.get_by_label("Group or member"), "ines")
    owner.press("button", "Grant access")
    owner.sees("ines now has access.")
    owner.look()


def removed_at_once(owner: Person, reader: Person, home: str) -> None:
    owner.go(f"{home}members/")
    owner.press("button", "More about rolf")
    owner.press("link", "Remove…")
    owner.page.wait_for_url("**/remove/")
    owner.look()
    owner.press("button", "Remove")
    owner.sees("rolf was removed. Their work stays.")

    # On the page that is still open in the other browser.
    reader.press("link", "Entities")
    reader.sees("There is no such workspace")
    reader.look()


# --- the people invited ---------------------------------------------------------------------------
def join(person: Person, link: str, email: str) -> None:
    person.go(link)
    person.press("link", "Create an account")
    person.page.wait_for_url("**/accounts/signup/**")
    person.look()
    person.write("Email", email)
    person.write("Password", PASSWORD)
    person.write("Password again", PASSWORD)
    person.page.keyboard.press("Enter")
    person.page.wait_for_url(re.compile(r"\d/invitations/$"))
    person.look()
    person.press("button", "Accept")
    person.sees("Welcome to Harbour office.")
    person.look()


def rename(curator: Person, home: str) -> str:
    """Correct the name of an entity; its address."""
    page = curator.page
    curator.go(f"{home}entities/")
    curator.press("link", SHARED)
    curator.press("link", "Change the name")
    curator.write("Name", RENAMED)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=RENAMED, level=1)).to_be_visible()
    curator.look()
    return urlsplit(page.url)._replace(query="").geturl()


def reads_and_is_offered_nothing_else(reader: Person, home: str, entity: str) -> None:
    """On the pages of the workspace, every link opens, and no form or button is of no use."""
    links: set[str] = set()
    forms: set[str] = set()
    reader.go(home)
    menu = reader.page.get_by_role("navigation", name="Workspace").get_by_role("link")
    pages = [address for link in menu.all() if (address := link.evaluate("link => link.href"))]
    for address in [*pages, entity]:
        reader.go(address)
        links |= set(reader.page.locator("a[href]").evaluate_all(ADDRESSES))
        sent = "all => all.filter(f => f.method === 'post').map(f => f.action)"
        forms |= set(reader.page.locator("form").evaluate_all(sent))
    expect(reader.page.get_by_role("heading", name=RENAMED, level=1)).to_be_visible()
    expect(reader.page.get_by_role("button", name="Merge…")).to_be_disabled()

    opened = {link.partition("#")[0] for link in links if link.startswith(home)}
    closed = {link for link in opened if not reader.page.request.get(link).ok}
    assert closed == set()
    ends = {urlsplit(address).path.rstrip("/").rpartition("/")[2] for address in forms}
    assert ends <= OFFERED_TO_READERS


def mentions(reader: Person, home: str) -> int:
    """How often the entity is mentioned in what the reader may see."""
    reader.go(f"{home}entities/?q=Ardmore")
    # Under the first name where the curator's is in no document that may be seen.
    row = reader.page.locator(".doc-row", has_text=SHARED)
    found = re.search(r"(\d+) mention", row.inner_text())
    assert found
    return int(found[1])


def no_longer_sees(reader: Person, home: str, before: int) -> None:
    wait_for_view(reader, f"{home}documents/")
    expect(row(reader.page, "Minutes")).to_be_visible()
    expect(row(reader.page, "Verdict")).to_have_count(0)
    expect(reader.page.get_by_text("Court")).to_have_count(0)
    reader.look()
    reader.go(f"{home}entities/?q={SECRET.replace(' ', '+')}")
    expect(reader.page.get_by_role("link", name=SECRET)).to_have_count(0)
    assert 0 < mentions(reader, home) < before
    reader.go(f"{home}usage/")
    expect(reader.page.get_by_role("row", name=re.compile("^Documents 1 "))).to_be_visible()
    reader.go(home)


def wait_for_view(reader: Person, address: str) -> None:
    """Try again until the workspace without the collection is ready, as its page asks for."""
    deadline = time.monotonic() + PATIENCE
    reader.go(address)
    while reader.page.get_by_text("is being prepared").count() and time.monotonic() < deadline:
        reader.page.wait_for_timeout(BETWEEN_LOOKS)
        reader.page.reload()
    expect(reader.page.get_by_role("heading", name="Documents", level=1)).to_be_visible()
