from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ingestion.documents import rereading
from ingestion.extractors import METHOD
from ingestion.models import ChunkExtraction
from tests import rows
from tests.ingestion.unread import half_read
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def call(*words: str) -> str:
    out = StringIO()
    call_command("ingest", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_an_estimate_changes_nothing(workspace: Workspace):
    half_read(workspace)

    said = call("--read-again", "--workspace", "harbour", "--estimate")

    assert said.splitlines() == [
        "1 document is to be read again.",
        "Costs nothing: no model is called.",
    ]
    assert len(rereading.outdated_ids(workspace=workspace)) == 1


def test_documents_are_reopened_for_a_worker(workspace: Workspace):
    half_read(workspace)

    *lines, total = map(
        json.loads, call("--read-again", "--workspace", "harbour", "--json").splitlines()
    )

    assert [line["state"] for line in lines] == ["queued"]
    assert total["total"]["documents"] == 1
    assert len(rereading.outdated_ids(workspace=workspace)) == 0


@pytest.mark.django_db(transaction=True)
def test_waiting_has_them_read(workspace: Workspace):
    half_read(workspace)

    call("--read-again", "--workspace", "harbour", "--wait")

    with access.in_workspace(workspace.pk):
        found = ChunkExtraction.objects.in_workspace(workspace)
        assert set(found.values_list("method", flat=True)) == {METHOD}


def test_nothing_to_read_again_is_said(workspace: Workspace):
    said = call("--read-again", "--workspace", "harbour", "--estimate")

    assert said.strip() == "Every document was read with this workspace's settings."


def test_a_workspace_that_is_not_there_is_not_made(workspace: Workspace):
    with pytest.raises(CommandError, match="workspace"):
        call("--read-again", "--workspace", "nowhere")

    assert list(Workspace.objects.values_list("slug", flat=True)) == ["harbour"]


@pytest.mark.parametrize("words", [[], ["log.txt", "--read-again"]])
def test_it_is_either_files_or_reading_again(workspace: Workspace, words: list[str]):
    with pytest.raises(CommandError, match="Name files or folders, or use --read-again"):
        call(*words, "--workspace", "harbour")
