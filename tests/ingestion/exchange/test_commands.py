"""The graph exported and imported on the server."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests import rows
from tests.ingestion.exchange.files import ENTITIES, FACTS, contents
from tests.ingestion.suggestions import papers
from workspaces import access
from workspaces.models import AuditEvent

pytestmark = pytest.mark.django_db


def test_an_export_is_written_once_and_recorded(tmp_path: Path):
    cast = papers.make_cast()
    path = tmp_path / "graph.graphml"

    call_command("exportgraph", path, workspace=cast.workspace.slug)

    assert len(nx.read_graphml(path)) == len(contents(cast.workspace)[0])
    with access.in_workspace(cast.workspace.pk):
        [event] = AuditEvent.objects.in_workspace(cast.workspace).filter(action="graph_exported")
    assert (event.actor, event.via) == ("Concordance", "command")
    with pytest.raises(CommandError, match="exists already"):
        call_command("exportgraph", path, workspace=cast.workspace.slug)


def test_an_export_that_fails_leaves_no_file(tmp_path: Path):
    cast = rows.make_cast()
    gone = "00000000-0000-0000-0000-000000000001"

    with pytest.raises(CommandError):
        call_command(
            "exportgraph", tmp_path / "a.json", workspace=cast.workspace.slug, document=gone
        )

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("graph.json", b"{"),
        ("graph.zip", b"PK"),
        ("graph.gexf", b"<?xml"),
        ("entities.csv", b"\xef\xbb\xbfid"),
    ],
)
def test_the_ending_says_the_format(tmp_path: Path, name: str, begins: bytes):
    cast = rows.make_cast()

    call_command("exportgraph", tmp_path / name, workspace=cast.workspace.slug)

    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_format_that_is_chosen_goes_before_the_ending(tmp_path: Path):
    cast = rows.make_cast()

    call_command(
        "exportgraph", tmp_path / "graph.txt", workspace=cast.workspace.slug, format="json"
    )

    assert json.loads((tmp_path / "graph.txt").read_text())["nodes"] == []


@pytest.mark.parametrize("name", ["graph", "graph.zzz", "graph.csv"])
def test_an_ending_that_says_no_format_is_refused_with_those_that_do(tmp_path: Path, name: str):
    cast = rows.make_cast()

    with pytest.raises(CommandError, match=r"\.graphml, \.gexf, \.json, \.zip"):
        call_command("exportgraph", tmp_path / name, workspace=cast.workspace.slug)

    assert list(tmp_path.iterdir()) == []


def test_a_preview_changes_nothing_and_an_import_says_what_it_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    cast = rows.make_cast()
    (tmp_path / "entities.csv").write_text(ENTITIES)
    (tmp_path / "facts.csv").write_text(FACTS + "Ada Lind,Nowhere,visits,\n")
    slug = cast.workspace.slug

    call_command("importgraph", tmp_path / "entities.csv", workspace=slug, preview=True)
    assert contents(cast.workspace) == ([], [])
    call_command("importgraph", tmp_path / "entities.csv", workspace=slug)
    call_command("importgraph", tmp_path / "facts.csv", workspace=slug)

    said = capsys.readouterr().out
    assert "Importing this file creates 3 new entities and 0 new facts." in said
    assert "Imported: 3 new entities and 0 new facts." in said
    assert "Imported: 0 new entities and 2 new facts." in said
    assert "1 fact left out." in said
    assert [len(one) for one in contents(cast.workspace)] == [3, 2]


def test_a_preview_says_why_rows_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    cast = rows.make_cast()
    slug = cast.workspace.slug
    path = tmp_path / "facts.csv"
    path.write_text("source,target,predicate\nAda Lind,Nowhere,visits\n")

    with pytest.raises(CommandError, match="The preview shows what became of each row"):
        call_command("importgraph", path, workspace=slug)
    call_command("importgraph", path, workspace=slug, preview=True)
    call_command("importgraph", path, workspace=slug, preview=True, json=True)

    *said, answer = capsys.readouterr().out.splitlines()
    [row] = json.loads(answer)["left_out"]
    assert (row["source"], row["target"], row["outcome"]) == ("Ada Lind", "Nowhere", "left_out")
    assert "no entity" in row["reason"]
    assert said[-1] == f"  row {row['row']}, Ada Lind → Nowhere: {row['reason']}"


def test_programs_get_the_counts_and_the_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    cast = rows.make_cast()
    (tmp_path / "entities.csv").write_text(ENTITIES)

    call_command("importgraph", tmp_path / "entities.csv", workspace=cast.workspace.slug, json=True)

    answer = json.loads(capsys.readouterr().out)
    assert answer["counts"]["entities"] == 3
    assert answer["event"]


def test_a_missing_file_is_a_sentence(tmp_path: Path):
    cast = rows.make_cast()

    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("importgraph", tmp_path / "none.csv", workspace=cast.workspace.slug)
