"""The graph over REST, as one story: asked, walked, mended, taken away and brought in."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import networkx as nx
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.exchange import importing
from kb_project.ports import build_ports
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.stages.resolve.said import Said, paper, run
from tests.retrieval.answering.asked import set_version
from tests.rows import Cast
from workspaces import access
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db

PERSON = "person"
PAPERS = {
    "trade": Said([("Ada Lind", PERSON), ("Bo Strand", PERSON)], links=[(0, 1, "trained")]),
    "oil": Said([("Bo Strand", PERSON), ("Cy Falk", PERSON)], links=[(0, 1, "sells oil to")]),
    "boat": Said([("Cy Falk", PERSON), ("Mr Falk", PERSON)], links=[(0, 1, "met")]),
}


@dataclass
class Story:
    cast: Cast

    @property
    def workspace(self) -> Workspace:
        return self.cast.workspace

    def get(self, path: str, who: User | None = None) -> Any:
        return client(who or self.cast.alice).get(address(self.workspace, path))

    def post(self, path: str, body: dict[str, Any], who: User | None = None, **how: Any) -> Any:
        where = address(self.workspace, path)
        return client(who or self.cast.alice).post(where, body, **how)

    def id_of(self, name: str) -> str:
        [found] = [
            one["id"]
            for one in self.get(f"entities/?q={name}").json()["results"]
            if one["name"] == name
        ]
        return str(found)

    def export(self) -> nx.Graph[Any]:
        async def whole(response: Any) -> bytes:
            return b"".join([part async for part in response.streaming_content])

        return nx.read_graphml(io.BytesIO(asyncio.run(whole(self.get("graph/export/")))))

    def undo(self, event: str) -> None:
        assert self.post(f"history/{event}/undo/", {}).status_code in (200, 201)


@pytest.fixture
def story(media: Any, fake_embedder: None) -> Story:
    cast = rows.make_cast()
    run(*(paper(cast.workspace, name, said) for name, said in PAPERS.items()))
    with access.in_workspace(cast.workspace.pk):
        chunks = list(rows.Chunk.objects.in_workspace(cast.workspace))
    rows.embed_chunks(cast.workspace, chunks, build_ports().embedder)
    rows.make_snapshot(cast.workspace)
    set_version(cast, 1)
    return Story(cast)


def contents(graph: nx.Graph[Any]) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Names and types, and facts by name: ids differ between workspaces."""
    names = nx.get_node_attributes(graph, "name")
    types = nx.get_node_attributes(graph, "type")
    facts = {(names[source], names[target]) for source, target in graph.edges}
    return {(names[one], types[one]) for one in graph}, facts


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_a_member_asks_how_two_are_connected_and_walks_from_the_answer(story: Story, who: str):
    user = getattr(story.cast, who)

    asked = {"question": "How is Ada Lind connected to Cy Falk?", "mode": "auto"}
    answer = story.post("ask/", asked, user).json()
    assert (answer["mode_used"], answer["outcome"]) == ("paths", "answered")
    assert "through Bo Strand" in answer["answer"]
    steps = [one for one in answer["sentences"][1:] if one["citations"]]
    assert len(steps) == 2

    around = story.get(f"graph/view/?entities={','.join(answer['entities'])}", user).json()
    assert {"Ada Lind", "Bo Strand", "Cy Falk"} <= {node["name"] for node in around["nodes"]}
    ends = {name: story.id_of(name) for name in ("Ada Lind", "Cy Falk")}
    near = story.get(f"graph/neighbours/?entity={ends['Cy Falk']}", user).json()
    assert {node["name"] for node in near["nodes"]} == {"Cy Falk", "Bo Strand", "Mr Falk"}

    way = f"graph/paths/?source={ends['Ada Lind']}&target={ends['Cy Falk']}"
    [path] = story.get(way, user).json()["paths"]
    assert [node["name"] for node in path["nodes"]] == ["Ada Lind", "Bo Strand", "Cy Falk"]
    source = path["edges"][0]["sources"][0]
    document = story.get(f"documents/{source['document']}/", user).json()
    assert document["title"] == source["title"]
    assert (source["document"], source["text"]) in {
        (one["document"], one["quote"]) for one in answer["citations"]
    }
    assert_nothing_there(story.get(way, story.cast.charlie))
    assert_nothing_there(story.post("ask/", asked, story.cast.charlie))


def test_a_merge_on_the_way_is_undone_and_only_curators_make_it(story: Story):
    before = contents(story.export())
    merge = {"kept": story.id_of("Cy Falk"), "others": [story.id_of("Mr Falk")]}
    assert_problem(story.post("entities/merge/", merge, story.cast.bob), 403, "forbidden")
    assert_nothing_there(story.post("entities/merge/", merge, story.cast.charlie))

    done = story.post("entities/merge/", merge, format="json").json()
    assert {name for name, _ in contents(story.export())[0]} == {
        "Ada Lind",
        "Bo Strand",
        "Cy Falk",
    }
    gone = story.get(f"entities/{merge['others'][0]}/")
    assert gone.status_code in (404, 410)

    story.undo(done["id"])
    assert contents(story.export()) == before


def test_an_export_fills_an_empty_workspace_and_one_undo_empties_it(story: Story):
    graph = story.export()
    data = "\n".join(nx.generate_graphml(graph)).encode()
    empty = Story(
        Cast(
            rows.make_workspace("Empty", owner=story.cast.alice),
            *(story.cast.alice, story.cast.bob, story.cast.charlie),
        )
    )

    def upload(who: User) -> Any:
        file = {"file": SimpleUploadedFile("graph.graphml", data)}
        return empty.post("graph/imports/", file, who, format="multipart")

    for outsider in (story.cast.bob, story.cast.charlie):
        assert_nothing_there(upload(outsider))
    preview = upload(story.cast.alice).json()
    assert [(one["outcome"], one["total"]) for one in preview["entities"]] == [("new", len(graph))]
    where = f"graph/imports/{preview['id']}/"
    assert empty.post(where, {}).status_code == 202
    importing.run(empty.workspace.pk, UUID(preview["id"]))
    ended = empty.get(where).json()

    assert contents(empty.export()) == contents(graph)
    assert empty.get("entities/").json()["total"] == len(graph)
    empty.undo(ended["event"])
    assert contents(empty.export()) == (set(), set())
