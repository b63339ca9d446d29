"""The graph taken away, brought in and asked about, without a mouse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.product import Product
from tests.browser.test_accessibility import LOOKS, findings, overflow, take_picture
from tests.browser.test_curation_keyboard import press, reach, toast
from tests.browser.test_main_flow import make_workspace

ENDS = ("Jamie Flett", "Leena Varghese")
DEMO = "api/v1/workspaces/demo"


@pytest.fixture
def page(context_of: Any) -> Iterator[Page]:
    """A page that fails the test when its script does."""
    opened: Page = context_of(viewport={"width": 1280, "height": 860}).new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    assert complaints == []


def exported(page: Page, product: Product, folder: Path, kind: str = "") -> Path:
    """The file that the page gives for the demo, or for entities of a type, by keys alone."""
    page.goto(f"{product.url}/w/demo/entities/?type={kind}")
    press(page, page.get_by_role("link", name="Export and import"))
    page.wait_for_url(re.compile("/graph/transfer/"))
    reach(page, page.get_by_role("radio", name=re.compile("GraphML")))
    with page.expect_download() as download:
        press(page, page.get_by_role("button", name="Export"))
    path = folder / "demo.graphml"
    download.value.save_as(path)
    return path


def rest(page: Page, product: Product, path: str) -> Any:
    response = page.request.get(f"{product.url}/{DEMO}/{path}")
    assert response.ok, response.text()
    return response.json()


def flat(data: dict[str, Any]) -> dict[str, Any]:
    """Attributes as a format without lists has them."""
    found = dict(data)
    for name in ("aliases", "topics", "predicates"):
        if name in found:
            found[name] = "\n".join(found[name])
    return found


def parsed(data: dict[str, Any]) -> dict[str, Any]:
    return data | ({"evidence": json.loads(data["evidence"])} if "evidence" in data else {})


def test_what_is_exported_is_what_programs_are_given(page: Page, product: Product, tmp_path: Path):
    graph = nx.read_graphml(exported(page, product, tmp_path))

    # The same as node-link JSON over REST, attribute by attribute.
    given = nx.node_link_graph(rest(page, product, "graph/export/?format=json"), edges="edges")
    assert len(graph) > 100
    assert graph.is_directed()
    assert {one: parsed(data) for one, data in graph.nodes(data=True)} == {
        one: flat(data) for one, data in given.nodes(data=True)
    }
    assert {(one, other): parsed(data) for one, other, data in graph.edges(data=True)} == {
        (one, other): flat(data) for one, other, data in given.edges(data=True)
    }
    # And the same as the lists say.
    facts = rest(page, product, "relationships/?page_size=50")
    assert facts["total"] == graph.number_of_edges()
    for fact in facts["results"]:
        data = graph.edges[fact["source"]["id"], fact["target"]["id"]]
        assert (data["id"], data["evidence_count"]) == (fact["id"], fact["evidence"])
        assert data["weight"] == pytest.approx(fact["weight"], abs=0.001)
    for entity in rest(page, product, "entities/?page_size=50")["results"]:
        data = graph.nodes[entity["id"]]
        assert (data["name"], data["type"]) == (entity["name"], entity["type"])
        assert data["mentions"] == entity["mentions"]


def test_an_export_fills_an_empty_workspace_and_one_undo_empties_it(
    page: Page, product: Product, tmp_path: Path
):
    path = exported(page, product, tmp_path, "organization")
    graph = nx.read_graphml(path)
    home = make_workspace(page, product, "Brought in")

    assert graph.number_of_edges() > 10
    bring_in(page, home, path, len(graph))
    find(page, graph.nodes[max(graph.degree, key=lambda pair: pair[1])[0]]["name"])
    page.go_back()
    page.go_back()
    press(page, page.get_by_role("link", name="Undo the import…"))
    page.wait_for_url(re.compile("/history/"))
    press(page, page.get_by_role("button", name="Undo this"))
    expect(toast(page)).to_contain_text("Undid")
    page.goto(f"{home}entities/")
    expect(page.get_by_text("No entities yet")).to_be_visible()


def bring_in(page: Page, home: str, path: Path, number: int) -> None:
    """From the empty list to the entities: a file, its preview, the import."""
    page.goto(f"{home}entities/")
    press(page, page.get_by_role("link", name="Import entities and facts"))
    page.wait_for_url(re.compile("/graph/transfer/"))
    # Which file it is, the system's own window asks.
    reach(page, page.get_by_label("File", exact=True))
    page.get_by_label("File", exact=True).set_input_files(path)
    press(page, page.get_by_role("button", name="Preview"))
    page.wait_for_url(re.compile("/imports/"))
    expect(page.get_by_role("heading", name=re.compile("^Entities: new"))).to_contain_text(
        f"({number})"
    )
    take_picture(page, "import preview", "light-1280")

    press(page, page.get_by_role("button", name="Import", exact=True))
    expect(page.get_by_text("were created.")).to_be_visible()
    press(page, page.get_by_role("link", name="Show entities"))
    page.wait_for_url(re.compile("/entities/"))
    expect(page.get_by_text(f"{number} entities")).to_be_visible()


def find(page: Page, name: str) -> None:
    """Filter the list to an entity."""
    press(page, page.get_by_label("Name"), "Control+a")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"\?q="))
    expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()


def test_a_connection_is_asked_for_and_a_step_opened(page: Page, product: Product):
    page.goto(f"{product.url}/w/demo/ask/")
    reach(page, page.get_by_role("textbox").first)
    page.keyboard.type(f"How is {ENDS[0]} connected to {ENDS[1]}?")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/questions/"))
    expect(page.locator("#answer[data-events]")).to_have_count(0)
    text = page.locator(".answer__text")
    expect(text).to_contain_text(re.compile(f"{ENDS[0]} and {ENDS[1]} are .*connected"))
    step = text.locator("p, li").filter(has=page.locator("strong")).first
    expect(step).to_contain_text(ENDS[0])

    press(page, step.locator(".cite").first)

    marked = page.locator("#reader-panel mark").first
    expect(marked).to_be_in_viewport()
    said = " ".join(marked.inner_text().split())
    assert said in " ".join(step.inner_text().split())


@pytest.mark.parametrize(("look", "width"), LOOKS)
def test_the_page_can_be_read_by_everyone(context_of, product: Product, look: str, width: int):
    page = context_of(viewport={"width": width, "height": 860}, color_scheme=look).new_page()
    page.goto(f"{product.url}/w/demo/graph/transfer/")

    take_picture(page, "transfer", f"{look}-{width}")

    assert findings(page) == []
    assert overflow(page) <= 0
