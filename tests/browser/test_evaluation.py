"""Evaluation in a real browser: make questions, accept them, run modes over them, see results."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.contexts import new_context
from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, problems_of


@pytest.fixture(scope="module")
def pages(chromium, signed_in, product: Product) -> dict[str, str]:
    """The addresses of every page of evaluation, found by using them as a person does."""
    context = new_context(chromium)
    context.add_cookies(signed_in)
    page = context.new_page()
    page.goto(f"{product.url}/")
    page.locator(".rows--links a", has_text="Sample").first.click()
    page.get_by_role("link", name="Evaluation").click()
    found = {"evaluation": page.url}
    page.get_by_label("A new set of questions").fill("What we should know")
    page.get_by_role("button", name="Create").click()
    found["set"] = page.url
    make_questions(page)
    found["set with questions"] = page.url
    found["run"] = run_once(page)
    page.goto(found["set"])
    run_once(page)
    found["second run"] = page.url
    page.locator(".data-table td a").first.click()
    page.wait_for_load_state()
    found["result"] = page.url
    page.goto(found["set"])
    page.get_by_role("link", name=re.compile("Change the question")).first.click()
    page.wait_for_load_state()
    found["question"] = page.url
    context.close()
    return found


def make_questions(page: Page) -> None:
    page.get_by_text("Made from the documents").click()
    page.get_by_label("How many").fill("6")
    page.get_by_role("button", name="Make questions").click()
    accept = page.get_by_role("button", name="Accept the chosen")
    expect(accept).to_be_visible()
    expect(page.get_by_text("Questions are being made")).to_have_count(0)
    accept.click()
    expect(page.get_by_text(re.compile(r"\d+ accepted\."))).to_be_visible()


def run_once(page: Page) -> str:
    """Start a run of two modes with answers, and wait as a person does; the page polls."""
    page.get_by_label("Answer the questions too").check()
    expect(page.locator("#run-estimate")).to_contain_text("Costs nothing")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/evaluation/runs/**")
    expect(page.locator("#run")).to_contain_text("Faithfulness")
    expect(page.locator("#run .page-header")).to_contain_text("Done")
    return page.url


def test_questions_are_made_accepted_and_run(pages, context_of):
    page = context_of().new_page()

    page.goto(pages["second run"])

    expect(page.get_by_text("Beside the run of")).to_be_visible()
    expect(
        page.get_by_text("Documents, modes, models and questions are unchanged.")
    ).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Perfect@5"))).to_be_visible()


def test_an_answer_can_be_added_to_a_set(pages, context_of):
    page = context_of().new_page()
    page.goto(pages["evaluation"].replace("evaluation/", ""))
    page.get_by_label("Your question").fill("Who founded the Orran Lights Society, and when?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/questions/**")
    question_id = page.url.rstrip("/").rpartition("/")[2]

    expect(page.locator("#answer")).to_have_attribute("data-state", "done")
    page.goto(f"{pages['evaluation']}keep/{question_id}/")
    page.get_by_role("button", name="Add").click()

    expect(page.get_by_text("Added to “What we should know”")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_every_page_of_evaluation_can_be_used_by_everybody(context_of, pages, theme, width):
    context = context_of(color_scheme=theme, viewport={"width": width, "height": 820})
    page = context.new_page()

    problems = [
        problem
        for name, address in pages.items()
        for problem in problems_of(page, f"evaluation {name}", address, f"{theme}-{width}")
    ]

    assert problems == []
