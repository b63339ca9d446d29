"""Who asks much at once waits for those who ask little, and people are answered in turn."""

from __future__ import annotations

from uuid import uuid4

from kb_project.jobs.notify import Party
from retrieval.answering import scheduler
from retrieval.answering.scheduler import Scheduler
from tests.patience import PATIENCE, wait_until
from tests.retrieval.answering.test_scheduler import (
    _no_hurry as _no_hurry,
    begin as begin,
    idle as idle,
    shown,
    started,
)

HARBOUR, SKARROW = uuid4(), uuid4()
ADA, BO = Party(HARBOUR, 1), Party(HARBOUR, 2)
CROWD = {ADA: scheduler.FEW * 10}


def test_an_answer_does_not_wait_for_a_crowds_passages(begin, idle):
    all_ = Scheduler(finding=4, writing=4, queued=lambda: CROWD)
    idle(all_)
    started(begin, all_, party=ADA)

    job = shown(begin, all_, party=BO)

    assert job.is_written()


def test_a_crowds_answer_waits_for_anothers_passages(begin):
    all_ = Scheduler(finding=4, writing=4, queued=lambda: CROWD)
    started(begin, all_, party=BO)

    assert shown(begin, all_, party=ADA).is_waiting()


def test_an_answer_is_written_beside_a_crowds_which_gives_way(begin):
    all_ = Scheduler(finding=4, writing=1, queued=lambda: CROWD)
    of_crowd = shown(begin, all_, party=ADA, is_busy=True)
    assert of_crowd.is_written()

    job = shown(begin, all_, party=BO, is_busy=True)
    assert job.is_written()
    of_crowd.may_breathe.set()
    assert not of_crowd.breathed.wait(0.3)
    job.end()

    assert of_crowd.breathed.wait(PATIENCE)


def test_a_crowd_leaves_places_to_others(begin):
    all_ = Scheduler(finding=4, writing=4, queued=lambda: CROWD)
    for _ in range(2):
        assert all_.may_start(ADA)
        started(begin, all_, party=ADA)

    assert not all_.may_start(ADA)
    assert all_.may_start(BO)


def test_a_crowd_begins_little_while_another_is_answered_but_not_nothing(begin, monkeypatch):
    all_ = Scheduler(finding=8, writing=4, queued=lambda: CROWD)
    started(begin, all_, party=ADA)
    job = started(begin, all_, party=BO)
    assert not all_.may_start(ADA)

    with monkeypatch.context() as patch:
        patch.setattr(scheduler, "SECONDS_HELD_BACK", 0.0)
        assert all_.may_start(ADA)
    job.end()

    assert all_.may_start(ADA)


def test_a_few_questions_crowd_no_one(begin):
    all_ = Scheduler(finding=4, writing=4, queued=lambda: {ADA: scheduler.FEW - 1})
    for party in (ADA, BO):
        started(begin, all_, party=party)

    assert shown(begin, all_, party=BO).is_waiting()
    assert all_.may_start(ADA)


def test_two_crowds_wait_for_each_other(begin):
    loads = {ADA: scheduler.FEW * 5, BO: scheduler.FEW * 6}
    all_ = Scheduler(finding=4, writing=4, queued=lambda: loads)
    started(begin, all_, party=ADA)

    assert shown(begin, all_, party=BO).is_waiting()


def test_people_are_written_for_in_turn_and_so_are_workspaces(begin):
    all_ = Scheduler(finding=1, writing=1)
    elsewhere = Party(SKARROW, 3)
    parties = (ADA, ADA, ADA, BO, elsewhere, elsewhere)
    jobs = [shown(begin, all_, party=party) for party in parties]
    order: list[int] = []
    while len(order) < len(jobs):
        [place] = [at for at, job in enumerate(jobs) if job.written.is_set() and at not in order]
        order.append(place)
        jobs[place].end()
        if len(order) < len(jobs):
            wait_until(lambda: sum(job.written.is_set() for job in jobs) > len(order))

    assert order == [0, 4, 3, 5, 1, 2]
