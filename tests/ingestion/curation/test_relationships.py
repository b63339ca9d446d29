from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation import previewing
from ingestion.curation.merging import entities_merge
from ingestion.curation.relationships import (
    relationship_create,
    relationship_delete,
    relationship_edit,
)
from ingestion.curation.undoing import event_undo
from ingestion.models import HistoryEvent
from kb_project.errors import ConflictError, InputError, NotFoundError
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, paper, run

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN = "acme inc", "acme ltd", "ada lind", "orran"


def link(desk: Desk, source: str, target: str, **said: Any) -> HistoryEvent:
    wanted = {"description": "Lives there."} | said
    return relationship_create(
        change=desk.change(), source=desk.id(source), target=desk.id(target), **wanted
    )


def test_two_entities_are_linked_whatever_documents_say(desk: Desk):
    event = link(desk, ADA, ORRAN, keywords=["home", " home ", "", "island"])

    made = desk.link(ADA, ORRAN)
    assert (made.description, made.keywords, made.is_made) == (
        "Lives there.",
        ["home", "island"],
        True,
    )
    assert event.details["relationship"] == str(made.pk)
    assert set(event.details["names"].values()) == {"Ada Lind", "Orran"}


def test_a_link_follows_what_it_links(desk: Desk):
    link(desk, ADA, INC)

    event = entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    assert desk.link(ADA, LTD).description == "Lives there."
    event_undo(change=desk.change(), event=event)
    assert desk.link(ADA, INC).description == "Lives there."


def test_a_link_that_documents_state_is_worded(desk: Desk):
    wanted: dict[str, Any] = {
        "relationship": desk.link(LTD, ADA),
        "description": "Employs her since 1851.",
    }

    preview = previewing.preview(relationship_edit, workspace=desk.workspace, **wanted)
    event = relationship_edit(change=desk.change(), **wanted)

    worded = desk.link(LTD, ADA)
    assert worded.description == "Employs her since 1851."
    assert "description" in worded.proposed
    assert event.details["counts"] == preview.figures
    assert event.details["after"] == {"description": "Employs her since 1851."}
    event_undo(change=desk.change(), event=event)
    assert desk.link(LTD, ADA).proposed == {}


def test_what_is_deleted_stays_away_until_it_is_linked_again(desk: Desk):
    preview = previewing.preview(
        relationship_delete, workspace=desk.workspace, relationship=desk.link(LTD, ADA)
    )
    event = relationship_delete(change=desk.change(), relationship=desk.link(LTD, ADA))
    said = Said([("Acme Ltd", "organization"), ("Ada Lind", "person")], links=[(0, 1, "employs")])
    run(paper(desk.workspace, "z", said))

    assert f"{LTD} > {ADA}" not in desk.links()
    assert event.details["counts"] == preview.figures
    assert preview.sentence == "1 fact is hidden."
    link(desk, LTD, ADA)
    again = desk.link(LTD, ADA)
    assert (again.is_made, again.evidence_count) == (True, 2)


# --- what cannot be -------------------------------------------------------------------------------
def test_nothing_is_linked_to_itself(desk: Desk):
    with pytest.raises(InputError) as refused:
        link(desk, ADA, ADA)

    assert refused.value.code == "same_entity"


def test_what_is_linked_is_not_linked_again(desk: Desk):
    with pytest.raises(ConflictError) as refused:
        link(desk, LTD, ADA)

    assert refused.value.code == "relationship_exists"
    assert refused.value.fields == {"relationship": str(desk.link(LTD, ADA).pk)}
    link(desk, ADA, LTD)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"description": ""}, "empty"),
        ({"description": "x" * 10_001}, "too_long"),
        ({"keywords": ["x" * 81]}, "too_long"),
        ({"keywords": [f"word {n}" for n in range(51)]}, "too_many"),
    ],
)
def test_what_cannot_be_said_changes_nothing(desk: Desk, said: dict[str, Any], code: str):
    with pytest.raises(InputError) as refused:
        link(desk, ADA, ORRAN, **said)

    assert refused.value.code == code
    assert f"{ADA} > {ORRAN}" not in desk.links()


def test_saying_what_is_so_already_is_refused(desk: Desk):
    there = desk.link(LTD, ADA)

    with pytest.raises(InputError) as refused:
        relationship_edit(change=desk.change(), relationship=there, keywords=there.keywords)

    assert refused.value.code == "nothing_to_change"


def test_what_was_deleted_says_by_whom(desk: Desk):
    there = desk.link(LTD, ADA)
    event = relationship_delete(change=desk.change(), relationship=there)

    with pytest.raises(ConflictError) as refused:
        relationship_delete(change=desk.change(), relationship=there)

    assert refused.value.code == "deleted_before"
    assert refused.value.happened.startswith(
        "The fact that links 'Acme Ltd' to 'Ada Lind' was deleted by Alice on "
    )
    assert refused.value.fields["event"] == str(event.pk)
    with pytest.raises(NotFoundError):
        relationship_delete(change=desk.change(), relationship=uuid4())
