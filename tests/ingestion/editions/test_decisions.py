"""People's decisions about names in an edition: only as far as its documents have these names."""

from __future__ import annotations

import pytest

from ingestion.curation.entities import entity_edit
from ingestion.curation.merging import entities_merge
from ingestion.curation.undoing import event_undo
from ingestion.history import queries as history
from ingestion.history.recording import ChangeContext
from ingestion.models import Alias, Entity, HistoryEvent
from tests.ingestion import state
from tests.ingestion.editions.conftest import Team
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def entity(workspace: Workspace, name: str) -> Entity:
    with access.in_workspace(workspace.pk):
        return Entity.objects.in_workspace(workspace).get(name=name)


def aliases(workspace: Workspace, name: str) -> set[str]:
    with access.in_workspace(workspace.pk):
        rows = Alias.objects.in_workspace(workspace).filter(entity__name=name)
        return set(rows.values_list("name", flat=True))


def merge(team: Team, kept: str, *others: str) -> HistoryEvent:
    event = entities_merge(
        change=ChangeContext(team.workspace, team.alice),
        kept=entity(team.workspace, kept),
        others=[entity(team.workspace, one) for one in others],
    )
    state.settled(team.workspace)
    team.sync()
    return event


def test_a_merge_of_names_that_the_audience_knows_holds_for_it_too(team: Team):
    team.restrict(team.court)
    event = merge(team, "Bo Strand", "Cora Vane")

    assert aliases(team.read_by(team.bob), "Bo Strand") == {"Bo Strand", "Cora Vane"}

    event_undo(change=ChangeContext(team.workspace, team.alice), event=event)
    state.settled(team.workspace)
    team.sync()
    assert aliases(team.read_by(team.bob), "Bo Strand") == {"Bo Strand"}


def test_a_merge_with_a_hidden_name_does_not_tell_it(team: Team):
    team.restrict(team.court)
    merge(team, "Ada Lind", "Dora Quist")

    assert "Dora Quist" in aliases(team.workspace, "Ada Lind")
    assert aliases(team.read_by(team.bob), "Ada Lind") == {"Ada Lind"}


def test_words_that_a_person_wrote_about_all_documents_stay_there(team: Team):
    team.restrict(team.court)
    change = ChangeContext(team.workspace, team.alice)
    entity_edit(
        change=change,
        entity=entity(team.workspace, "Ada Lind"),
        name="Ada Lind, debtor of Dora Quist",
        description="Is sued by Dora Quist.",
    )
    state.settled(team.workspace)
    team.sync()

    edition = team.read_by(team.bob)
    assert "Dora Quist" not in entity(edition, "Ada Lind").description


def test_decisions_carried_over_are_no_changes_of_the_edition(team: Team):
    team.restrict(team.court)
    merge(team, "Bo Strand", "Cora Vane")
    edition = team.read_by(team.bob)

    with access.in_workspace(edition.pk):
        assert HistoryEvent.objects.in_workspace(edition).exists()
        assert not history.events(workspace=edition).exists()
