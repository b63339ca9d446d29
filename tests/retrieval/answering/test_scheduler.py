"""Whose turn it is: those without passages first, in places of their own, and nobody for ever."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from kb_project.jobs.notify import Party
from kb_project.llm.halting import Halt, halted_by
from retrieval.answering import scheduler
from retrieval.answering.scheduler import Phase, Scheduler
from tests.patience import NEVER, PATIENCE, wait_until

SOME = {Party(uuid4(), 7): 1}


class Job:
    """An answer in a thread of its own that goes on from place to place when it is told to."""

    def __init__(
        self, all_: Scheduler, *, is_busy: bool = False, party: Party | None = None
    ) -> None:
        self.halt, self._party = Halt(), party
        self.begun, self.written, self.ended = (threading.Event() for _ in range(3))
        self.may_show, self.may_end, self.may_breathe = (threading.Event() for _ in range(3))
        self.breathed = threading.Event()
        self._all, self._is_busy = all_, is_busy
        self._turn: scheduler.Turn | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with halted_by(self.halt), self._all.turn():
            self._turn = scheduler._turn.get()
            scheduler.begin(self._party)
            self.begun.set()
            assert self.may_show.wait(PATIENCE)
            scheduler.let_others_first(is_busy=self._is_busy)
            self.written.set()
            while not self.may_end.wait(0.01):
                if self.may_breathe.is_set():
                    scheduler.give_way()
                    self.breathed.set()
        self.ended.set()

    def is_written(self) -> bool:
        return self.written.wait(PATIENCE)

    def is_waiting(self) -> bool:
        """Whether it waits behind others, and still does after a moment."""
        return not self.written.wait(0.3)

    def has_its_place(self) -> bool:
        """Whether it is written, or waits behind those before it."""
        with self._all._lock:
            is_behind = self._turn is not None and self._turn.phase is Phase.WAITING
        return is_behind or self.written.is_set()

    def end(self) -> None:
        self.may_show.set()
        self.may_end.set()
        assert self.ended.wait(PATIENCE)


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch):
    """However slow the machine is, nobody loses patience, but where a test says so."""
    for name in ("PATIENCE", "FRESH", "LONGEST_PAUSE", "SECONDS_HELD_BACK"):
        monkeypatch.setattr(scheduler, name, NEVER)


@pytest.fixture
def begin():
    """Begins jobs, and ends them with the test."""
    jobs: list[Job] = []

    def make(all_: Scheduler, **how: Any) -> Job:
        jobs.append(Job(all_, **how))
        return jobs[-1]

    yield make
    for job in jobs:
        job.halt.set()
        job.may_show.set()
        job.may_end.set()


def started(begin: Callable[..., Job], all_: Scheduler, **how: Any) -> Job:
    job = begin(all_, **how)
    assert job.begun.wait(PATIENCE)
    return job


def shown(begin: Callable[..., Job], all_: Scheduler, **how: Any) -> Job:
    job = started(begin, all_, **how)
    job.may_show.set()
    wait_until(job.has_its_place)
    return job


@pytest.fixture
def idle():
    """Threads that could begin something."""
    over = threading.Event()

    def make(all_: Scheduler) -> None:
        ready = threading.Event()

        def wait() -> None:
            with all_.turn():
                ready.set()
                over.wait(PATIENCE)

        threading.Thread(target=wait, daemon=True).start()
        assert ready.wait(PATIENCE)

    yield make
    over.set()


def test_one_alone_goes_on_at_once(begin, monkeypatch):
    monkeypatch.setattr(scheduler, "TICK", NEVER)
    job = shown(begin, Scheduler(finding=1, writing=1))

    assert job.is_written()


def test_one_with_passages_waits_while_another_has_none(begin):
    all_ = Scheduler(finding=2, writing=2)
    slow = started(begin, all_)
    quick = shown(begin, all_)
    assert quick.is_waiting()

    slow.may_show.set()

    assert quick.is_written()
    assert slow.is_written()


def test_one_that_ends_without_passages_holds_nobody_up(begin):
    all_ = Scheduler(finding=2, writing=2)
    failing = started(begin, all_)
    quick = shown(begin, all_)
    assert quick.is_waiting()

    failing.halt.set()
    failing.end()

    assert quick.is_written()


def test_what_nobody_has_begun_yet_goes_first_too(begin, idle):
    called = threading.Event()
    called.set()
    all_ = Scheduler(finding=2, writing=1, queued=lambda: SOME if called.is_set() else {})
    idle(all_)
    job = shown(begin, all_)
    assert job.is_waiting()

    called.clear()

    assert job.is_written()


def test_what_nobody_is_free_to_begin_is_not_waited_for(begin):
    job = shown(begin, Scheduler(finding=2, writing=1, queued=lambda: SOME))

    assert job.is_written()


def test_a_place_for_finding_is_free_as_soon_as_passages_are_shown(begin):
    all_ = Scheduler(finding=1, writing=1)
    first = started(begin, all_)
    second = begin(all_)
    assert not second.begun.wait(0.1)

    first.may_show.set()

    assert second.begun.wait(PATIENCE)


def test_no_more_are_written_at_a_time_than_there_are_places(begin):
    all_ = Scheduler(finding=3, writing=2)
    jobs = [shown(begin, all_) for _ in range(3)]
    for job in jobs[:2]:
        assert job.is_written()
    assert jobs[2].is_waiting()

    jobs[0].end()

    assert jobs[2].is_written()


def test_those_who_wait_are_written_in_the_order_they_came(begin):
    all_ = Scheduler(finding=1, writing=1)
    first, second, third = (shown(begin, all_) for _ in range(3))
    assert first.is_written()

    first.end()

    assert second.is_written()
    assert third.is_waiting()


def test_what_keeps_the_processor_busy_is_written_one_at_a_time(begin):
    all_ = Scheduler(finding=4, writing=4)
    busy = [shown(begin, all_, is_busy=True) for _ in range(2)]
    assert busy[0].is_written()
    assert busy[1].is_waiting()

    asking_a_model = shown(begin, all_)
    assert asking_a_model.is_written()

    busy[0].end()
    assert busy[1].is_written()


def test_waiting_has_an_end_while_others_keep_coming(begin, idle, monkeypatch):
    all_ = Scheduler(finding=2, writing=1, queued=lambda: SOME)
    idle(all_)
    job = shown(begin, all_)
    assert job.is_waiting()

    monkeypatch.setattr(scheduler, "PATIENCE", 0.0)

    assert job.is_written()


def test_nobody_waits_for_one_that_takes_long_to_find(begin, monkeypatch):
    all_ = Scheduler(finding=2, writing=1)
    started(begin, all_)
    quick = shown(begin, all_)
    assert quick.is_waiting()

    monkeypatch.setattr(scheduler, "FRESH", 0.0)

    assert quick.is_written()


def test_one_that_is_stopped_while_it_waits_goes_on_at_once(begin, monkeypatch):
    monkeypatch.setattr(scheduler, "TICK", NEVER)
    all_ = Scheduler(finding=2, writing=1)
    slow = started(begin, all_)
    stopped, waiting = shown(begin, all_), shown(begin, all_)
    assert stopped.is_waiting()

    stopped.halt.set()

    assert stopped.is_written()
    assert waiting.is_waiting()
    stopped.end()
    slow.may_show.set()
    wait_until(lambda: slow.written.is_set() or waiting.written.is_set())


def test_a_place_that_nobody_took_any_more_is_not_lost(begin):
    all_ = Scheduler(finding=2, writing=1)
    writing = shown(begin, all_)
    assert writing.is_written()
    for _ in range(3):
        stopped = shown(begin, all_)
        stopped.halt.set()
        stopped.end()
    writing.end()

    assert shown(begin, all_).is_written()


def test_one_that_is_written_gives_way_to_one_without_passages(begin):
    all_ = Scheduler(finding=2, writing=2)
    job = started(begin, all_)
    job.may_show.set()
    assert job.is_written()
    slow = started(begin, all_)

    job.may_breathe.set()
    assert not job.breathed.wait(0.3)
    slow.may_show.set()

    assert job.breathed.wait(PATIENCE)


def test_giving_way_has_an_end(idle, monkeypatch):
    monkeypatch.setattr(scheduler, "LONGEST_PAUSE", 0.2)
    called = threading.Event()
    all_ = Scheduler(finding=2, writing=1, queued=lambda: SOME if called.is_set() else {})
    idle(all_)
    with all_.turn():
        scheduler.begin()
        scheduler.let_others_first(is_busy=True)
        called.set()
        began = time.monotonic()
        scheduler.give_way()

    assert 0.2 <= time.monotonic() - began < PATIENCE


def test_one_that_is_stopped_gives_way_to_nobody(idle):
    called, halt = threading.Event(), Halt()
    all_ = Scheduler(finding=2, writing=1, queued=lambda: SOME if called.is_set() else {})
    idle(all_)
    with halted_by(halt), all_.turn():
        scheduler.begin()
        scheduler.let_others_first(is_busy=True)
        called.set()
        halt.set()
        began = time.monotonic()
        scheduler.give_way()

    assert time.monotonic() - began < PATIENCE


def test_who_takes_no_turns_waits_for_nobody():
    scheduler.begin()
    scheduler.let_others_first(is_busy=True)
    scheduler.give_way()


def test_a_turn_is_over_when_its_answer_is():
    all_ = Scheduler(finding=1, writing=1)
    for _ in range(3):
        with all_.turn():
            scheduler.begin()
            scheduler.let_others_first(is_busy=True)
            scheduler.let_others_first(is_busy=True)  # for the second time: nothing happens


def test_fifty_at_once_all_show_before_any_is_written(idle):
    order: list[str] = []
    party = Party(uuid4(), 7)
    queue = [party] * 50
    all_ = Scheduler(finding=5, writing=4, queued=lambda: Counter(queue))
    idle(all_)

    def answer() -> None:
        with all_.turn():
            scheduler.begin(party)
            queue.pop()
            time.sleep(0.002)
            order.append("shown")
            scheduler.let_others_first(is_busy=True)
            order.append("written")

    threads = [threading.Thread(target=answer) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert order.count("shown") == order.count("written") == 50
    # The last four may leave the queue between two looks, at who finds and at who is queued.
    assert order.index("written") >= 46
