from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.management.commands.ingest import files_below
from ingestion.models import Document
from kb_project.errors import InputError
from tests import rows
from tests.provider import MODEL, Provider
from workspaces import access, ports
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.services import PriceGiven
from workspaces.models import Workspace
from workspaces.people import queries as people_queries

pytestmark = pytest.mark.django_db

LOG = "Ada Lind keeps the light of Skarrow. Bo Strand sells oil to Ada Lind."


@pytest.fixture
def folder(media: Path, fake_embedder: None, tmp_path: Path) -> Path:
    """Two readable files, one in a folder of its own."""
    papers = tmp_path / "papers"
    (papers / "old").mkdir(parents=True)
    (papers / "log.txt").write_text(LOG)
    (papers / "old" / "bill.md").write_text("# Oil bill\n\nBo Strand sold forty litres of oil.")
    return papers


def call(*arguments: object, code: int = 0) -> str:
    out = StringIO()
    words = [str(argument) for argument in arguments]
    if not code:
        call_command("ingest", *words, stdout=out, stderr=StringIO())
        return out.getvalue()
    with pytest.raises(SystemExit) as stopped:
        call_command("ingest", *words, stdout=out, stderr=StringIO())
    assert stopped.value.code == code
    return out.getvalue()


def call_json(*arguments: object, code: int = 0) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    *lines, total = map(json.loads, call(*arguments, "--json", code=code).splitlines())
    return lines, total["total"]


# --- which files ----------------------------------------------------------------------------------
def test_folders_are_read_to_the_bottom_in_the_order_of_names(folder: Path):
    assert [path.name for path in files_below([folder])] == ["log.txt", "bill.md"]


def test_hidden_files_and_folders_are_left_out(folder: Path):
    (folder / ".notes").write_text("x")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")

    assert [path.name for path in files_below([folder])] == ["log.txt", "bill.md"]


def test_a_hidden_file_that_is_named_is_meant(folder: Path):
    hidden = folder / ".notes"
    hidden.write_text("x")

    assert list(files_below([hidden])) == [hidden]


def test_a_path_that_is_not_there_stops_before_anything_is_taken_in(folder: Path):
    with pytest.raises(InputError, match="no file or folder"):
        list(files_below([folder / "log.txt", folder / "nowhere"]))


def test_a_missing_path_is_one_sentence(folder: Path):
    with pytest.raises(CommandError, match=r"nowhere'\. Nothing was added\."):
        call(folder / "nowhere", "--workspace", "papers")

    assert not Workspace.objects.exists()


# --- without waiting ------------------------------------------------------------------------------
def test_files_are_queued_and_listed(folder: Path):
    lines, total = call_json(folder, "--workspace", "papers")

    assert [(line["name"], line["state"]) for line in lines] == [
        ("log.txt", "queued"),
        ("bill.md", "queued"),
    ]
    assert (total["documents"], total["ready"]) == (2, 0)


def test_a_workspace_that_is_not_there_is_made_for_the_only_account(folder: Path):
    alice = rows.make_user("Alice")
    err = StringIO()

    call_command("ingest", str(folder), "--workspace", "old-papers", stdout=StringIO(), stderr=err)

    [workspace] = people_queries.workspaces_of(user=alice)
    assert (workspace.slug, workspace.name) == ("old-papers", "Old papers")
    assert "There was no workspace 'old-papers'" in err.getvalue()


def test_what_was_there_is_not_added_twice(folder: Path):
    call(folder, "--workspace", "papers")

    lines, total = call_json(folder, "--workspace", "papers")

    assert [line["duplicate"] for line in lines] == [True, True]
    assert total["duplicates"] == 2
    workspace = Workspace.objects.get()
    with access.in_workspace(workspace.pk):
        assert Document.objects.in_workspace(workspace).count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_file_of_a_documents_name_becomes_its_next_version(folder: Path):
    call(folder, "--workspace", "papers", "--wait")
    (folder / "log.txt").write_text(f"{LOG} It blew all day.")
    (folder / "new.txt").write_text("Cora Vane paints the tower.")

    lines, total = call_json(folder, "--workspace", "papers", "--replace", "--wait")

    assert {line["name"]: line["duplicate"] for line in lines} == {
        "log.txt": False,
        "new.txt": False,
        "bill.md": True,
    }
    assert total["ready"] == 3
    workspace = Workspace.objects.get()
    with access.in_workspace(workspace.pk):
        numbers = Document.objects.in_workspace(workspace).values_list("name", "live_number")
        assert dict(numbers) == {"log.txt": 2, "bill.md": 1, "new.txt": 1}


