"""Where comparing all entities takes long, those that changed are compared with all others."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest

from ingestion import stage
from ingestion.models import Alias, Entity, IngestionJob, JobKind, MergeSuggestion, SuggestionState
from ingestion.stage import NO_PROGRESS
from ingestion.stages import suggest
from ingestion.stages.suggest import blocks, changes, naming
from ingestion.stages.suggest.features import Candidate
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.stages.suggest.things import thing
from workspaces import access
from workspaces.models import Workspace

NAMES = {"Acme Instruments Inc.": "organization", "Ada Lind": "person"}
MORE = {"Acme Instruments": "organization", "Lantern Keepers Union": "organization"}
ACME = ("Acme Instruments", "Acme Instruments Inc.")

Found = dict[tuple[str, ...], float]


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace in which comparing all takes too long, however little changed."""
    monkeypatch.setattr(stage, "LONG", 0.0)
    monkeypatch.setattr(suggest, "MOST_CHANGED", 1.0)
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Minutes", "Acme Instruments Inc. met Ada Lind.", names=NAMES)
    told = "Acme Instruments paid.\n\nThe Lantern Keepers Union rows out."
    rows.make_document(workspace, "Letter", told, names=MORE)
    run(workspace)
    return workspace


def run(workspace: Workspace) -> None:
    suggest.run(
        IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE), build_ports(), NO_PROGRESS
    )


def suggested(workspace: Workspace) -> Found:
    with access.in_workspace(workspace.pk):
        pairs = MergeSuggestion.objects.in_workspace(workspace).select_related("left", "right")
        return {tuple(sorted((one.left.name, one.right.name))): one.score for one in pairs}


def suggested_of_all(workspace: Workspace) -> Found:
    with access.in_workspace(workspace.pk):
        SuggestionState.objects.in_workspace(workspace).delete()
    run(workspace)
    return suggested(workspace)


def forget_suggestions(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        MergeSuggestion.objects.in_workspace(workspace).delete()


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
class TestInTheDatabase:
    def test_what_did_not_change_is_not_compared_again_and_stays(self, workspace: Workspace):
        run(workspace)
        assert set(suggested(workspace)) == {ACME}
        forget_suggestions(workspace)

        run(workspace)

        assert not suggested(workspace)

    def test_once_a_day_all_are_compared(self, workspace: Workspace):
        forget_suggestions(workspace)
        with access.in_workspace(workspace.pk):
            state = SuggestionState.objects.in_workspace(workspace).get()
            day_before = state.compared_at - timedelta(days=1)
            SuggestionState.objects.in_workspace(workspace).update(compared_at=day_before)

        run(workspace)

        assert set(suggested(workspace)) == {ACME}

    def test_all_are_compared_where_many_changed(self, workspace: Workspace, monkeypatch):
        forget_suggestions(workspace)
        monkeypatch.setattr(suggest, "MOST_CHANGED", 0.02)
        rows.make_document(workspace, "Notes", "Bo Strand.", names={"Bo Strand": "person"})

        run(workspace)

        assert set(suggested(workspace)) == {ACME}

    def test_new_ones_are_compared_with_all_others(self, workspace: Workspace):
        text = "Dr Ada Lind is of Vellacott, formerly known as the Lantern Keepers Union."
        names = {"Dr Ada Lind": "person", "Vellacott": "company", "Lantern Keepers Union": "name"}
        rows.make_document(workspace, "Notes", text, names=names)

        run(workspace)

        found = suggested(workspace)
        new = {("Ada Lind", "Dr Ada Lind"), ("Lantern Keepers Union", "Vellacott")}
        assert set(found) == {ACME} | new
        assert found == suggested_of_all(workspace)

    def test_a_name_that_changed_is_compared_again(self, workspace: Workspace):
        with access.in_workspace(workspace.pk):
            renamed = Entity.objects.in_workspace(workspace).filter(name="Acme Instruments")
            renamed.update(key="acme instruments ltd", name="Acme Instruments Ltd")

        run(workspace)

        assert ("Acme Instruments Inc.", "Acme Instruments Ltd") in suggested(workspace)
        assert suggested(workspace) == suggested_of_all(workspace)

    def test_a_name_that_another_has_as_well_is_compared(self, workspace: Workspace):
        with access.in_workspace(workspace.pk):
            ada = Entity.objects.in_workspace(workspace).get(name="Ada Lind")
            Alias.objects.create(workspace=workspace, entity=ada, key="mrs tern", name="Mrs Tern")
        run(workspace)
        names = {"Mrs Tern": "person"}
        rows.make_document(workspace, "Notes", "Mrs Tern came.", names=names)

        run(workspace)

        assert ("Ada Lind", "Mrs Tern") in suggested(workspace)
        assert suggested(workspace) == suggested_of_all(workspace)


def test_whatever_changed_is_compared_with_those_it_would_be_compared_with_among_all():
    names = """Ada Lind|Ada Lynd|Dr Ada Lind|Lind, Ada|A. Lind|Ada Maria Lind|Acme Inc.|Acme
        |Acme Instruments Ltd|World Health Organization|WHO|Saint Mary's Church|St Mary's Church
        |Sea Watch|Seawatch|University of Skarrow|Skarrow University|Skarrow|Skarow|Bo Strand
        |Eastray Shipping|Eastray Shiping Company|The Old Light|Old Lights"""
    things = [thing(name.strip()) for name in names.split("|")]
    keys = [one.key for one in things]
    common = blocks.common_in(things)
    pairs = ends(blocks.candidates(things, common))

    for one in things:
        near = [things[place] for place in set(changes.partners([one], keys))]
        found = changes.pairs_of({one.id}, near, changes.common_in(keys, near))

        assert ends(found) == {pair for pair in pairs if one.name in pair}


def ends(pairs: Iterable[tuple[Candidate, Candidate]]) -> set[frozenset[str]]:
    """The names of the pairs that may be one."""
    return {frozenset((a.name, b.name)) for a, b in pairs if naming.may_be_one(a, b)}
