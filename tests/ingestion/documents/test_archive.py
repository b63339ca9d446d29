"""What is put away is searched and counted nowhere, and comes back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model

from ingestion.documents import lifecycle
from ingestion.documents.archive import PAIRS
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    ArchivedVector,
    Chunk,
    ChunkEmbedding,
    CommunityReport,
    CorpusVersion,
    Document,
    Finding,
    FindingEvidence,
    GraphTombstone,
    IngestionJob,
    SummaryTree,
)
from ingestion.pipeline import runner
from tests import rows
from tests.ingestion import state
from tests.ingestion.once import Kept, once_a_module
from workspaces import access
from workspaces.models import Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder", "media"),
]


Begun = tuple[Workspace, dict[str, Document]]


def begin() -> Begun:
    workspace = rows.make_workspace()
    return workspace, state.read(workspace)


begun_once = once_a_module(begin, Kept)


@pytest.fixture
def begun(begun_once: Kept[Begun], media: Path) -> Begun:
    return begun_once.for_a_test(media)


@pytest.fixture
def workspace(begun: Begun) -> Workspace:
    return begun[0]


@pytest.fixture
def documents(begun: Begun) -> dict[str, Document]:
    return begun[1]


def change(workspace: Workspace) -> ChangeContext:
    return ChangeContext(workspace, None)


def trash(workspace: Workspace, *documents: Document) -> None:
    lifecycle.documents_trash(change=change(workspace), documents=documents)


def restore(workspace: Workspace, *documents: Document) -> None:
    lifecycle.documents_restore(change=change(workspace), documents=documents)


@pytest.mark.parametrize(("kind", "archived"), PAIRS, ids=lambda kind: kind.__name__)
def test_the_shelf_has_every_column(kind: Any, archived: Any):
    columns = {field.column for field in kind._meta.concrete_fields}

    assert {field.column for field in archived._meta.concrete_fields} == columns


def test_what_is_put_away_leaves_the_workspace_as_if_it_had_never_been_added(
    workspace: Workspace, documents: dict[str, Document]
):
    fresh = rows.make_workspace("Fresh")
    rest = {title: text for title, text in state.TEXTS.items() if title != "Log"}
    state.read(fresh, rest)

    trash(workspace, documents["Log"])
    state.settled(workspace)

    assert state.graph(workspace) == state.graph(fresh)
    assert state.numbers(workspace) == state.numbers(fresh)


def test_everything_but_the_words_of_reports_is_right_before_any_refresh(
    workspace: Workspace, documents: dict[str, Document]
):
    fresh = rows.make_workspace("Fresh")
    state.read(fresh, {"Ledger": state.TEXTS["Ledger"]})

    trash(workspace, documents["Log"], documents["Lease"])

    now, wanted = state.graph(workspace), state.graph(fresh)
    for part in ("links", "aliases", "evidence", "words"):
        assert [row[:2] for row in now[part]] == [row[:2] for row in wanted[part]], part
    assert [row[:4] for row in now["entities"]] == [row[:4] for row in wanted["entities"]]


def test_what_comes_back_has_the_ids_it_had(workspace: Workspace, documents: dict[str, Document]):
    before, graph = state.ids(workspace), state.graph(workspace)

    trash(workspace, documents["Log"], documents["Lease"])
    state.settled(workspace)
    assert state.ids(workspace) != before
    restore(workspace, documents["Log"], documents["Lease"])
    state.settled(workspace)

    assert state.ids(workspace) == before
    assert state.graph(workspace) == graph


def test_nothing_is_read_or_embedded_again(
    workspace: Workspace, documents: dict[str, Document], monkeypatch: pytest.MonkeyPatch
):
    trash(workspace, documents["Log"])
    stages: list[str] = []
    for name in ("parse", "chunk", "situate", "embed", "extract"):
        monkeypatch.setitem(runner.STAGES, name, lambda *_: stages.append("ran"))

    restore(workspace, documents["Log"])
    state.settled(workspace)

    assert stages == []


def test_the_shelf_is_empty_once_everything_is_back(
    workspace: Workspace, documents: dict[str, Document]
):
    shelf = [archived for _, archived in PAIRS]

    trash(workspace, documents["Log"])
    assert all(state.numbers(workspace, shelf).values())
    restore(workspace, documents["Log"])

    assert not any(state.numbers(workspace, shelf).values())


def test_a_statement_whose_source_is_put_away_is_gone_at_once(
    workspace: Workspace, documents: dict[str, Document]
):
    with access.in_workspace(workspace.pk):
        evidence = FindingEvidence.objects.in_workspace(workspace)
        of_log = set(evidence.filter(document=documents["Log"]).values_list("finding", flat=True))
    assert of_log

    trash(workspace, documents["Log"])

    with access.in_workspace(workspace.pk):
        findings = Finding.objects.in_workspace(workspace)
        assert not findings.filter(pk__in=of_log).exists()
        reports = CommunityReport.objects.in_workspace(workspace)
        assert all("light" not in report.summary for report in reports)
        changed = reports.filter(digest="")
        assert all(report.community.is_changed for report in changed.select_related("community"))


def test_an_answer_given_before_is_not_given_again(
    workspace: Workspace, documents: dict[str, Document]
):
    with access.in_workspace(workspace.pk):
        before = CorpusVersion.objects.in_workspace(workspace).get().number

    trash(workspace, documents["Log"])

    with access.in_workspace(workspace.pk):
        assert CorpusVersion.objects.in_workspace(workspace).get().number > before


def test_nothing_of_what_is_gone_is_left_to_be_taken_out_of_the_projection(
    workspace: Workspace, documents: dict[str, Document]
):
    trash(workspace, *documents.values())
    state.settled(workspace)

    with access.in_workspace(workspace.pk):
        assert not GraphTombstone.objects.in_workspace(workspace).exists()
    graph = state.graph(workspace)
    assert not any(graph.values())


def test_one_refresh_serves_all(workspace: Workspace, documents: dict[str, Document]):
    with access.in_workspace(workspace.pk):
        refreshes = IngestionJob.objects.in_workspace(workspace).filter(kind="workspace")
        before = refreshes.count()

    trash(workspace, *documents.values())

    with access.in_workspace(workspace.pk):
        assert refreshes.count() == before + 1


def test_vectors_of_another_model_are_made_when_a_document_comes_back(
    workspace: Workspace, documents: dict[str, Document]
):
    trash(workspace, documents["Log"])
    with access.in_workspace(workspace.pk):
        ArchivedVector.objects.in_workspace(workspace).update(fingerprint="another model")

    restore(workspace, documents["Log"])
    with access.in_workspace(workspace.pk):
        assert not ChunkEmbedding.objects.filter(fingerprint="another model").exists()
    state.settled(workspace)

    with access.in_workspace(workspace.pk):
        chunks = Chunk.objects.in_workspace(workspace).count()
        assert ChunkEmbedding.objects.in_workspace(workspace).count() == chunks


def test_trees_of_summaries_follow():
    long = " ".join(
        f"Ada Lind wrote entry {number} of the log of Skarrow." for number in range(400)
    )
    workspace = rows.make_workspace("Long")
    documents = state.read(workspace, {"Long": long, "Log": state.TEXTS["Log"]})
    with access.in_workspace(workspace.pk):
        trees = SummaryTree.objects.in_workspace(workspace)
        before = sorted(trees.values_list("document__title", "digest"), key=str)
    assert len(before) == 2

    trash(workspace, documents["Long"])
    with access.in_workspace(workspace.pk):
        assert not trees.exists()
    restore(workspace, documents["Long"])
    state.settled(workspace)

    with access.in_workspace(workspace.pk):
        assert sorted(trees.values_list("document__title", "digest"), key=str) == before


@pytest.mark.parametrize(("live", "archived"), PAIRS)
def test_live_and_archived_rows_have_the_same_columns(live: type[Model], archived: type[Model]):
    columns, kept = (
        {(field.column, field.db_type(connection)) for field in model._meta.concrete_fields}
        for model in (live, archived)
    )

    assert columns == kept
