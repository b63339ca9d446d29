"""Many hands at once: nothing is lost, nobody meets a deadlock, the late learn what changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from ingestion.curation.entities import entity_edit
from ingestion.curation.merging import entities_differ, entities_merge
from ingestion.curation.splitting import Selection, entity_split
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import HistoryEvent
from kb_project.errors import ConflictError, KBError, PreconditionError
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, paper, run
from tests.patience import PATIENCE
from workspaces import access
from workspaces.models import Role
from workspaces.people import services as people_services

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db(transaction=True)]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"
HANDS = 10

Do = Callable[[ChangeContext], HistoryEvent]


class Hand(threading.Thread):
    """One curator: what it did, or why not."""

    def __init__(self, desk: Desk, do: Do, expected: dict[UUID, int], gun: threading.Barrier):
        super().__init__()
        self.desk, self.do, self.expected, self.gun = desk, do, expected, gun
        self.event: HistoryEvent | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.gun.wait(PATIENCE)
            self.event = self.do(self.desk.change(expected=self.expected))
        except Exception as error:  # noqa: BLE001  # the test looks at every one of them
            self.error = error
        finally:
            connections.close_all()


def at_once(desk: Desk, *changes: tuple[Do, tuple[str, ...]]) -> list[Hand]:
    """Each change by a hand of its own, which saw the named entities before."""
    with access.in_workspace(desk.workspace.pk):
        seen = [
            recording.revisions(desk.workspace, [desk.id(key) for key in keys])
            for _, keys in changes
        ]
    gun = threading.Barrier(len(changes))
    hands = [Hand(desk, do, expected, gun) for (do, _), expected in zip(changes, seen, strict=True)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    return hands


@pytest.fixture
def desk(media: Path) -> Desk:
    cast = rows.make_cast()
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=Role.CURATOR)
    return Desk(cast)


def merge(desk: Desk, kept: str, other: str) -> tuple[Do, tuple[str, ...]]:
    return (
        lambda change: entities_merge(change=change, kept=desk.id(kept), others=[desk.id(other)]),
        (kept, other),
    )


def split(desk: Desk, key: str, document: str, name: str) -> tuple[Do, tuple[str, ...]]:
    chosen = Selection(documents=(desk.document(document).pk,))
    return (
        lambda change: entity_split(
            change=change, entity=desk.id(key), selection=chosen, name=name
        ),
        (key,),
    )


def test_ten_hands_on_overlapping_entities(desk: Desk):
    mentions = sum(desk.mentions().values())

    hands = at_once(
        desk,
        merge(desk, LTD, INC),
        merge(desk, INC, LTD),
        merge(desk, ORRAN, LTD),
        merge(desk, MERCURY, INC),
        split(desk, LTD, "b", "Acme of Orran"),
        split(desk, LTD, "d", "Acme of Skarrow"),
        split(desk, INC, "a", "Acme Once"),
        split(desk, MERCURY, "e", "Mercury the planet"),
        merge(desk, ADA, ORRAN),
        merge(desk, ADA, MERCURY),
    )

    errors = [hand.error for hand in hands if hand.error]
    assert [error for error in errors if not isinstance(error, PreconditionError)] == []
    done = [hand.event for hand in hands if hand.event]
    assert len(done) + len(errors) == HANDS
    assert done
    # Every winner's change is there, and no two of them were of one entity.
    events = desk.events()
    assert {event.pk for event in events} == {event.pk for event in done}
    touched = [one for hand in hands if hand.event for one in hand.expected]
    assert len(touched) == len(set(touched))
    # Every loser is told of a winner.
    for error in errors:
        assert isinstance(error, PreconditionError)
        assert set(error.events) <= {event.pk for event in events}
        assert error.fields["events"]
    assert sum(desk.mentions().values()) == mentions


def test_who_does_not_say_what_they_saw_is_told_what_is_gone(desk: Desk):
    changes = [merge(desk, LTD, INC)[0], merge(desk, INC, LTD)[0]]

    hands = at_once(desk, *((do, ()) for do in changes))

    errors = [hand.error for hand in hands if hand.error]
    assert [type(error) for error in errors] == [ConflictError]
    assert len(desk.events()) == 1


def test_ten_wordings_of_one_entity_all_count_one_after_the_other(desk: Desk):
    def write(number: int) -> Do:
        return lambda change: entity_edit(
            change=change, entity=desk.id(LTD), description=f"Firm {number}."
        )

    hands = at_once(desk, *((write(number), ()) for number in range(HANDS)))

    assert [hand.error for hand in hands] == [None] * HANDS
    events = desk.events()
    assert [event.sequence for event in events] == sorted({event.sequence for event in events})
    assert desk.entity(LTD).description == events[-1].details["after"]["description"]


def test_hands_do_not_disturb_reading_nor_reading_hands(desk: Desk):
    jobs = [paper(desk.workspace, f"z{n}", Said([("Acme Inc", "organization")])) for n in range(6)]

    def read(number: int) -> Do:
        def work(change: ChangeContext) -> Any:
            run(jobs[number])

        return work

    changes = [merge(desk, LTD, INC)[0], merge(desk, ORRAN, MERCURY)[0]]
    hands = at_once(
        desk,
        *((do, ()) for do in changes),
        *((read(number), ()) for number in range(6)),
        (
            lambda change: entities_differ(change=change, entities=[desk.id(ADA), desk.id(ORRAN)]),
            (),
        ),
    )

    assert [hand.error for hand in hands if not isinstance(hand.error, KBError)] == [None] * 9
    assert INC not in desk.names()
    assert desk.mentions()[LTD] == 11
