"""The graph exported and imported over REST, as owner, reader and outsider."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import networkx as nx
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django_q.models import OrmQ

from ingestion.exchange import importing
from ingestion.models import GraphImport
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.exchange.files import ENTITIES, contents, exported
from tests.ingestion.suggestions import papers
from workspaces import access
from workspaces.models import AuditEvent, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return papers.make_cast()


def body(response: Any) -> bytes:
    async def whole() -> bytes:
        return b"".join([part async for part in response.streaming_content])

    return asyncio.run(whole())


def upload(cast: rows.Cast, data: str | bytes = ENTITIES, user: Any = None) -> Any:
    raw = data.encode() if isinstance(data, str) else data
    file = SimpleUploadedFile("people.csv", raw)
    where = address(cast.workspace, "graph/imports/")
    return client(user or cast.alice).post(where, {"file": file}, format="multipart")


def audited(workspace: Workspace) -> list[AuditEvent]:
    with access.in_workspace(workspace.pk):
        return list(AuditEvent.objects.in_workspace(workspace).filter(action="graph_exported"))


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_export_what_networkx_reads_and_it_is_recorded(cast: rows.Cast, who: str):
    response = client(getattr(cast, who)).get(address(cast.workspace, "graph/export/"))

    assert response.status_code == 200
    assert response["Content-Type"] == "application/graphml+xml"
    data = body(response)
    assert response["Content-Length"] == str(len(data))
    graph = nx.read_graphml(io.BytesIO(data))
    assert len(graph) == len(contents(cast.workspace)[0])
    assert graph.number_of_edges() == len(contents(cast.workspace)[1])
    [event] = audited(cast.workspace)
    assert (str(event.user), event.after["format"]) == (who.capitalize(), "graphml")


def test_outsiders_export_nothing(cast: rows.Cast):
    assert_nothing_there(client(cast.charlie).get(address(cast.workspace, "graph/export/")))
    assert not audited(cast.workspace)


def test_where_the_settings_keep_exports_from_viewers_they_get_none(cast: rows.Cast):
    Workspace.objects.filter(pk=cast.workspace.pk).update(viewers_export=False)

    refused = client(cast.bob).get(address(cast.workspace, "graph/export/"))

    assert_problem(refused, 403, "forbidden")
    assert client(cast.alice).get(address(cast.workspace, "graph/export/")).status_code == 200


@pytest.mark.parametrize("format", ["graphml", "gexf", "json", "csv", "entities.csv", "facts.csv"])
def test_every_format_can_be_asked_for(cast: rows.Cast, format: str):
    where = address(cast.workspace, f"graph/export/?format={format}")

    assert body(client(cast.bob).get(where))


def test_an_unknown_format_or_document_is_a_problem(cast: rows.Cast):
    where = address(cast.workspace, "graph/export/")

    assert client(cast.bob).get(f"{where}?format=pdf").status_code == 400
    gone = client(cast.bob).get(f"{where}?document=00000000-0000-0000-0000-000000000001")
    assert_problem(gone, 404, "not_found")


def test_evidence_has_its_quote_document_version_and_offsets(cast: rows.Cast):
    graph = nx.node_link_graph(
        __import__("json").loads(exported(cast.workspace, "json")), edges="edges"
    )

    quotes = [one for *_, data in graph.edges(data=True) for one in data["evidence"]]
    assert quotes
    for one in quotes:
        assert one["end"] - one["start"] == len(one["quote"]) > 0
        assert (one["version"], one["kind"]) == (1, "stated")
        assert one["document"]


def test_a_scope_narrows_entities_and_the_facts_among_them(cast: rows.Cast):
    def names(query: str) -> tuple[list[str], int]:
        where = address(cast.workspace, f"graph/export/{query}")
        graph = nx.read_graphml(io.BytesIO(body(client(cast.bob).get(where))))
        return sorted(nx.get_node_attributes(graph, "name").values()), graph.number_of_edges()

    assert names("?type=place") == (["Hestay"], 0)
    acme, ada = papers.id_of(cast, papers.ACME), papers.id_of(cast, "ada lind")
    assert names(f"?entity={acme}&entity={ada}") == (["Acme Instruments", "Ada Lind"], 1)
    with access.in_workspace(cast.workspace.pk):
        document = rows.Document.objects.in_workspace(cast.workspace).get(name="a.txt")
    assert names(f"?document={document.pk}") == (["Acme Instruments", "Ada Lind"], 1)


def test_an_upload_is_previewed_confirmed_and_undone(cast: rows.Cast):
    before = contents(cast.workspace)
    preview = upload(cast)

    assert preview.status_code == 201, preview.json()
    shown = preview.json()
    assert shown["state"] == "preview"
    assert shown["summary"] == (
        "Importing this file creates 2 new entities and 0 new facts, and 1 alias of existing"
        " entities."
    )
    assert [(one["outcome"], one["total"]) for one in shown["entities"]] == [
        ("new", 2),
        ("matched", 1),
    ]
    assert contents(cast.workspace) == before

    where = address(cast.workspace, f"graph/imports/{shown['id']}/")
    confirmed = client(cast.alice).post(where, {"reason": "From the archive"})
    assert (confirmed.status_code, confirmed.json()["state"]) == (202, "waiting")
    importing.run(cast.workspace.pk, importing.uuid.UUID(shown["id"]))

    ended = client(cast.alice).get(where).json()
    assert (ended["state"], ended["outcome"]) == ("done", "2 entities and 0 facts were created.")
    assert len(contents(cast.workspace)[0]) == len(before[0]) + 2
    undo = address(cast.workspace, f"history/{ended['event']}/undo/")
    assert client(cast.alice).post(undo).status_code in (200, 201)
    assert contents(cast.workspace) == before


def test_an_import_is_confirmed_once(cast: rows.Cast):
    where = address(cast.workspace, f"graph/imports/{upload(cast).json()['id']}/")
    client(cast.alice).post(where, {})

    assert_problem(client(cast.alice).post(where, {}), 409, "import_began")
    assert_problem(client(cast.alice).delete(where), 409, "import_running")


def test_a_discarded_file_is_gone(cast: rows.Cast):
    where = address(cast.workspace, f"graph/imports/{upload(cast).json()['id']}/")

    assert client(cast.alice).delete(where).status_code == 204
    assert_problem(client(cast.alice).get(where), 404, "not_found")


def test_readers_and_outsiders_import_nothing(cast: rows.Cast):
    assert_problem(upload(cast, user=cast.bob), 403, "forbidden")
    assert_nothing_there(upload(cast, user=cast.charlie))
    with access.in_workspace(cast.workspace.pk):
        assert not GraphImport.objects.in_workspace(cast.workspace).exists()


def test_a_file_that_is_no_graph_is_refused_with_a_sentence(cast: rows.Cast):
    problem = assert_problem(upload(cast, b"\x89PNG\x00\x00"), 400, "wrong_encoding")

    assert problem["kept"] == "Nothing was imported."


def test_an_import_whose_worker_died_is_taken_up_again(cast: rows.Cast):
    import_id = importing.uuid.UUID(upload(cast).json()["id"])
    with access.in_workspace(cast.workspace.pk):
        row = GraphImport.objects.in_workspace(cast.workspace).filter(pk=import_id)
        row.update(
            state="running",
            worker="elsewhere",
            started_at="2020-01-01T00:00Z",
            created_at="2020-01-01T00:00Z",
        )

    OrmQ.objects.all().delete()

    assert importing.take_up([cast.workspace.pk]) == 1
    importing.run(cast.workspace.pk, import_id)
    with access.in_workspace(cast.workspace.pk):
        assert row.get().state == "done"
