"""What is remembered about pairs, tried on what the search itself finds."""

from __future__ import annotations

import pytest

from ingestion.curation.merging import entities_merge
from ingestion.curation.splitting import Selection, entity_split, mentions_move
from ingestion.curation.undoing import event_undo
from ingestion.models import HistoryEvent, IngestionJob, JobKind, ResolutionDecision, Verdict
from ingestion.resolution.decisions import decided_pairs
from ingestion.resolution.keys import pair_of
from ingestion.stage import NO_PROGRESS
from ingestion.stages import suggest
from ingestion.suggestions import cases
from kb_project.ports import build_ports
from tests.ingestion.curation.conftest import desk as desk, papers_read as papers_read
from tests.ingestion.curation.papers import Desk
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
MERCURY, ORRAN = "mercury", "orran"


def split(desk: Desk, name: str = "Mercury") -> HistoryEvent:
    selection = Selection(documents=(desk.document("e").pk,))
    return entity_split(
        change=desk.change(), entity=desk.id(MERCURY), selection=selection, name=name
    )


def asked(desk: Desk) -> list[set[str]]:
    """The ids of each case, after a search."""
    job = IngestionJob(workspace=desk.workspace, kind=JobKind.WORKSPACE)
    suggest.run(job, build_ports(), NO_PROGRESS)
    with access.in_workspace(desk.workspace.pk):
        found = cases.case_queue(workspace=desk.workspace, user=desk.cast.alice, limit=50)
    return [{str(side.id) for side in case.entities} for case in found.cases]


def halves(desk: Desk) -> set[str]:
    return {str(desk.id(MERCURY)), str(desk.id(MERCURY, 1))}


def refused(desk: Desk) -> list[cases.Refused]:
    with access.in_workspace(desk.workspace.pk):
        return list(cases.case_refused(workspace=desk.workspace))


def test_what_was_split_under_its_own_name_is_not_asked_about_again(desk: Desk):
    event = split(desk)

    assert halves(desk) not in asked(desk)

    [found] = refused(desk)
    assert {str(found.left.id), str(found.right.id)} == halves(desk)
    assert found.sentence.startswith("Alice marked these as not the same on ")
    assert (found.decision.pk, found.decision.event_id) == (None, event.pk)


def test_a_split_that_was_taken_back_says_nothing_any_more(desk: Desk):
    event = split(desk)
    event_undo(change=desk.change(), event=event.pk)

    with access.in_workspace(desk.workspace.pk):
        assert decided_pairs(desk.workspace.pk) == {}


def test_two_that_were_split_and_merged_again_are_one(desk: Desk):
    split(desk)
    entities_merge(change=desk.change(), kept=desk.id(MERCURY), others=[desk.id(MERCURY, 1)])

    assert asked(desk) == []
    assert refused(desk) == []


def test_what_was_moved_to_another_entity_tells_the_two_apart(desk: Desk):
    selection = Selection(documents=(desk.document("e").pk,))
    mentions_move(
        change=desk.change(), entity=desk.id(MERCURY), selection=selection, target=desk.id(ORRAN)
    )

    with access.in_workspace(desk.workspace.pk):
        [(pair, said)] = decided_pairs(desk.workspace.pk).items()
    assert pair == pair_of(desk.id(MERCURY), desk.id(ORRAN))
    assert (said.verdict, said.user_id) == (Verdict.DIFFERENT, desk.cast.alice.pk)


def test_a_document_in_which_a_model_reads_another_thing_tells_the_two_apart(desk: Desk):
    event = split(desk)
    with access.in_workspace(desk.workspace.pk):
        HistoryEvent.objects.in_workspace(desk.workspace).filter(pk=event.pk).update(
            undone_at=event.created_at
        )
        ResolutionDecision.objects.create(
            workspace=desk.workspace,
            left_key=MERCURY,
            document=desk.document("e"),
            sense=1,
            verdict=Verdict.DIFFERENT,
            by=ResolutionDecision.By.MODEL,
            model="judge-1",
        )

    assert halves(desk) not in asked(desk)
    [found] = refused(desk)
    assert found.said_by == "judge-1"