def test_documents_are_filed_as_asked(folder: Path):
    call(
        folder / "log.txt",
        *("--workspace", "papers", "--collection", "Logs", "--tag", "Sea", "--tag", "oil"),
        *("--dated", "2024-05-01"),
    )

    workspace = Workspace.objects.get()
    with access.in_workspace(workspace.pk):
        document = Document.objects.in_workspace(workspace).select_related("collection").get()
        assert document.collection is not None
        assert document.collection.name == "Logs"
    assert (document.tags, document.dated) == (["sea", "oil"], date(2024, 5, 1))


def test_a_date_that_is_none_is_refused(folder: Path):
    with pytest.raises(CommandError, match="2024-05-01"):
        call(folder, "--workspace", "papers", "--dated", "yesterday")


def test_a_file_that_is_too_large_is_refused_and_the_others_are_taken(folder: Path, settings):
    settings.MAX_UPLOAD_BYTES = 65

    lines, total = call_json(folder, "--workspace", "papers", code=1)

    assert {line["title"]: line["state"] for line in lines} == {
        "bill.md": "queued",
        "log.txt": "refused",
    }
    assert (total["refused"], total["documents"]) == (1, 2)


# --- waiting --------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_waiting_ends_with_documents_that_are_ready(folder: Path):
    lines, total = call_json(folder, "--workspace", "papers", "--wait")

    assert [line["state"] for line in lines] == ["ready", "ready"]
    assert {"document", "title", "chunks", "entities", "relationships", "warnings"} <= set(lines[0])
    assert (lines[0]["chunks"], lines[0]["warnings"]) == (1, [])
    assert lines[0]["entities"] >= 2
    assert (total["ready"], total["needs_attention"]) == (2, 0)
    assert total["entities"] >= 2


@pytest.mark.django_db(transaction=True)
def test_a_document_that_cannot_be_read_is_told_and_harms_no_other(folder: Path):
    (folder / "empty.txt").write_bytes(b"")

    lines, total = call_json(folder, "--workspace", "papers", "--wait", code=1)

    states = {line["name"]: line["state"] for line in lines}
    assert states == {"log.txt": "ready", "bill.md": "ready", "empty.txt": "attention"}
    [problem] = [line["problem"] for line in lines if line["problem"]]
    assert set(problem) == {"code", "happened", "kept", "next_step"}
    assert total["needs_attention"] == 1


@pytest.mark.django_db(transaction=True)
def test_people_read_a_table_with_what_needs_attention_under_its_line(folder: Path):
    (folder / "empty.txt").write_bytes(b"")

    table = call(folder, "--workspace", "papers", "--wait", code=1).splitlines()

    assert table[0].split() == ["state", "chunks", "entities", "relationships", "document"]
    [place] = [number for number, line in enumerate(table) if line.startswith("Needs attention")]
    assert table[place + 1].startswith("    ")
    assert table[-1].startswith("3 documents, 1 needs attention")


# --- with a model ---------------------------------------------------------------------------------
@pytest.fixture
def provider(folder: Path) -> Iterator[Provider]:
    """A workspace 'papers' whose documents a model reads, at a price."""
    workspace = rows.make_workspace("Papers")
    with Provider() as provider:
        with access.in_workspace(workspace.pk):
            choice = ModelChoice(endpoint=provider.url, model=MODEL)
            language_model_services.model_settings_save(workspace=workspace, choice=choice)
            price = PriceGiven(MODEL, Decimal(1), Decimal(2))
            language_model_services.prices_set(workspace=workspace, prices=[price])
        yield provider
    ports._cache.kept.clear()
    gc.collect()


