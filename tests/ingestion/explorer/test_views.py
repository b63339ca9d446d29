"""The page of the graph, its data and its panels."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation import merging
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity
from ingestion.stages import layout
from tests import rows
from tests.api import address as api_address, assert_problem, client
from tests.ingestion.pages import address, client_of, page_of
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind met Bo Strand.\n\nBo Strand met Cy Reef."
NAMES = {"Ada Lind": "PERSON", "Bo Strand": "PERSON", "Cy Reef": "PERSON"}


class Letters:
    def __init__(self) -> None:
        self.cast = rows.make_cast()
        workspace = self.cast.workspace
        self.document = rows.make_document(workspace, "Letters", TEXT, names=NAMES)
        self.ada, self.bo, self.cy = (rows.make_entity(workspace, name) for name in NAMES)
        first, second = rows.chunks_of(self.document)
        rows.make_relationship(self.ada, self.bo, first, "met")
        rows.make_relationship(self.bo, self.cy, second, "wrote to")
        layout.renew(workspace.pk)

    def view(self, user: Any, **query: Any) -> Any:
        return client_of(user).get(address("explorer_view", self.cast), query)

    def more(self, user: Any, **body: Any) -> Any:
        return client_of(user).post(address("explorer_more", self.cast), body)


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_see_the_graph_with_positions(letters: Letters, who: str):
    user = getattr(letters.cast, who)
    page = page_of(user, "explorer", letters.cast)
    seen = letters.view(user).json()

    assert "Entities in the picture" in page
    assert {row[1] for row in seen["nodes"]} == set(NAMES)
    assert all(isinstance(row[5], float) and isinstance(row[6], float) for row in seen["nodes"])
    assert (seen["total"], len(seen["edges"])) == (3, 2)
    assert all(0 <= end < 3 for edge in seen["edges"] for end in edge[:2])


def test_a_stranger_finds_nothing(letters: Letters):
    stranger = rows.make_user("Zoe")
    for name in ("explorer", "explorer_view", "explorer_search"):
        assert client_of(stranger).get(address(name, letters.cast)).status_code == 404
    assert letters.more(stranger, expand=letters.bo.pk).status_code == 404


def test_an_empty_graph_says_how_it_comes_to_be():
    page = page_of((cast := rows.make_cast()).bob, "explorer", cast)

    assert "No graph yet" in page
    assert "data-canvas" not in page


@pytest.mark.parametrize(
    ("name", "title"), [("entity", "Bo Strand"), ("document", "Letters"), ("topic", "A topic")]
)
def test_it_opens_on_what_the_address_names(letters: Letters, name: str, title: str):
    one = {"entity": letters.bo.pk, "document": letters.document.pk, "topic": None}[name]
    if one is None:
        chunks = rows.chunks_of(letters.document)
        report = rows.make_report(letters.cast.workspace, title, [letters.bo], chunks)
        one = report.community_id

    assert title in page_of(letters.cast.bob, "explorer", letters.cast, **{name: one})
    assert "Bo Strand" in {
        row[1] for row in letters.view(letters.cast.bob, **{name: one}).json()["nodes"]
    }


def test_rows_are_numbered_after_those_that_the_page_shows(letters: Letters):
    shown = f"{letters.cy.pk},{letters.bo.pk}"

    seen = letters.more(letters.cast.bob, shown=shown, expand=letters.bo.pk).json()

    assert [row[1] for row in seen["nodes"]] == ["Ada Lind"]
    assert {tuple(sorted(edge[:2])) for edge in seen["edges"]} == {(1, 2), (0, 1)}


def test_a_path_is_told_as_ids(letters: Letters):
    ends = {"from": letters.ada.pk, "to": letters.cy.pk}

    seen = letters.more(letters.cast.bob, shown=f"{letters.ada.pk},{letters.cy.pk}", **ends).json()

    assert seen["paths"] == [[str(one.pk) for one in (letters.ada, letters.bo, letters.cy)]]


@pytest.mark.parametrize("bad", ["entity=nonsense", "entities=1,2", "limit=-3", "limit=x"])
def test_an_address_typed_wrong_is_not_an_error_of_ours(letters: Letters, bad: str):
    response = client_of(letters.cast.bob).get(f"{address('explorer_view', letters.cast)}?{bad}")

    assert response.status_code in (200, 404)


def test_too_many_ids_are_refused(letters: Letters):
    many = ",".join(str(uuid4()) for _ in range(61))

    assert letters.view(letters.cast.bob, entities=many).status_code == 400


def test_panels_lead_to_the_source(letters: Letters):
    entity = page_of(letters.cast.bob, "explorer_entity", letters.cast, letters.bo.pk)
    both = page_of(letters.cast.bob, "explorer_between", letters.cast, letters.bo.pk, letters.cy.pk)

    reader = f"/documents/{letters.document.pk}/"
    assert reader in entity
    assert reader in both
    assert "wrote to" in entity
    assert "wrote to" in both


def test_a_panel_of_an_entity_merged_meanwhile_says_so(letters: Letters):
    change = ChangeContext(letters.cast.workspace, letters.cast.alice)
    with access.in_workspace(letters.cast.workspace.pk):
        merging.entities_merge(change=change, kept=letters.bo.pk, others=[letters.cy.pk])

    panel = page_of(letters.cast.bob, "explorer_entity", letters.cast, letters.cy.pk)

    assert "Cy Reef is no longer here" in " ".join(panel.split())


def test_only_curators_may_merge_and_others_see_whom_to_ask(letters: Letters):
    assert 'data-act="merge"' in page_of(letters.cast.alice, "explorer", letters.cast)
    page = page_of(letters.cast.bob, "explorer", letters.cast)
    assert 'data-act="merge"' not in page
    assert "Only curators can merge" in page


def test_a_name_is_found_by_a_part_of_it(letters: Letters):
    found = page_of(letters.cast.bob, "explorer_search", letters.cast, q="stra")
    none = page_of(letters.cast.bob, "explorer_search", letters.cast, q="xyz")

    assert str(letters.bo.pk) in found
    assert str(letters.ada.pk) not in found
    assert "No entity has that name" in none


def test_a_name_is_never_markup(letters: Letters):
    with access.in_workspace(letters.cast.workspace.pk):
        Entity.objects.in_workspace(letters.cast.workspace).filter(pk=letters.bo.pk).update(
            name="<img src=x onerror=alert(1)>"
        )

    panel = page_of(letters.cast.bob, "explorer_entity", letters.cast, letters.bo.pk)

    assert "<img" not in panel


def test_rest_gives_the_same_picture(letters: Letters):
    def ask(user: Any, query: str = "") -> Any:
        return client(user).get(api_address(letters.cast.workspace, f"graph/view/{query}"))

    seen = ask(letters.cast.bob).json()

    assert {node["name"] for node in seen["nodes"]} == set(NAMES)
    assert (seen["total"], seen["edges_total"], len(seen["edges"])) == (3, 2, 2)
    assert ask(letters.cast.bob, f"?entities={letters.bo.pk}").json()["focus"] == [
        str(letters.bo.pk)
    ]
    assert_problem(ask(letters.cast.bob, "?entities=nonsense"), 400, "invalid_input")
    assert ask(rows.make_user("Zoe")).status_code == 404
