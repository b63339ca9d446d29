"""Reading for all who follow: together, each what is new to them, and nothing to who may not."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connections

from kb_project.errors import NotFoundError
from retrieval.conversations import streaming
from retrieval.conversations.streaming import EventReader, Followed
from tests.retrieval.answering.asked import events_of, make_asked_cast, queue, run

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def tidied():
    yield
    asyncio.run(sync_to_async(connections.close_all)())


@pytest.fixture
def batches(monkeypatch):
    """How many were read together, each time."""
    sizes, real = [], streaming._read

    def read(wanted):
        sizes.append(len(wanted))
        return real(wanted)

    monkeypatch.setattr(streaming, "_read", read)
    return sizes


def followed_by(user, answer, after=-1):
    return Followed(answer.workspace_id, answer.pk, user.pk, after)


async def answered(cast):
    return await sync_to_async(lambda: run(queue(cast)))()


async def test_everything_after_the_last_known_event_is_read(cast):
    answer = await answered(cast)
    stored = await sync_to_async(events_of)(answer)
    reading = EventReader()

    everything = await reading.read(followed_by(cast.bob, answer))
    rest = await reading.read(followed_by(cast.bob, answer, after=2))
    nothing = await reading.read(followed_by(cast.bob, answer, after=stored[-1].sequence))

    assert [one.sequence for one in everything or ()] == [one.sequence for one in stored]
    assert [one.kind for one in rest or ()] == [one.kind for one in stored[3:]]
    assert nothing == []


async def test_those_who_wait_are_read_together(cast, batches):
    answer = await answered(cast)
    reading = EventReader()
    wanted = [followed_by(cast.bob, answer, after) for after in range(-1, 5)]

    found = await asyncio.gather(*(reading.read(one) for one in wanted))

    assert batches == [len(wanted)]
    assert [events[0].sequence for events in found if events] == [0, 1, 2, 3, 4, 5]


async def test_many_are_read_in_turns(cast, batches, monkeypatch):
    monkeypatch.setattr(streaming, "MOST_TOGETHER", 4)
    answer = await answered(cast)
    reading = EventReader()

    wanted = [followed_by(cast.bob, answer, 0) for _ in range(10)]
    found = await asyncio.gather(*(reading.read(one) for one in wanted))

    assert batches == [4, 4, 2]
    assert all(events == found[0] for events in found)


async def test_one_who_may_not_see_it_hinders_nobody(cast):
    answer = await answered(cast)
    reading = EventReader()
    wanted = [followed_by(person, answer) for person in (cast.bob, cast.charlie, cast.alice)]

    bobs, charlies, alices = await asyncio.gather(
        *(reading.read(one) for one in wanted), return_exceptions=True
    )

    assert isinstance(charlies, NotFoundError)
    assert bobs == alices
    assert bobs


async def test_answers_of_different_workspaces_are_kept_apart(cast):
    other = await sync_to_async(make_asked_cast)(name="Elsewhere")
    here, there = await answered(cast), await answered(other)
    reading = EventReader()
    strange = replace(followed_by(cast.bob, there), workspace_id=here.workspace_id)

    mine, theirs, none = await asyncio.gather(
        reading.read(followed_by(cast.bob, here)),
        reading.read(followed_by(other.bob, there)),
        reading.read(strange),
        return_exceptions=True,
    )

    assert mine
    assert theirs
    assert isinstance(none, NotFoundError)


async def test_who_goes_away_while_it_is_read_hinders_nobody(cast):
    answer = await answered(cast)
    reading = EventReader()
    gone = asyncio.create_task(reading.read(followed_by(cast.bob, answer)))
    stays = asyncio.create_task(reading.read(followed_by(cast.alice, answer)))
    await asyncio.sleep(0)
    gone.cancel()

    assert await stays
    assert gone.cancelled() or gone.cancelling()


async def test_a_database_that_is_away_is_no_end(cast, monkeypatch):
    answer = await answered(cast)
    reading = EventReader()

    def away(_wanted):
        raise OperationalError("The server is starting up.")

    with monkeypatch.context() as patched:
        patched.setattr(streaming, "_read", away)
        assert await reading.read(followed_by(cast.bob, answer)) is None

    assert await reading.read(followed_by(cast.bob, answer))
