"""Small documents that tests of the browser add, replace and find again."""

from __future__ import annotations

import re
import time

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.patience import PATIENCE

BETWEEN_LOOKS = 250


def text_of(title: str, sentence: str) -> bytes:
    return f"# {title}\n\n{sentence}\n\n## Upkeep\n\nIt is looked after all year round.\n".encode()


def file_of(title: str, sentence: str) -> FilePayload:
    name = f"{title}.md"
    return {"name": name, "mimeType": "text/markdown", "buffer": text_of(title, sentence)}


def row(page: Page, title: str) -> Locator:
    return page.locator(".doc-row", has=page.get_by_role("link", name=title, exact=True))


def add(page: Page, home: str, title: str, sentence: str) -> str:
    """The address of a document once it can be read."""
    page.goto(f"{home}documents/")
    page.locator("#files").set_input_files([file_of(title, sentence)])
    link = page.get_by_role("link", name=title, exact=True)
    expect(link).to_be_visible()
    expect(row(page, title)).to_contain_text("Ready")
    address: str = link.evaluate("link => link.href")
    return address


def reload_until(page: Page, wanted: Locator) -> None:
    """Wait for what a page shows only when it is loaded again."""
    deadline = time.monotonic() + PATIENCE
    while not wanted.count():
        assert time.monotonic() < deadline, f"{wanted} did not appear on {page.url}."
        page.wait_for_timeout(BETWEEN_LOOKS)
        page.reload()


def open_details(page: Page, words: str) -> None:
    page.locator("summary", has_text=re.compile(words)).click()


def send_version(page: Page, title: str, sentence: str) -> None:
    open_details(page, "New version|Version")
    page.get_by_label("Replacement file").set_input_files([file_of(title, sentence)])
    page.get_by_role("button", name="Upload version").click()


def wait_for_version(page: Page, number: int) -> None:
    expect(page.get_by_text(f"Version {number} is searched now.")).to_be_visible()
