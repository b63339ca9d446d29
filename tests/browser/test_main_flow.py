"""From a file to a cited answer, as a person does it."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.product import Product

NOTES = """# The Farne tide mill

The tide mill at Farne was built by Isobel Crane in 1823.

## The wheel

Its wheel was cast at the Ostrander foundry. The mill ground barley until 1911.
"""


def make_workspace(page: Page, product: Product, name: str) -> str:
    page.goto(f"{product.url}/workspaces/new/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create workspace").click()
    page.wait_for_url(re.compile(r"/w/[^/]+/documents/"))
    return page.url.removesuffix("documents/")


def open_demo(page: Page, product: Product) -> None:
    page.goto(product.url)
    page.locator(".rows--links a", has_text="Sample").click()


def drop(page: Page, *files: tuple[str, bytes]) -> None:
    """Drop files on the page, as a person drags them from a folder."""
    given = [{"name": name, "bytes": list(content)} for name, content in files]
    transfer = page.evaluate_handle(
        """(files) => {
            const transfer = new DataTransfer();
            for (const file of files) {
                transfer.items.add(new File([new Uint8Array(file.bytes)], file.name));
            }
            return transfer;
        }""",
        given,
    )
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})


def ask(page: Page, question: str) -> None:
    field = page.get_by_label("Your question")
    field.fill(question)
    field.press("Enter")
    page.wait_for_url(re.compile(r"/questions/"))
    expect(page.locator("#answer[data-events]")).to_have_count(0)


def test_a_dropped_file_becomes_an_answer_whose_citation_opens_the_marked_span(
    page: Page, product: Product
):
    workspace = make_workspace(page, product, "Mills")
    drop(page, ("Farne.md", NOTES.encode()), ("Empty.txt", b""))

    row = page.locator("#document-rows .doc-row", has_text="Farne")
    expect(row).to_contain_text("Ready")
    empty = page.locator("#document-rows .doc-row", has_text="Empty")
    expect(empty).to_contain_text("Needs attention")
    expect(empty.get_by_role("alert")).to_be_visible()

    page.goto(workspace)
    ask(page, "Who built the tide mill at Farne?")
    chip = page.locator(".answer__text .cite").first
    expect(page.locator(".answer__text")).to_contain_text("Isobel Crane")

    chip.hover()
    card = page.locator("#cite-card")
    expect(card).to_be_visible()
    expect(card.locator("strong")).to_contain_text("Isobel Crane")

    chip.click()
    reader = page.locator("#reader-panel")
    expect(reader.locator("mark").first).to_contain_text("Isobel Crane")
    expect(reader.locator("mark").first).to_be_in_viewport()
    expect(page).to_have_url(re.compile(r"\?cite=\d+$"))

    page.keyboard.press("Escape")
    expect(reader).to_be_hidden()
    expect(chip).to_be_focused()


def test_a_link_to_a_citation_opens_it_and_the_keyboard_steps_through_all(
    page: Page, product: Product
):
    open_demo(page, product)
    ask(page, "Which firm cut the new prisms of the Great Lens?")

    first = page.locator(".answer__text .cite").first.get_attribute("data-cite")
    page.goto(f"{page.url}?cite={first}")
    title = re.compile(rf"Source {first} · \d+ of \d+")
    expect(page.locator("[data-panel-title]")).to_have_text(title)
    expect(page.locator("#reader-panel mark").first).to_be_visible()

    page.keyboard.press("]")
    page.keyboard.press("[")
    expect(page.locator("[data-panel-title]")).to_have_text(title)
    page.keyboard.press("Escape")
    expect(page.locator("#reader-panel")).to_be_hidden()


def test_a_question_is_sent_before_the_modules_have_come(page: Page, product: Product):
    open_demo(page, product)
    page.wait_for_url("**/w/demo/")
    page.route("**/js/app*.js", lambda route: None)

    page.goto(page.url, wait_until="commit")
    field = page.get_by_label("Your question")
    field.fill("Which firm cut the new prisms of the Great Lens?")
    field.press("Enter")

    page.wait_for_url(re.compile(r"/questions/"), wait_until="commit")


def test_an_answer_is_copied_with_its_sources_and_saved_as_text(page: Page, product: Product):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_demo(page, product)
    ask(page, "When was the light on Skarrow first lit?")

    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as text").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8")

    shown = page.locator(".answer__text p").first.inner_text()
    assert copied.startswith(shown.split(".")[0])
    assert f"    {product.url}/w/" in copied
    assert "When was the light on Skarrow first lit?" in saved
    assert copied in saved


def test_what_the_documents_do_not_say_is_admitted(page: Page, product: Product):
    open_demo(page, product)

    ask(page, "What is the boiling point of tungsten hexafluoride?")

    expect(page.get_by_text("Your documents say nothing about this.")).to_be_visible()
    expect(page.get_by_role("link", name="Ask differently")).to_be_visible()


def test_the_same_file_twice_is_told_and_stays_until_dismissed(page: Page, product: Product):
    make_workspace(page, product, "Twice")
    drop(page, ("Farne.md", NOTES.encode()))
    expect(page.locator("#document-rows .doc-row")).to_have_count(1)

    drop(page, ("A copy.md", NOTES.encode()))

    notice = page.locator("#uploads", has_text="Already here")
    expect(notice).to_be_visible()
    expect(page.locator("#document-rows .doc-row")).to_have_count(1)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#uploads li")).to_have_count(0)


def test_enter_does_not_send_while_an_input_method_composes(page: Page, product: Product):
    open_demo(page, product)
    box = page.get_by_label("Your question")
    box.fill("杭州")
    here = page.url

    box.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
    page.wait_for_timeout(300)

    assert page.url == here


def test_the_theme_follows_the_system_and_can_be_chosen(context_of, product: Product):
    page = context_of(color_scheme="dark").new_page()
    page.goto(product.url)
    theme = "document.documentElement.dataset.bsTheme"
    assert page.evaluate(theme) == "dark"

    toggle = page.locator("[data-theme-toggle]:visible")
    toggle.click()
    page.reload()

    assert page.evaluate(theme) == "light"


def test_a_pdf_opens_as_a_picture_with_the_cited_words_boxed(page: Page, product: Product):
    open_demo(page, product)
    ask(page, "Why did the gallery door at Skarrow fail during Storm Ottoline?")
    source = page.locator(".source", has_text="Incident report").first
    source.get_by_role("link").click()

    page.locator("#reader-panel .tabs").get_by_text("Page").click()

    picture = page.locator("#reader-panel .pdf-page img")
    expect(picture).to_be_visible()
    page.wait_for_function("(image) => image.naturalWidth > 0", arg=picture.element_handle())
    expect(page.locator("#reader-panel .pdf-page rect").first).to_be_attached()


def test_the_folder_of_a_dropped_file_is_never_used(page: Page, product: Product, tmp_path: Path):
    make_workspace(page, product, "Names")

    drop(page, ("..\\..\\🔥 plan.txt", b"A plan for the mill."))

    expect(page.locator("#document-rows .doc-row")).to_contain_text("🔥 plan.txt")
