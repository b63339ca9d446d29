"""What a process keeps is the newest of each workspace, and together no more than it may hold."""

from __future__ import annotations

import threading
import uuid

import pytest

from retrieval.search.walk import ProcessCache
from tests.patience import PATIENCE

WORKSPACES = [uuid.UUID(int=number) for number in range(4)]


@pytest.fixture
def cache() -> ProcessCache:
    return ProcessCache(100)


def put(cache: ProcessCache, workspace: uuid.UUID, stamp: int, size: int = 40) -> list[object]:
    """Return a new list, or the one that is kept."""
    return cache.get(workspace, stamp, list, lambda _: size)


def test_what_has_the_same_stamp_is_made_once(cache: ProcessCache):
    first = put(cache, WORKSPACES[0], 1)

    assert put(cache, WORKSPACES[0], 1) is first
    assert put(cache, WORKSPACES[1], 1) is not first


def test_the_next_takes_the_place_of_the_one_before(cache: ProcessCache):
    first = put(cache, WORKSPACES[0], 1)

    assert put(cache, WORKSPACES[0], 2) is not first
    assert cache.size == 40


def test_the_least_recently_used_leave_when_there_is_no_room(cache: ProcessCache):
    first, second = (put(cache, one, 1) for one in WORKSPACES[:2])
    put(cache, WORKSPACES[0], 1)
    put(cache, WORKSPACES[2], 1)

    assert cache.size == 80
    assert put(cache, WORKSPACES[0], 1) is first
    assert put(cache, WORKSPACES[1], 1) is not second


def test_one_that_is_larger_than_all_the_room_is_kept_alone(cache: ProcessCache):
    put(cache, WORKSPACES[0], 1)
    large = put(cache, WORKSPACES[1], 1, size=1_000)

    assert put(cache, WORKSPACES[1], 1) is large
    assert cache.size == 1_000


def test_of_several_that_ask_at_once_one_makes_it(cache: ProcessCache):
    made: list[int] = []
    entered, waiting = threading.Event(), threading.Event()

    def make() -> list[int]:
        entered.set()
        waiting.wait(PATIENCE)
        made.append(1)
        return made

    def ask() -> None:
        cache.get(WORKSPACES[0], 1, make, lambda _: 1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert entered.wait(PATIENCE)
    waiting.set()
    for thread in threads:
        thread.join(PATIENCE)

    assert made == [1]


def test_a_failure_keeps_what_was_there(cache: ProcessCache):
    first = put(cache, WORKSPACES[0], 1)
    with pytest.raises(ZeroDivisionError):
        cache.get(WORKSPACES[0], 2, lambda: 1 // 0, lambda _: 1)

    assert put(cache, WORKSPACES[0], 1) is first
