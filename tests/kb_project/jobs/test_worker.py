"""Whose job is next: turns go round between workspaces, and in each between people."""

from __future__ import annotations

import threading
from itertools import pairwise
from uuid import UUID, uuid4

from hypothesis import given, strategies as st

from kb_project.jobs.notify import Call, Party, call_in, call_to
from kb_project.jobs.worker import FairQueue
from tests.patience import PATIENCE

A, B, C = UUID(int=1), UUID(int=2), UUID(int=3)


def call(workspace: UUID, person: int | None = None) -> Call:
    return Call("answer", workspace, uuid4(), person)


def filled(*parties: tuple[UUID, int | None]) -> FairQueue:
    queue = FairQueue()
    for party in parties:
        queue.put(call(*party))
    return queue


def drained(queue: FairQueue) -> list[tuple[UUID, int | None]]:
    return [tuple(queue.get().party) for _ in range(queue.qsize())]


def test_a_burst_of_one_workspace_delays_another_by_one_job():
    queue = filled(*[(A, 1)] * 80, (B, 2))

    assert [party[0] for party in drained(queue)][:3] == [A, B, A]


def test_in_a_workspace_turns_go_round_between_people():
    queue = filled(*[(A, 1)] * 4, (A, 2), (A, 3), (A, 2))

    assert [person for _, person in drained(queue)] == [1, 2, 3, 1, 2, 1, 1]


def test_a_workspace_of_many_people_has_one_turn_as_any_other():
    queue = filled((A, 1), (A, 2), (A, 3), (B, 4), (B, 4))

    assert [workspace for workspace, _ in drained(queue)] == [A, B, A, B, A]


def test_who_comes_new_is_served_before_those_who_had_a_turn():
    queue = filled(*[(A, 1)] * 3, *[(B, 2)] * 3)
    for _ in range(2):
        queue.get()

    queue.put(call(C, 3))

    assert drained(queue)[0] == (C, 3)


def test_one_partys_jobs_keep_their_order():
    queue, calls = FairQueue(), [call(A, 1) for _ in range(5)]
    for one in calls:
        queue.put(one)

    assert [queue.get() for _ in calls] == calls


@given(st.lists(st.tuples(st.sampled_from([A, B, C]), st.sampled_from([1, 2, None])), max_size=40))
def test_nothing_is_lost_and_no_workspace_is_served_twice_while_another_waits(parties):
    left = [party for party, _ in parties]
    order = [party for party, _ in drained(filled(*parties))]

    assert sorted(order) == sorted(left)
    for at, (one, after) in enumerate(pairwise(order)):
        assert one != after or set(order[at + 1 :]) == {one}


def test_those_who_may_not_start_are_passed_over():
    queue = filled((A, 1), (B, 2))

    assert queue.get(lambda party: party != Party(A, 1)).party == Party(B, 2)


def test_a_thread_waits_for_a_call_and_for_who_may_start():
    queue, may = FairQueue(), threading.Event()
    got: list[Call | None] = []
    thread = threading.Thread(target=lambda: got.append(queue.get(lambda _: may.is_set())))
    thread.start()
    wanted = call(A, 1)

    queue.put(wanted)
    thread.join(0.2)
    assert got == []
    may.set()

    thread.join(PATIENCE)
    assert got == [wanted]


def test_a_thread_that_should_end_does_so_before_any_call():
    queue = filled((A, 1))
    queue.put(None)

    assert queue.get() is None
    assert queue.qsize() == 1


def test_others_are_those_of_other_workspaces():
    queue = filled((A, 1), (A, 2))

    assert not queue.others_wait(A)
    assert queue.others_wait(B)
    assert not FairQueue().others_wait(A)


def test_a_call_names_the_person_if_there_is_one():
    for person in (7, None):
        one = call(A, person)
        heard = call_in(call_to(one.kind, one.workspace_id, one.id, person))
        assert (heard, heard and heard.party) == (one, one.party)
    assert call_in(f"answer {A} {B} everyone") is None
