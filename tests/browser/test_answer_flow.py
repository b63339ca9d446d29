"""An answer as it is made, as people see it: followed, left, stopped, broken off, asked again."""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.answer_script import ALOUD, FACTS, FOLLOW_UP, QUESTION, Narrator, papers
from tests.browser.contexts import new_context
from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, findings, overflow, problems_of
from tests.browser.test_main_flow import make_workspace
from tests.patience import PATIENCE
from tests.provider import Provider

BY_WORDS = "Words"
COUNT = itertools.count(1)


@pytest.fixture(scope="module")
def model() -> Iterator[Narrator]:
    with Provider() as provider:
        yield Narrator(provider)


@pytest.fixture(scope="module")
def mill(chromium: Browser, signed_in: list[Any], product: Product, model: Narrator) -> str:
    """A workspace of three papers with a model that answers; its address ends with a slash."""
    context = new_context(chromium)
    context.add_cookies(signed_in)
    page = context.new_page()
    home = make_workspace(page, product, "The tide mill")
    given = [
        {"name": name, "mimeType": "text/markdown", "buffer": text.encode()}
        for name, text in papers()
    ]
    page.set_input_files("#files", given)  # type: ignore[arg-type]  # Playwright's FilePayload
    expect(page.locator(".tally__counts")).to_contain_text("3 ready")
    page.goto(f"{home}models/")
    page.get_by_label("Endpoint", exact=True).fill(model.provider.url)
    page.get_by_label("Key", exact=True).fill(model.provider.key)
    page.get_by_label("Model", exact=True).fill(model.provider.model)
    page.get_by_role("button", name="Save without testing").click()
    expect(page.get_by_text("Models saved.")).to_be_visible()
    context.close()
    return home


@pytest.fixture
def page(context_of, model: Narrator) -> Iterator[Page]:
    """A page that fails the test when its script does."""
    opened: Page = context_of(viewport={"width": 1280, "height": 820}).new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    model.provider.script.forget()
    assert complaints == []


def ask(page: Page, home: str) -> str:
    """By its words alone: the model is then asked for nothing but the answer.

    No question is asked twice, or its answer would be there already.
    """
    question = f"{QUESTION} ({next(COUNT)})"
    page.goto(f"{home}ask/")
    page.locator(".ask-box .picker summary").first.click()
    page.locator(".ask-box .choice", has_text=re.compile(rf"^\s*{BY_WORDS}")).click()
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/questions/"))
    return question


def wait_for_words(page: Page, words: str) -> str:
    """The text once some of it is there."""
    text = page.locator("[data-text]")
    expect(text).to_contain_text(words)
    return text.inner_text()


def expect_whole_answer(page: Page) -> None:
    expect(page.locator("#answer")).to_have_attribute("data-state", "done")
    for fact in FACTS:
        expect(page.locator(".answer__text")).to_contain_text(fact)


@contextmanager
def answering_worker(product: Product) -> Iterator[psutil.Process]:
    """The process that answers in this installation."""
    yield next(each for each in psutil.process_iter(["cmdline"]) if is_answering(each, product))


def is_answering(process: psutil.Process, product: Product) -> bool:
    words = process.info["cmdline"] or []
    if words[-3:] != ["worker", "--lane", "answering"] or "python" not in words[0]:
        return False
    return process.environ().get("CONCORDANCE_DATA_DIR") == str(product.data)


# --- following -----------------------------------------------------------------------------------


def test_steps_then_passages_then_words_then_the_checked_answer(page: Page, mill: str, model):
    model.speak_slowly()
    ask(page, mill)

    expect(page.locator(".under-way__steps li").first).to_be_visible()
    expect(page.locator("#passages")).to_be_visible()
    wait_for_words(page, "The tide mill")
    expect(page.locator("#answer")).to_have_attribute("data-state", "running")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator("[data-text] .cite").nth(1)).to_have_text("2")

    expect_whole_answer(page)
    expect(page.locator(".answer__text .cite")).to_have_text(["1", "2", "3"])
    expect(page.locator(".answer__text p", has_text=ALOUD)).to_contain_text("no source found")
    expect(page.locator("[data-announce]")).to_contain_text("The answer is complete.")
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()


def test_a_reload_in_the_middle_goes_on_and_a_second_tab_shows_the_same(
    page: Page, mill: str, model
):
    model.speak_slowly()
    ask(page, mill)
    before = wait_for_words(page, "built by Isobel")

    page.reload()
    after = wait_for_words(page, before[:30])
    other = page.context.new_page()
    other.goto(page.url)
    wait_for_words(other, "built by Isobel")

    assert after.startswith(before[:30])
    expect(other.locator("#answer")).to_have_attribute("data-state", "running")
    expect_whole_answer(page)
    expect_whole_answer(other)
    whole = page.locator(".answer__text").inner_text()
    assert other.locator(".answer__text").inner_text() == whole


def test_the_third_citation_opens_the_marked_sentence(page: Page, mill: str):
    ask(page, mill)
    expect_whole_answer(page)

    page.locator(".answer__text .cite").nth(2).click()

    reader = page.locator("#reader-panel")
    expect(reader.locator("mark").first).to_contain_text("flood of 1911")
    expect(reader.locator("mark").first).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(reader).to_be_hidden()
    page.keyboard.press("]")
    expect(reader).to_be_visible()


