"""What work under way will mend is no drift, at any moment of a workspace's life."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.health import services as health
from ingestion.models import IngestionJob, RunState
from ingestion.pipeline import batching, inline, runner
from tests.ingestion.lives.world import World, make_world
from tests.ingestion.once import Kept, once_a_module
from workspaces import access

pytestmark = pytest.mark.django_db(transaction=True)


world_once = once_a_module(make_world, Kept)


@pytest.fixture
def world(world_once: Kept[World], media: Path, fake_embedder: None) -> World:
    return world_once.for_a_test(media)


def names_of_waiting(world: World) -> set[str]:
    return {one.check for one in health.check(world.workspace.pk).waiting}


def assert_sound(world: World) -> None:
    report = health.check(world.workspace.pk, is_deep=True)
    assert report.is_sound, str(report)


OF_DOCUMENTS: tuple[Callable[[World], None], ...] = (
    lambda world: world.add("diary"),
    lambda world: world.replace(world.document("log")),
    lambda world: world.live("disable", world.document("log")),
    lambda world: world.live("trash", world.document("letter")),
    lambda world: world.live("restore", world.document("letter")),
    lambda world: world.retitle(world.document("letter"), "A letter to Orran"),
    lambda world: world.live("delete", world.document("minutes")),
)
OF_NAMES: tuple[Callable[[World], None], ...] = (
    lambda world: world.create("Bo Strand"),
    lambda world: world.edit(world.entity("ada lind"), name="Ada Marie Lind"),
    lambda world: world.edit(world.entity("ada lind"), add_aliases=["The keeper"]),
    lambda world: world.split(
        world.entity("ada lind"), world.document("letter"), "Ada the younger"
    ),
    lambda world: world.differ(world.entity("ada lind"), world.entity("olaf brekke")),
    lambda world: world.link(world.entity("bo strand"), world.entity("ada lind")),
    lambda world: world.merge(world.entity("ada lind"), world.entity("bo strand")),
    lambda world: world.delete(world.entity("ada lind")),
)


@pytest.mark.parametrize("changes", [OF_DOCUMENTS, OF_NAMES], ids=["documents", "names"])
def test_what_people_do_leaves_nothing_adrift(
    changes: tuple[Callable[[World], None], ...], world: World
):
    for place, change in enumerate(changes):
        change(world)
        assert_sound(world)
        if place % 2:
            world.work()
            world.check()


def test_taking_it_back_leaves_nothing_adrift(world: World):
    world.live("trash", world.document("letter"))
    world.work()
    world.merge(world.entity("ada lind"), world.entity("olaf brekke"))
    world.work()

    for event in world.standing()[:2]:
        world.undo(event)
        assert_sound(world)
    world.work()

    world.check()


def test_at_no_step_of_reading_anything_is_adrift(world: World):
    for name in ("diary", "census"):
        world.add(name)
    assert names_of_waiting(world) == {"work"}

    steps = 0
    for lane in runner.LANES:
        while jobs := batching.next_group(world.workspace.pk, lane):
            runner.run_group(jobs, lane)
            assert_sound(world)
            steps += 1

    assert steps >= 3
    world.work()
    world.check()


@pytest.mark.parametrize("stage", ["situate", "resolve", "graph", "communities", "tree"])
def test_a_stage_that_stops_the_work_leaves_nothing_adrift(
    stage: str, world: World, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_arguments: object) -> None:
        raise MemoryError

    world.add("diary")
    with monkeypatch.context() as patch:
        patch.setitem(runner.STAGES, stage, fail)
        for lane in runner.LANES:
            while jobs := batching.next_group(world.workspace.pk, lane):
                runner.run_group(jobs, lane)
                drifts = {one.check for one in health.check(world.workspace.pk).drifts}
                # A refresh that failed is asked for again by people only: they are told.
                assert drifts <= {"refresh", *LEFT_BY.get(stage, ())}, stage

    with access.in_workspace(world.workspace.pk):
        jobs_left = IngestionJob.objects.in_workspace(world.workspace).filter(state=RunState.FAILED)
        assert jobs_left.exists()


# What a refresh that failed at this stage did not come to.
LEFT_BY = {
    "graph": ("topics", "summaries", "snapshot"),
    "communities": ("topics", "summaries", "snapshot"),
    "tree": ("summaries", "snapshot"),
}


def test_a_look_asks_as_much_of_the_database_however_many_documents_there_are(world: World):
    health.check(world.workspace.pk)
    before = statements_of_a_look(world)
    world.add("diary")
    inline.drain(world.workspace.pk)

    assert statements_of_a_look(world) == before < 100


def statements_of_a_look(world: World) -> int:
    with CaptureQueriesContext(connection) as captured:
        health.check(world.workspace.pk)
    return len(captured)
