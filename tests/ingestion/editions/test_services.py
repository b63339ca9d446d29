"""Who may not see a collection reads a workspace as if its documents did not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.documents import lifecycle, metadata
from ingestion.editions import copying, services as editions
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    Collection,
    Document,
    Entity,
    LoneDocument,
    TopicBridge,
    TopicStanding,
)
from ingestion.stages import structure
from kb_project.errors import UnavailableError
from tests import rows
from tests.ingestion import state
from tests.ingestion.editions.conftest import TEXTS, Team
from workspaces import access, editions as closing
from workspaces.models import Role, Workspace
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db(transaction=True)


def without(*titles: str) -> Workspace:
    """A workspace that never had these documents."""
    fresh = rows.make_workspace(f"Without {' and '.join(titles)}")
    state.read(fresh, {title: text for title, text in TEXTS.items() if title not in titles})
    return fresh


def names(workspace: Workspace) -> set[str]:
    with access.in_workspace(workspace.pk):
        return set(Entity.objects.in_workspace(workspace).values_list("name", flat=True))


def what_stands_out(workspace: Workspace) -> set[tuple[Any, ...]]:
    structure.renew(workspace.pk)
    with access.in_workspace(workspace.pk):
        standings = TopicStanding.objects.in_workspace(workspace)
        bridges = TopicBridge.objects.in_workspace(workspace)
        alone = LoneDocument.objects.in_workspace(workspace)
        figures = ("kind", "entity__name", "place", "facts", "passages", "documents")
        return {
            *standings.values_list(*figures),
            *bridges.values_list("entity__name", "facts", "of_facts"),
            *alone.values_list("document__title", "names"),
        }


def test_an_edition_is_as_if_the_hidden_had_never_been_added(team: Team):
    team.restrict(team.court)
    team.sync()

    edition, fresh = team.read_by(team.bob), without("Verdict")

    assert edition.pk != team.workspace.pk
    assert state.graph(edition) == state.graph(fresh)
    assert state.numbers(edition) == state.numbers(fresh)
    assert what_stands_out(edition) == what_stands_out(fresh) != what_stands_out(team.workspace)
    assert "Dora Quist" in names(team.workspace)
    assert "Dora Quist" not in names(edition)


def test_who_sees_all_reads_the_workspace_itself(team: Team):
    team.restrict(team.court)
    team.sync()
    assert team.read_by(team.alice).pk == team.workspace.pk

    team.grant(team.bob, team.court)
    assert team.read_by(team.bob).pk == team.workspace.pk


def test_a_grant_to_a_group_counts_for_its_members(team: Team):
    team.restrict(team.court)
    group = team.grant_group(team.bob, team.court)
    assert team.read_by(team.bob).pk == team.workspace.pk

    with access.in_workspace(team.workspace.pk):
        group.delete()
    team.sync()
    assert team.read_by(team.bob).pk != team.workspace.pk


def test_nothing_is_shown_before_the_edition_is_complete(team: Team):
    team.restrict(team.court)

    with pytest.raises(UnavailableError, match="being prepared"):
        team.read_by(team.bob)


def test_documents_keep_their_ids_and_the_workspace_its_address(team: Team):
    team.restrict(team.court)
    team.sync()

    edition = team.read_by(team.bob)

    with access.in_workspace(edition.pk):
        there = set(Document.objects.in_workspace(edition).values_list("pk", flat=True))
        passages = set(Chunk.objects.in_workspace(edition).values_list("pk", flat=True))
    with access.in_workspace(team.workspace.pk):
        seen = Chunk.objects.in_workspace(team.workspace).exclude(document__title="Verdict")
        assert passages == set(seen.values_list("pk", flat=True))
    assert there == {row.pk for title, row in team.documents.items() if title != "Verdict"}
    assert (edition.slug, edition.name) == (team.workspace.slug, team.workspace.name)


def test_what_is_added_edited_and_removed_follows(team: Team):
    team.restrict(team.court)
    team.sync()
    change = ChangeContext(team.workspace, team.alice)

    state.read(team.workspace, {"Letter": "Edda Moe writes to Bo Strand from Wick."})
    metadata.document_edit(change=change, document=team.documents["Lease"], title="The lease")
    lifecycle.documents_trash(change=change, documents=[team.documents["Log"]])
    state.settled(team.workspace)
    team.sync()

    fresh = rows.make_workspace("Fresh")
    kept = {"Ledger": TEXTS["Ledger"], "The lease": TEXTS["Lease"]}
    state.read(fresh, kept | {"Letter": "Edda Moe writes to Bo Strand from Wick."})
    assert state.graph(team.read_by(team.bob)) == state.graph(fresh)


def test_a_document_moved_into_a_restricted_collection_is_gone_at_once(team: Team):
    team.restrict(team.court)
    team.sync()
    assert "Cora Vane" in names(team.read_by(team.bob))

    change = ChangeContext(team.workspace, team.alice)
    for title in ("Ledger", "Lease"):
        metadata.document_edit(change=change, document=team.documents[title], collection="Court")
    with pytest.raises(UnavailableError):
        team.read_by(team.bob)
    team.sync()

    edition = team.read_by(team.bob)
    assert state.graph(edition) == state.graph(without("Verdict", "Ledger", "Lease"))


def test_a_hidden_collection_has_no_name(team: Team):
    team.restrict(team.court)
    open_one = rows.make_collection(team.workspace, "Harbour papers")
    team.put(open_one, "Log")
    team.sync()

    edition = team.read_by(team.bob)

    with access.in_workspace(edition.pk):
        assert [one.name for one in Collection.objects.in_workspace(edition)] == ["Harbour papers"]


def test_two_audiences_read_two_editions(team: Team):
    sea = rows.make_collection(team.workspace, "Sea")
    team.put(sea, "Log")
    team.restrict(team.court)
    team.restrict(sea)
    carol = rows.make_user("Carol")
    people_services.member_add(workspace=team.workspace, user=carol, role=Role.VIEWER)
    team.grant(team.bob, team.court)
    team.grant(carol, sea)
    team.sync()

    assert state.graph(team.read_by(team.bob)) == state.graph(without("Log"))
    assert state.graph(team.read_by(carol)) == state.graph(without("Verdict"))


def test_an_edition_without_an_audience_is_dropped(team: Team):
    team.restrict(team.court)
    team.sync()
    edition = team.read_by(team.bob)

    team.restrict(team.court, is_restricted=False)
    team.sync()

    assert not Workspace.objects.filter(source=team.workspace).exists()
    assert team.read_by(team.bob).pk == team.workspace.pk
    with access.in_workspace(edition.pk):
        assert not Document.objects.in_workspace(edition).exists()


def test_syncing_again_changes_nothing(team: Team):
    team.restrict(team.court)
    team.sync()
    edition = team.read_by(team.bob)
    before = state.ids(edition)

    team.sync()

    assert state.ids(edition) == before
    assert editions.sync_all() == 1


def test_deleting_for_good_keeps_no_copy_and_no_file_twice(team: Team):
    team.restrict(team.court)
    team.sync()

    change = ChangeContext(team.workspace, team.alice)
    lifecycle.documents_delete(change=change, documents=[team.documents["Log"]])
    team.sync()

    assert state.graph(team.read_by(team.bob)) == state.graph(without("Verdict", "Log"))


def statements(work: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as caught:
        work()
    return len(caught)


def test_workspaces_without_restricted_collections_cost_a_sweep_nothing(team: Team):
    editions.sync_all()
    few = statements(editions.sync_all)
    for number in range(3):
        plain = rows.make_workspace(f"Plain {number}")
        rows.make_collection(plain, "Open")
    assert statements(editions.sync_all) == few == 1

    team.restrict(team.court)
    assert editions.sync_all() == 1
    assert statements(editions.sync_all) > few

    team.restrict(team.court, is_restricted=False)
    editions.sync_all()
    editions.sync_all()
    assert statements(editions.sync_all) == few


def test_an_edition_closed_while_it_is_synced_stays_closed(
    team: Team, monkeypatch: pytest.MonkeyPatch
):
    team.restrict(team.court)
    copy = copying.copy_collections

    def close_meanwhile(*args: Any) -> None:
        copy(*args)
        closing.close(team.workspace.pk)

    with monkeypatch.context() as patched:
        patched.setattr(copying, "copy_collections", close_meanwhile)
        team.sync()
    with pytest.raises(UnavailableError):
        team.read_by(team.bob)

    team.sync()
    assert team.read_by(team.bob).pk != team.workspace.pk


def test_an_edition_without_an_audience_becomes_the_next_ones(team: Team):
    team.restrict(team.court)
    team.sync()
    before = team.read_by(team.bob)
    sea = rows.make_collection(team.workspace, "Sea")
    team.put(sea, "Log")

    team.restrict(sea)
    team.sync()

    edition = team.read_by(team.bob)
    assert edition.pk == before.pk
    assert state.graph(edition) == state.graph(without("Log", "Verdict"))
