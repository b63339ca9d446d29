"""The graph over REST: what an owner and a reader get, and what a stranger does not."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.models import Claim, Document, Evidence, Relationship
from kb_project.graph import routing
from kb_project.graph.table_store import TableGraphStore
from kb_project.sql import run_sql
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.graph.test_queries import TEXT
from tests.rows import Cast
from workspaces import access
from workspaces.models import User

pytestmark = pytest.mark.django_db

STEPS = TEXT.split("\n\n")
PATHS = (
    "graph/neighbours/?entity={ada}",
    "graph/paths/?source={ada}&target={gull}",
    "graph/subgraph/?entity={ada}",
    "relationships/",
    "claims/",
)


class World:
    """Ada – Bo – Cy – Gull, with a claim on each of the first two."""

    def __init__(self) -> None:
        self.cast: Cast = rows.make_cast()
        workspace = self.cast.workspace
        kinds = dict.fromkeys(("Ada Lind", "Bo Strand", "Cy Falk", "Gull", "Di Holm"), "person")
        self.document: Document = rows.make_document(workspace, "Trade", TEXT, names=kinds)
        ada, bo, cy, gull, di = (rows.make_entity(workspace, name) for name in kinds)
        self.ids = {"ada": ada.pk, "bo": bo.pk, "cy": cy.pk, "gull": gull.pk, "di": di.pk}
        self.chunks = rows.chunks_of(self.document)
        self.links: list[Relationship] = [
            rows.make_relationship(ada, bo, self.chunks[0], "trained"),
            rows.make_relationship(bo, cy, self.chunks[1], "sells oil to"),
            rows.make_relationship(cy, gull, self.chunks[2], "owns"),
        ]
        rows.make_relationship(bo, cy, self.chunks[1], "trades with")
        with access.in_workspace(workspace.pk):
            for subject, chunk, status in ((ada, 0, "true"), (bo, 1, "false")):
                Claim.objects.create(
                    workspace=workspace,
                    subject=subject,
                    chunk=self.chunks[chunk],
                    document=self.document,
                    type="work",
                    status=status,
                    description=STEPS[chunk],
                    start=self.chunks[chunk].start,
                    end=self.chunks[chunk].end,
                )

    def get(self, path: str, user: User | None = None) -> Any:
        who = user or self.cast.bob
        return client(who).get(address(self.cast.workspace, path.format(**self.ids)))

    def made(self) -> Relationship:
        """A relationship that a person created."""
        with access.in_workspace(self.cast.workspace.pk):
            return Relationship.objects.create(
                workspace=self.cast.workspace,
                source_id=self.ids["di"],
                target_id=self.ids["ada"],
                description="Di is Ada's aunt.",
                is_made=True,
            )


@pytest.fixture
def world() -> World:
    return World()


def listed(world: World, path: str) -> list[dict[str, Any]]:
    response = world.get(path)
    assert response.status_code == 200, response.json()
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def ids_of(links: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in links]


@pytest.mark.parametrize("path", PATHS)
def test_owner_and_reader_get_the_same_and_a_stranger_nothing(world: World, path: str):
    owner, reader = world.get(path, world.cast.alice), world.get(path, world.cast.bob)

    assert owner.status_code == reader.status_code == 200
    assert owner.json() == reader.json()
    assert_nothing_there(world.get(path, world.cast.charlie))


def test_neighbours_come_with_a_quote_that_a_client_can_open(world: World):
    body = world.get("graph/neighbours/?entity={ada}").json()

    assert [node["name"] for node in body["nodes"]] == ["Ada Lind", "Bo Strand"]
    [edge] = body["edges"]
    [source] = edge["sources"]
    assert edge["predicate"] == "trained"
    assert source["document"] == str(world.document.pk)
    assert source["chunk"] == str(world.chunks[0].pk)
    assert TEXT[source["start"] : source["end"]] == source["text"] == STEPS[0]


def test_a_path_is_cited_step_by_step(world: World):
    body = world.get("graph/paths/?source={ada}&target={gull}").json()

    [path] = body["paths"]
    assert [node["name"] for node in path["nodes"]] == ["Ada Lind", "Bo Strand", "Cy Falk", "Gull"]
    assert [edge["sources"][0]["text"] for edge in path["edges"]] == STEPS[:3]
    assert 0 < path["strength"] < 1


def test_a_path_holds_at_a_date_if_each_of_its_steps_does(world: World):
    with access.in_workspace(world.cast.workspace.pk):
        step = Relationship.objects.get(
            workspace=world.cast.workspace, source_id=world.ids["bo"], target_id=world.ids["cy"]
        )
        dated = Evidence.objects.in_workspace(world.cast.workspace).filter(relationship=step)
        dated.update(period_start="1902", period_end="1911")
    way = "graph/paths/?source={ada}&target={gull}&as_of="

    assert len(world.get(f"{way}1911-05").json()["paths"]) == 1
    assert world.get(f"{way}1912").json()["paths"] == []
    assert_problem(world.get(f"{way}1912-02-31"), 400, "invalid_date")


def test_what_is_not_connected_is_an_empty_list_with_how_far_was_looked(world: World):
    body = world.get("graph/paths/?source={ada}&target={di}&max_steps=2").json()

    assert (body["paths"], body["max_steps"], body["shared"]) == ([], 2, [])
    assert body["target"]["name"] == "Di Holm"


def test_shared_neighbours_come_with_the_paths(world: World):
    body = world.get("graph/paths/?source={ada}&target={cy}&order=shortest&quotes=0").json()

    assert [node["name"] for node in body["shared"]] == ["Bo Strand"]
    assert all(edge["sources"] == [] for path in body["paths"] for edge in path["edges"])


def test_subgraphs_of_entities_of_a_document_and_of_a_topic(world: World):
    members = [rows.make_entity(world.cast.workspace, name) for name in ("Ada Lind", "Bo Strand")]
    report = rows.make_report(world.cast.workspace, "Trade", members, [])
    around = world.get("graph/subgraph/?entity={ada}&entity={gull}").json()
    document = world.get(f"graph/subgraph/?document={world.document.pk}").json()
    topic = world.get(f"graph/subgraph/?topic={report.community_id}").json()

    assert len(around["nodes"]) == around["total_nodes"] == 4
    assert (len(document["nodes"]), len(document["edges"])) == (5, 3)
    assert (len(topic["nodes"]), len(topic["edges"])) == (2, 1)


@pytest.mark.parametrize(
    "path",
    [
        "graph/subgraph/",
        "graph/subgraph/?entity={ada}&topic={bo}",
        "graph/subgraph/?entity={ada}&limit=100000",
        "graph/neighbours/?entity=somebody",
        "graph/paths/?source={ada}",
        "graph/paths/?source={ada}&target={bo}&max_steps=9",
        "relationships/?order=colour",
        "relationships/?kind=rumour",
        "claims/?status=maybe",
    ],
)
def test_a_request_that_makes_no_sense_is_refused(world: World, path: str):
    assert world.get(path).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "graph/neighbours/?entity={nobody}",
        "graph/paths/?source={nobody}&target={ada}",
        "graph/subgraph/?document={nobody}",
        "graph/subgraph/?topic={nobody}",
        "relationships/?entity={nobody}",
        "claims/?document={nobody}",
    ],
)
def test_what_is_gone_is_not_found(world: World, path: str):
    world.ids["nobody"] = uuid4()

    assert_problem(world.get(path), 404, "not_found")


def test_a_graph_that_takes_too_long_is_an_error_with_a_code(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    def slow(self: object, workspace_id: UUID, node_id: UUID, limit: int = 50) -> object:
        return run_sql("SELECT pg_sleep(1)")

    monkeypatch.setattr(routing, "TIME_LIMIT", 50)
    monkeypatch.setattr(TableGraphStore, "neighbours", slow)

    assert_problem(world.get("graph/neighbours/?entity={ada}"), 503, "graph_timeout")


# --- lists ----------------------------------------------------------------------------------------
def test_relationships_are_heaviest_first_with_their_best_quote(world: World):
    first, *rest = listed(world, "relationships/")

    assert first["id"] == str(world.links[1].pk)
    assert len(rest) == 2
    assert first["sources"][0]["text"] == STEPS[1]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("entity={ada}", [0]),
        ("kind=stated&order=-evidence&min_weight=1.5", [1]),
        ("kind=together", []),
        ("q=OWNS", [2]),
        ("q=gull", [2]),
        ("min_weight=2", [1]),
        ("order=source", [0, 1, 2]),
        ("order=target", [0, 1, 2]),
        ("document={document}&min_weight=1.5", [1]),
    ],
)
def test_relationships_are_filtered_and_ordered(world: World, query: str, places: list[int]):
    world.ids["document"] = world.document.pk

    found = ids_of(listed(world, f"relationships/?{query}"))

    assert found == [str(world.links[place].pk) for place in places]


def test_what_a_person_made_is_a_kind_of_its_own(world: World):
    made = world.made()

    assert ids_of(listed(world, "relationships/?kind=made")) == [str(made.pk)]
    assert listed(world, "relationships/?kind=made")[0]["sources"] == []
    assert listed(world, "relationships/?kind=together") == []


@pytest.mark.parametrize(
    ("query", "descriptions"),
    [
        ("", STEPS[:2]),
        ("entity={bo}", STEPS[1:2]),
        ("status=true", STEPS[:1]),
        ("kind=WORK&q=oil", STEPS[1:2]),
        ("kind=gossip", []),
        ("document={document}&order=document", STEPS[:2]),
    ],
)
def test_claims_are_filtered_and_show_their_passage(
    world: World, query: str, descriptions: list[str]
):
    world.ids["document"] = world.document.pk

    found = listed(world, f"claims/?{query}")

    assert [one["description"] for one in found] == descriptions
    assert [one["source"]["text"] for one in found] == descriptions


def test_lists_are_paged(world: World):
    body = world.get("relationships/?page=2&page_size=2").json()

    assert (body["total"], body["pages"], len(body["results"])) == (3, 2, 1)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("relationships/?page_size=1", "relationships/"),
        ("claims/?page_size=1", "claims/"),
        ("graph/subgraph/?entity={bo}&limit=2", "graph/subgraph/?entity={bo}"),
        ("graph/paths/?source={ada}&target={bo}", "graph/paths/?source={ada}&target={gull}"),
    ],
)
def test_more_results_need_no_more_queries(world: World, small: str, large: str):
    assert queries_of(world, small) >= queries_of(world, large) - 1  # one more for longer paths


def queries_of(world: World, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert world.get(path).status_code == 200
    return len(captured)
