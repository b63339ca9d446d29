"""Whatever people do, in whatever order: nothing drifts, and all of it can be taken back."""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ingestion.models import Document, Entity, Relationship
from tests.ingestion.lives.world import REFUSALS, World, make_world

pytestmark = [
    pytest.mark.usefixtures("fake_embedder", "media"),
    pytest.mark.django_db(transaction=True),
]
NUMBERS = itertools.count()
PICK = st.integers(0, 1000)
Row = TypeVar("Row")


class RefusedError(Exception):
    """There is nothing to do this with."""


def picked(found: list[Row], place: int) -> Row:
    if not found:
        raise RefusedError
    return found[place % len(found)]


class Lives(RuleBasedStateMachine):
    """Changes in any order; a change that is refused must leave everything as it was."""

    world: World
    first: dict[str, Any]

    @initialize()
    def begin(self) -> None:
        self.world = make_world(f"Town {next(NUMBERS)}")
        self.world.check()
        self.first = self.world.state()
        self.before = len(self.world.standing())

    def attempt(self, change: Any) -> None:
        before = self.world.state()
        is_done = False
        with suppress(RefusedError, *REFUSALS):
            change()
            is_done = True
        self.world.work()
        self.world.check()
        if not is_done:
            assert self.world.state() == before

    def entity(self, place: int) -> Entity:
        return picked(self.world.entities(), place)

    def document(self, place: int, **wanted: Any) -> Document:
        return picked(self.world.documents(**wanted), place)

    # --- documents ------------------------------------------------------------------------------
    @rule(name=st.sampled_from(["census", "diary"]))
    def add(self, name: str) -> None:
        self.attempt(lambda: self.world.add(name))

    @rule(place=PICK)
    def read_again_as_a_new_version(self, place: int) -> None:
        self.attempt(lambda: self.world.replace(self.document(place)))

    @rule(place=PICK, title=st.sampled_from(["Ada Lind", "Papers", "Orran"]))
    def retitle(self, place: int, title: str) -> None:
        self.attempt(lambda: self.world.retitle(self.document(place), title))

    @rule(action=st.sampled_from(["disable", "enable", "trash", "restore"]), places=st.sets(PICK))
    def change_lives(self, action: str, places: set[int]) -> None:
        def change() -> None:
            chosen = {one.pk: one for one in (self.document(place) for place in sorted(places))}
            self.world.live(action, *chosen.values())

        self.attempt(change)

    # --- the graph ------------------------------------------------------------------------------
    @rule(kept=PICK, other=PICK)
    def merge(self, kept: int, other: int) -> None:
        self.attempt(lambda: self.world.merge(self.entity(kept), self.entity(other)))

    @rule(place=PICK, where=PICK, name=st.sampled_from(["Ada Lind", "Somebody", "Ada the Elder"]))
    def split(self, place: int, where: int, name: str) -> None:
        self.attempt(lambda: self.world.split(self.entity(place), self.document(where), name))

    @rule(place=PICK, where=PICK, there=PICK)
    def move(self, place: int, where: int, there: int) -> None:
        self.attempt(
            lambda: self.world.move(self.entity(place), self.document(where), self.entity(there))
        )

    @rule(place=PICK, name=st.sampled_from(["Ada L.", "The keeper", "Olaf Brekke"]))
    def rename(self, place: int, name: str) -> None:
        self.attempt(lambda: self.world.edit(self.entity(place), name=name))

    @rule(
        place=PICK,
        said=st.sampled_from(
            [
                {"description": "Known to all."},
                {"type": "office"},
                {"add_aliases": ("Old Ada",)},
                {"is_protected": True},
                {"is_confirmed": True},
            ]
        ),
    )
    def say(self, place: int, said: dict[str, Any]) -> None:
        self.attempt(lambda: self.world.edit(self.entity(place), **said))

    @rule(one=PICK, other=PICK)
    def tell_apart(self, one: int, other: int) -> None:
        self.attempt(lambda: self.world.differ(self.entity(one), self.entity(other)))

    @rule(place=PICK)
    def delete(self, place: int) -> None:
        self.attempt(lambda: self.world.delete(self.entity(place)))

    @rule(name=st.sampled_from(["Bo Strand", "Mrs Flett", "The Harbour Board"]))
    def create(self, name: str) -> None:
        self.attempt(lambda: self.world.create(name))

    @rule(one=PICK, other=PICK)
    def link(self, one: int, other: int) -> None:
        self.attempt(lambda: self.world.link(self.entity(one), self.entity(other)))

    @rule(place=PICK)
    def unlink(self, place: int) -> None:
        links: list[Relationship] = self.world.all(Relationship, "source__key", "target__key", "pk")
        self.attempt(lambda: self.world.unlink(picked(links, place)))

    # --- taking back ----------------------------------------------------------------------------
    @precondition(lambda self: len(self.world.standing()) > self.before)
    @rule(place=PICK)
    def undo_any(self, place: int) -> None:
        later = self.world.standing()[: -self.before or None]
        self.attempt(lambda: self.world.undo(picked(later, place)))

    def teardown(self) -> None:
        if not hasattr(self, "first"):
            return
        while len(events := self.world.standing()) > self.before:
            self.world.undo(events[0])
            self.world.work()
            self.world.check()
        assert self.world.state() == self.first


@pytest.mark.slow
def test_nothing_drifts_and_everything_can_be_taken_back():
    run_state_machine_as_test(
        Lives,
        settings=settings(
            # One takes as long as a hundred others: 3, or 25 in the thorough profile.
            max_examples=settings.default.max_examples // 8,
            stateful_step_count=10,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_what_people_made_is_all_that_is_left_without_documents(media: Path):
    world = make_world()
    world.create("The Harbour Board")
    world.link(world.entity("olaf brekke"), world.entity("ada lind"))
    world.edit(world.entity("skarrow"), description="An island.")

    world.live("trash", *world.documents())
    world.work()

    world.check()
    assert {one.name for one in world.entities()} == {
        "The Harbour Board", "Ada Lind", "Olaf Brekke"
    }  # fmt: skip
    assert len(world.all(Relationship)) == 1
    world.live("delete", *world.documents())
    world.work()
    world.check()
    assert len(world.entities()) == 3


def test_an_empty_workspace_is_left_where_people_made_nothing(media: Path):
    world = make_world()

    world.live("delete", *world.documents())
    world.work()

    world.check()
    state = world.state()
    assert {name for name, found in state.items() if found} == set()
