"""A workspace with a language model, from its key to a cited report, as people see it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.contexts import new_context
from tests.browser.model_script import SPELLINGS, Articulate, paper, papers
from tests.browser.papers import reload_until
from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, problems_of
from tests.browser.test_main_flow import make_workspace
from tests.patience import PATIENCE
from tests.provider import Provider

FOR_ALL = "Write for sailors."
PASSWORD = "a-long-walk-on-the-shore"
ADD_PEOPLE = """
from workspaces.people import queries, services
from workspaces.models import Role
bob = services.person_add(email="bob@shore.example", password="{password}")
services.person_add(email="charlie@shore.example", password="{password}")
workspace = queries.workspace_at(slug="{slug}")
services.member_add(workspace=workspace, user=bob, role=Role.VIEWER)
"""


class Study(NamedTuple):
    """A workspace whose documents a scripted model has read; ``home`` ends with a slash."""

    home: str
    model: Articulate

    @property
    def slug(self) -> str:
        return self.home.rstrip("/").rpartition("/")[2]


@pytest.fixture(scope="module")
def model() -> Iterator[Articulate]:
    with Provider() as provider:
        yield Articulate(provider)


@pytest.fixture(scope="module")
def study(chromium: Browser, signed_in: list[Any], product: Product, model) -> Study:
    context = new_context(chromium)
    context.add_cookies(signed_in)
    page = context.new_page()
    home = make_workspace(page, product, "Harbour papers")
    set_up(page, home, model)
    upload(page, home, *papers())
    expect(page.locator(".tally__counts")).to_contain_text("4 ready")
    wait_for_topics(page, home)
    wait_for_summary(page, home, "Paper 1")
    context.close()
    return Study(home, model)


@pytest.fixture
def page(context_of, model: Articulate) -> Iterator[Page]:
    opened: Page = context_of(viewport={"width": 1280, "height": 820}).new_page()
    yield opened
    model.provider.script.forget()


def set_up(page: Page, home: str, model: Articulate, *, key: str = "") -> None:
    page.goto(f"{home}models/")
    page.get_by_label("Endpoint", exact=True).fill(model.provider.url)
    page.get_by_label("Key", exact=True).fill(key or model.provider.key)
    page.get_by_label("Model", exact=True).fill(model.provider.model)
    page.get_by_label("Instructions for answers").fill(FOR_ALL)
    page.get_by_label("Also extract claims").check()
    page.get_by_role("button", name="Save without testing").click()
    expect(page.get_by_text("Models saved.")).to_be_visible()


def set_money(page: Page, home: str, *, price: str = "", cap: str = "") -> None:
    page.goto(f"{home}models/")
    if price:
        page.get_by_label("Price in", exact=True).first.fill(price)
        page.get_by_label("Price out").first.fill(price)
        page.get_by_role("button", name="Save prices").click()
        expect(page.get_by_text("Prices saved.")).to_be_visible()
    if cap:
        page.get_by_label("What may be spent in all").fill(cap)
        page.get_by_role("button", name="Save budget").click()
        expect(page.get_by_text("Budget saved.")).to_be_visible()


def choose(page: Page, home: str, *files: tuple[str, str]) -> None:
    page.goto(f"{home}documents/")
    given = [
        {"name": name, "mimeType": "text/markdown", "buffer": text.encode()} for name, text in files
    ]
    page.set_input_files("#files", given)  # type: ignore[arg-type]  # Playwright's FilePayload


def upload(page: Page, home: str, *files: tuple[str, str]) -> None:
    choose(page, home, *files)
    page.get_by_role("button", name=re.compile(r"Upload \d")).click()
    expect(page.locator("#document-rows .doc-row").first).to_be_visible()


def wait_for_topics(page: Page, home: str) -> None:
    page.goto(f"{home}topics/")
    reload_until(page, page.locator(".tree a"))


def wait_for_summary(page: Page, home: str, title: str) -> None:
    """Summaries are written after the topics."""
    open_document(page, home, title)
    reload_until(page, page.get_by_text(re.compile(r"Written by .+ from the whole document")))


def open_document(page: Page, home: str, title: str) -> None:
    page.goto(f"{home}documents/")
    page.locator(".doc-row__title", has_text=title).click()
    expect(page.locator("h1")).to_contain_text(title)


def open_entity(page: Page, home: str, name: str) -> None:
    page.goto(f"{home}entities/?q={name.replace(' ', '+')}")
    page.locator(".doc-row__title", has_text=name).first.click()
    expect(page.locator("h1")).to_contain_text(name)


def test_an_admin_sets_a_model_up_and_sees_what_its_server_understands(
    page: Page, product: Product, model: Articulate
):
    home = make_workspace(page, product, "Set up")
    page.get_by_role("link", name="Models").click()
    expect(page.get_by_text("This workspace works on the local tier.")).to_be_visible()

    set_up(page, home, model)
    page.get_by_role("button", name="Test", exact=True).focus()
    page.keyboard.press("Enter")

    tested = page.locator("#test")
    expect(tested.get_by_text("Answers by a JSON schema")).to_be_visible()
    expect(tested.get_by_text("Works", exact=True)).to_have_count(5)
    assert model.provider.key not in page.content()
    expect(page.get_by_label("Key", exact=True)).to_have_value("")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("401", "rejects the key"),
        ("404", "does not have the model"),
        ("html", "not like a model endpoint"),
    ],
)
def test_a_test_that_fails_says_what_is_wrong(
    page: Page, product: Product, model: Articulate, fault: str, sentence: str
):
    home = make_workspace(page, product, f"Trouble {fault}")
    set_up(page, home, model)
    for kind in ("chat", "models"):
        model.provider.script.next(fault, times=4, kind=kind)

    page.get_by_role("button", name="Test", exact=True).click()

    expect(page.locator("#test")).to_contain_text(sentence)


def test_what_files_will_cost_is_shown_before_any_is_sent(page: Page, study: Study):
    choose(page, study.home, ("New.md", paper(7, paragraphs=20)))

    estimate = page.locator("#upload-estimate")
    expect(estimate).to_contain_text("1 file chosen.")
    expect(estimate).to_contain_text(re.compile(r"passages?.*calls to the model.*tokens"))
    expect(estimate.get_by_role("button", name="Upload 1 file")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(estimate).to_be_empty()
    expect(page.locator(".doc-row__title", has_text="New")).to_have_count(0)


def test_a_passage_that_could_not_be_read_is_listed_and_read_again_alone(page: Page, study: Study):
    open_document(page, study.home, "A leaf")
    unread = page.locator("[aria-labelledby=unread-passages]")
    expect(unread).to_contain_text("1 passage could not be read by the model")
    expect(unread).to_contain_text("did not have the requested format")

    study.model.reads_smudges = True
    unread.get_by_role("button", name="Retry passage 1").click()

    expect(page.locator("main")).to_be_visible()
    # The passage is read first, its names stand on the page when the stages after it are done.
    named = page.locator(".reader__aside", has_text="Greta Moe")
    deadline = time.monotonic() + PATIENCE
    open_document(page, study.home, "A leaf")
    while (unread.count() or not named.count()) and time.monotonic() < deadline:
        page.wait_for_timeout(500)
        open_document(page, study.home, "A leaf")
    expect(named).to_be_visible()
    expect(unread).to_have_count(0)


def test_a_document_says_what_it_took_and_what_was_not_kept(page: Page, study: Study):
    open_document(page, study.home, "Paper 1")

    expect(
        page.get_by_text(re.compile(r"Reading it took \d+ calls and [\d,]+ tokens"))
    ).to_have_count(1)
    page.get_by_text("Model output the text does not support").click()
    expect(page.get_by_text("None of it was kept.")).to_be_visible()
    expect(page.get_by_text("Written by test-model from the whole document.")).to_be_visible()


def test_an_entity_shows_what_a_model_wrote_what_contradicts_and_what_was_decided(
    page: Page, study: Study
):
    open_entity(page, study.home, "Ada Lind")
    expect(page.get_by_text("Summarised by test-model")).to_be_visible()
    expect(page.locator("#conflicts")).to_be_visible()
    expect(page.get_by_text("The year of the first lighting differs.").first).to_be_visible()
    expect(page.locator("main")).to_contain_text("Ada Lind claims that the harbour light was lit")
    expect(page.get_by_text("Suspected").first).to_be_visible()

    page.locator(".fact__quote a").first.click()
    expect(page.locator("mark").first).to_be_visible()

    open_entity(page, study.home, "Skarrow Harbo")
    names = page.locator("[aria-labelledby=names]")
    for spelling in SPELLINGS:
        expect(names.get_by_text(spelling, exact=True)).to_be_visible()
    expect(names).to_contain_text("Decided by test-model")


def test_a_finding_of_a_topic_opens_the_reader_where_it_is_said(page: Page, study: Study):
    page.goto(f"{study.home}topics/")
    page.locator(".tree a").first.click()
    expect(page.get_by_text("Written by a model", exact=True)).to_be_visible()
    expect(page.locator(".answer__sentence--unsupported")).to_have_count(1)

    page.locator(".finding .source-link").first.click()

    expect(page.locator("mark").first).to_be_visible()


def test_usage_tells_what_was_asked_for_which_work(page: Page, study: Study):
    page.goto(study.home)
    page.get_by_role("link", name="Usage").click()

    expect(page.locator("main")).to_contain_text("Finding entities and facts")
    expect(page.locator("main")).to_contain_text("Writing reports on topics")
    assert "reply_invalid" not in page.content()


def test_a_spent_budget_pauses_the_work_which_goes_on_by_itself_when_it_is_raised(
    page: Page, product: Product, model: Articulate
):
    home = make_workspace(page, product, "On a budget")
    set_up(page, home, model)
    set_money(page, home, price="20", cap="0.05")
    upload(
        page, home, ("First.md", paper(3, paragraphs=20)), ("Second.md", paper(4, paragraphs=20))
    )

    notice = page.locator("#documents [role=status]", has_text="Work is paused.")
    expect(notice).to_contain_text("budget")
    expect(notice).to_contain_text("kept")
    assert problems_of(page, "paused", page.url, "light-1280") == []
    page.goto(f"{home}usage/")
    expect(page.locator(".meter")).to_contain_text(re.compile(r"0\.0\d+\s+of\s+0\.05\d*\s+spent"))
    set_money(page, home, cap="1000")

    page.goto(f"{home}documents/")
    expect(page.locator(".tally__counts")).to_contain_text("2 ready")
    expect(notice).to_have_count(0)
    again = paper(3, paragraphs=20)
    choose(page, home, ("First.md", again))
    page.get_by_role("button", name="Upload 1 file").click()
    expect(page.locator("#uploads")).to_contain_text("Already here")
    expect(page.locator("#uploads")).to_contain_text("Nothing was added twice")


@pytest.fixture(scope="module")
def people(product: Product, study: Study) -> None:
    """Bob, who may read, and Charlie, who is a stranger."""
    product.manage("shell", "-c", ADD_PEOPLE.format(slug=study.slug, password=PASSWORD))


@pytest.mark.usefixtures("people")
def test_a_reader_chooses_the_form_of_an_answer_and_which_topics_it_reads(
    context_of, product: Product, study: Study
):
    bob = sign_in(context_of(visitor=True).new_page(), product, "bob")
    bob.goto(f"{study.home}ask/?level=0")
    bob.locator(".ask-box .picker summary").first.click()
    bob.locator(".ask-box .choice", has_text=re.compile(r"^\s*Global")).click()
    bob.locator("summary", has_text="Form of the answer").click()
    expect(bob.get_by_text(FOR_ALL)).to_be_visible()
    bob.locator(".ask-box .choice", has_text=re.compile(r"^\s*List")).click()
    bob.get_by_label("Your instructions for this answer").fill("In metric units.")
    bob.get_by_label("How deep").select_option("0")
    bob.get_by_label("Which of them").select_option(label="Always rate topics first")
    bob.get_by_label("Your question").fill("What do these papers speak of?")
    bob.keyboard.press("Enter")
    bob.wait_for_url(re.compile(r"/questions/"))

    expect(bob.locator("#answer")).to_have_attribute("data-state", "done")
    asked_for = bob.get_by_text("Asked for:").locator("..")
    for wish in ("List", "In metric units.", "Main topics only", "Always rate topics first"):
        expect(asked_for).to_contain_text(wish)
    asked = [seen.text for seen in study.model.provider.requests]
    assert any("You decide which reports" in text for text in asked)
    [wanted] = [text for text in asked if "Write no heading" in text]
    assert FOR_ALL in wanted
    assert "In metric units." in wanted


@pytest.mark.usefixtures("people")
def test_a_reader_sees_what_is_spent_but_sets_nothing_and_a_stranger_finds_nothing(
    context_of, product: Product, study: Study
):
    bob, charlie = (
        sign_in(context_of(visitor=True).new_page(), product, name) for name in ("bob", "charlie")
    )

    bob.goto(f"{study.home}usage/")
    expect(bob.get_by_role("heading", name="By kind of work")).to_be_visible()
    bob.goto(f"{study.home}models/")
    expect(bob.get_by_text("Admins of this workspace choose its models.")).to_be_visible()
    expect(bob.get_by_text(FOR_ALL)).to_be_visible()
    expect(bob.get_by_label("Key", exact=True)).to_have_count(0)
    for name in ("usage", "models"):
        answer = charlie.goto(f"{study.home}{name}/")
        assert answer is not None
        assert answer.status == 404


def sign_in(page: Page, product: Product, name: str) -> Page:
    page.goto(f"{product.url}/accounts/login/")
    page.get_by_label("Email").fill(f"{name}@shore.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{product.url}/")
    return page


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_every_page_of_the_model_tier_can_be_used_by_everybody(
    context_of, study: Study, theme: str, width: int
):
    page = context_of(color_scheme=theme, viewport={"width": width, "height": 820}).new_page()
    addresses = {
        name: f"{study.home}{name}/" for name in ("models", "usage", "documents", "topics")
    }
    open_document(page, study.home, "Paper 1")
    addresses["document"] = page.url
    open_entity(page, study.home, "Ada Lind")
    addresses["entity"] = page.url
    page.goto(addresses["topics"])
    addresses["topic"] = page.locator(".tree a").first.evaluate("link => link.href")

    problems = [
        problem
        for name, address in addresses.items()
        for problem in problems_of(page, f"model {name}", address, f"{theme}-{width}")
    ]

    assert problems == []
