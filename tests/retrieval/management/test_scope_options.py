from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from kb_project.ports import build_ports
from tests import rows
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

NAMES = {"Ada Lind": "person", "Bram Oost": "person"}


@pytest.fixture
def workspace(fake_embedder) -> Workspace:
    workspace = rows.make_workspace()
    logs = rows.make_collection(workspace, "Logs")
    embedder = build_ports().embedder
    rows.make_document(
        workspace, "Log", "Ada Lind lit the lamp.", names=NAMES, embedder=embedder, collection=logs
    )
    rows.make_document(
        workspace, "Bill", "Bram Oost lit the lamp.", names=NAMES, embedder=embedder, tags=["oil"]
    )
    return workspace


def call(command: str, *options: str) -> dict[str, Any]:
    out = StringIO()
    arguments = (command, "Who lit the lamp?", "--workspace", "harbour", "--mode", "lexical")
    call_command(*arguments, "--json", *options, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        ((), {"Log", "Bill"}),
        (("--collection", "Logs"), {"Log"}),
        (("--tag", "oil"), {"Bill"}),
        (("--exclude", "Ada Lind"), {"Bill"}),
        (("--exclude", "Ada Lind", "--exclude", "Bram Oost"), set()),
        (("--dated-from", "2024-05-01"), set()),
        (("--media-type", "text/plain"), {"Log", "Bill"}),
    ],
)
def test_a_search_is_narrowed_down(workspace, options, titles):
    assert {hit["title"] for hit in call("search", *options)["hits"]} == titles


def test_an_included_name_comes_first(workspace):
    for name, title in (("Ada Lind", "Log"), ("Bram Oost", "Bill")):
        assert call("search", "--include", name)["hits"][0]["title"] == title


def test_a_question_is_narrowed_down_too(workspace):
    found = call("ask", "--exclude", "Ada Lind")

    assert {one["title"] for one in found["citations"]} <= {"Bill"}


@pytest.mark.parametrize(
    "options",
    [
        ("--include", "Nobody"),
        ("--exclude", "Nobody"),
        ("--collection", "None"),
        ("--document", "no-id"),
        ("--dated-to", "soon"),
        ("--include", "Ada Lind", "--exclude", "Ada Lind"),
    ],
)
def test_what_a_filter_cannot_be_is_said(workspace, options):
    for command in ("search", "ask"):
        with pytest.raises(CommandError) as said:
            call(command, *options)
        assert str(said.value).endswith(".")