# The places in the queue of an endpoint are held by a connection that lives as long as its thread.
keeps_connections = pytest.mark.filterwarnings(
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
)


def test_an_estimate_takes_nothing_in_and_asks_nobody(provider: Provider, folder: Path):
    said = call(folder, "--workspace", "papers", "--estimate")

    assert "Cost:" in said
    assert "To read: 2 passages" in said
    assert provider.count() == 0
    assert documents() == []


def test_an_estimate_can_be_read_by_a_program(provider: Provider, folder: Path):
    said = call(folder, "--workspace", "papers", "--estimate", "--json")

    assert json.loads(said)["estimate"][0].startswith("Cost:")


@keeps_connections
def test_an_estimate_of_what_is_here_already_is_that_it_costs_nothing(
    provider: Provider, folder: Path
):
    call(folder, "--workspace", "papers")
    (folder / "new.txt").write_text("Elin Moe lit the lamp of Tern Rock in 1871.")

    said = call(folder, "--workspace", "papers", "--estimate")
    (folder / "new.txt").unlink()

    assert "files cost nothing: they are already in the workspace." in said
    assert "already in the workspace" in call(folder, "--workspace", "papers", "--estimate")


@keeps_connections
def test_an_estimate_of_a_replacement_counts_what_is_new(provider: Provider, folder: Path):
    call(folder, "--workspace", "papers", "--wait")
    (folder / "log.txt").write_text(f"{LOG}\n\nIt is calm.")

    said = call(folder, "--workspace", "papers", "--estimate", "--replace")

    assert "2 answers are already known and cost nothing." in said


def test_an_estimate_for_a_workspace_that_is_not_there_makes_none(folder: Path):
    with pytest.raises(CommandError, match="no workspace"):
        call(folder, "--workspace", "papers", "--estimate")

    assert not Workspace.objects.exists()


def test_an_estimate_on_the_local_tier_is_that_it_costs_nothing(folder: Path):
    rows.make_workspace("Papers")

    assert "Costs nothing" in call(folder, "--workspace", "papers", "--estimate")


@keeps_connections
@pytest.mark.django_db(transaction=True)
def test_a_second_run_asks_nothing_anew_and_says_so(provider: Provider, folder: Path):
    first = call(folder, "--workspace", "papers", "--wait")
    asked = provider.count()
    second = call(folder, "--workspace", "papers", "--wait")

    assert asked > 0
    assert "This took " in first
    assert "at a cost of" in first
    assert provider.count() == asked
    assert second.splitlines()[-1] == "No new calls: every answer was in the cache."


@keeps_connections
@pytest.mark.django_db(transaction=True)
def test_what_was_asked_is_in_the_json(provider: Provider, folder: Path):
    _, total = call_json(folder, "--workspace", "papers", "--wait")

    assert total["usage"]["calls"] > 0
    assert total["usage"]["cost"] > 0
    assert total["paused"] == 0


@keeps_connections
@pytest.mark.django_db(transaction=True)
def test_a_budget_that_runs_out_pauses_what_is_left_and_keeps_the_rest(
    provider: Provider, folder: Path
):
    workspace = Workspace.objects.get(slug="papers")
    with access.in_workspace(workspace.pk):
        language_model_services.budget_set(workspace=workspace, cap="0.000001")

    _, total = call_json(folder, "--workspace", "papers", "--wait", code=1)

    assert total["paused"] == 2
    with access.in_workspace(workspace.pk):
        language_model_services.budget_set(workspace=workspace, cap="100")
    _, total = call_json(folder, "--workspace", "papers", "--wait")
    assert (total["paused"], total["ready"]) == (0, 2)


def documents() -> list[Document]:
    [workspace] = Workspace.objects.all()
    with access.in_workspace(workspace.pk):
        return list(Document.objects.in_workspace(workspace))