def test_a_follow_up_goes_on_with_the_conversation(page: Page, mill: str):
    question = ask(page, mill)
    expect_whole_answer(page)

    page.get_by_label("Your question").fill(FOLLOW_UP)
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_have_text(FOLLOW_UP)
    earlier = page.get_by_role("region", name="Earlier in this conversation")
    expect(earlier).to_contain_text(question)
    expect(earlier).to_contain_text(FACTS[0])
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("heading", name="Your conversations")).to_be_visible()


# --- stopping, asking again, and what breaks -----------------------------------------------------


def test_stopping_keeps_what_was_written_and_asking_again_writes_it_all(
    page: Page, mill: str, model
):
    model.speak_slowly()
    ask(page, mill)
    wait_for_words(page, "Isobel Crane in")

    page.get_by_role("button", name="Stop").click()

    expect(page.get_by_text("This answer was stopped.")).to_be_visible()
    expect(page.locator(".answer__text")).to_contain_text("The tide mill")
    expect(page.locator(".answer__text")).not_to_contain_text(ALOUD)
    page.get_by_role("button", name="Ask again").click()
    expect_whole_answer(page)
    tries = page.get_by_role("navigation", name="Answers to this question")
    tries.get_by_role("link").first.click()
    expect(page.get_by_text("This answer was stopped.")).to_be_visible()


def test_a_worker_killed_in_the_middle_leaves_the_passages_and_a_way_to_try_again(
    page: Page, mill: str, model, product: Product
):
    model.speak_slowly()
    ask(page, mill)
    wait_for_words(page, "Isobel Crane in")

    with answering_worker(product) as worker:
        os.kill(worker.pid, signal.SIGKILL)

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("stopped before it was finished")
    expect(page.locator("#passages")).to_be_visible()
    expect(page.locator(".source").first).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect_whole_answer(page)


def test_a_question_that_no_worker_takes_up_says_that_it_waits(
    page: Page, mill: str, product: Product
):
    with answering_worker(product) as worker:
        worker.suspend()
        try:
            ask(page, mill)
            expect(page.get_by_text("It is waiting for a free worker")).to_be_visible()
        finally:
            worker.resume()

    expect_whole_answer(page)


def test_without_script_the_page_shows_how_far_it_is_and_can_be_looked_at_again(
    context_of, mill: str, model
):
    model.speak_slowly()
    page = context_of(java_script_enabled=False).new_page()
    page.goto(f"{mill}ask/?mode=lexical")
    page.get_by_label("Your question").fill(QUESTION)
    # Each page must have come whole: a link is not visible in half a page either.
    with page.expect_navigation():
        page.get_by_role("button", name="Ask", exact=True).click()

    again = page.get_by_role("link", name="Look again")
    deadline = time.monotonic() + PATIENCE
    while again.is_visible() and time.monotonic() < deadline:
        page.wait_for_timeout(500)
        with page.expect_navigation():
            again.click()

    expect(page.locator(".answer__text")).to_contain_text(FACTS[2])


def test_a_filter_is_found_by_typing_and_taken_away_again(page: Page, mill: str):
    page.goto(f"{mill}ask/")
    page.locator("[data-scope-picker] summary").click()
    page.get_by_placeholder("Part of a title").press_sequentially("Flo")
    page.locator("[data-scope-found=documents] .choice", has_text="Floods").click()
    page.keyboard.press("Escape")

    chip = page.locator(".scope-chip", has_text="Floods")
    expect(chip).to_be_visible()
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/questions/"))
    expect(page.locator("#answer")).to_have_attribute("data-state", "done")
    expect(page.locator(".answer__text")).not_to_contain_text("[")
    page.locator(".scope-chip").get_by_role("button").click()
    expect(chip).to_be_hidden()
    expect(page.locator("[data-scope-face]")).to_have_text("All documents")


# --- everybody -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_answers_in_every_state_can_be_used_by_everybody(
    context_of, mill: str, model, theme, width
):
    look = f"{theme}-{width}"
    page = context_of(color_scheme=theme, viewport={"width": width, "height": 820}).new_page()
    model.talks_for = 12
    model.speak_slowly()
    ask(page, mill)
    wait_for_words(page, "built by")

    problems = [f"under way: {each}" for each in findings(page)]
    problems += ["under way: too wide"] if overflow(page) > 0 else []
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("This answer was stopped.")).to_be_visible()
    problems += problems_of(page, "stopped", page.url, look)
    model.talks_for = 1
    page.get_by_role("button", name="Ask again").click()
    expect_whole_answer(page)
    problems += problems_of(page, "answered", page.url, look)
    page.get_by_text("How this was found").click()
    problems += [f"explained: {each}" for each in findings(page)]
    problems += ["explained: too wide"] if overflow(page) > 0 else []
    page.get_by_text("In another way").click()
    problems += [f"ways: {each}" for each in findings(page)]
    page.goto(f"{mill}ask/?tags=none&dated_from=1823-01-01")
    page.locator("[data-scope-picker] summary").click()
    problems += [f"filters: {each}" for each in findings(page)]
    problems += ["filters: too wide"] if overflow(page) > 0 else []

    assert problems == []
