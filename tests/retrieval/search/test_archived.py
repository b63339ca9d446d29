"""What is disabled or in the trash is no part of what can be searched, chosen or counted."""

from __future__ import annotations

import pytest

from ingestion.documents import lifecycle, queries as document_queries
from ingestion.history.recording import ChangeContext
from ingestion.knowledge.queries import documents_count
from ingestion.models import Document
from kb_project.ports import build_ports
from kb_project.sql import run_sql
from retrieval.search import auto, scope, scope as scopes
from retrieval.search.modes import MODES
from retrieval.search.scope import Scope
from retrieval.search.services import search
from tests import rows
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def cast(fake_embedder: None) -> rows.Cast:
    cast = rows.make_cast()
    collection = rows.make_collection(cast.workspace, "Logs")
    embedder = build_ports().embedder
    for title in ("Here", "Away", "Gone"):
        rows.make_document(
            cast.workspace,
            title,
            f"Ada Lind keeps the light of Skarrow, says {title}.",
            names={"Ada Lind": "person"},
            embedder=embedder,
            collection=collection,
            tags=["light"],
        )
    rows.make_snapshot(cast.workspace)
    found = {row.title: row for row in documents(cast)}
    change = ChangeContext(cast.workspace, cast.alice)
    lifecycle.documents_disable(change=change, documents=[found["Away"]])
    lifecycle.documents_trash(change=change, documents=[found["Gone"]])
    return cast


def documents(cast: rows.Cast) -> list[Document]:
    with access.in_workspace(cast.workspace.pk):
        return list(Document.objects.in_workspace(cast.workspace))


def test_lists_have_what_is_disabled_and_not_what_is_in_the_trash(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        listed = document_queries.documents(workspace=cast.workspace)
        assert {row.title for row in listed} == {"Here", "Away"}
        assert sum(document_queries.state_counts(workspace=cast.workspace).values()) == 2
        assert document_queries.workspace_counts(workspace=cast.workspace).documents == 2
        assert documents_count(cast.workspace) == 1
        trash = document_queries.trashed(workspace=cast.workspace)
        assert [row.title for row in trash] == ["Gone"]


def test_only_what_is_searched_can_be_chosen(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        offered = scope.scope_choices(workspace=cast.workspace)
        assert [one.documents for one in offered.collections] == [1]
        assert [one.documents for one in offered.tags] == [1]
        chosen = scopes.document_ids(cast.workspace.pk, Scope(tags=("light",)))
        assert chosen == tuple(row.pk for row in documents(cast) if row.title == "Here")


def test_the_mode_that_picks_a_mode_counts_what_is_searched(cast: rows.Cast):
    values = {"workspace": cast.workspace.pk, "names": ["gone", "away"]}
    with access.in_workspace(cast.workspace.pk):
        assert run_sql(auto.IS_TITLE, values) == [(False,)]


@pytest.mark.parametrize("mode", sorted(set(MODES) - {"global", "drift"}))
def test_no_mode_finds_it(cast: rows.Cast, mode: str):
    found = search(
        workspace=cast.workspace, question="Who keeps the light of Skarrow?", mode=mode, top_k=10
    )

    assert {hit.title for hit in found.hits} <= {"Here"}
